"""Tensor: an array that never changes, with TensorFlow's rules for dtypes."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from keepset.errors import DtypeError, InvalidArgumentError
from keepset.tf.tensors import arithmetic
from keepset.tf.tensors.conversion import Holder, as_value, dtype_of, plain, string_scalar, value_of
from keepset.tf.tensors.dtype import DType
from keepset.tf.tensors.indexing import item_of
from keepset.tf.tensors.quiet import run_in_context
from keepset.tf.tensors.shapes import TensorShape


def binary(run: arithmetic.Operator) -> Callable[[Any, Any], Any]:
    """A method of tensors that does what an operator does."""
    function, scalars = run.function, run.scalars
    beside_int, beside_float = run.as_they_are[int], run.as_they_are[float]

    def forward(self: Tensor, other: Any) -> Any:
        # The usual cases first, in as few steps as there can be: it is these that scalars wait for.
        # Whatever they cannot do, the other way does, or says why not.
        value, kind = self._value, type(other)
        mine = type(value)
        try:
            if mine is np.ndarray:
                mine = value.dtype.type
                if kind is Tensor:
                    if mine in scalars and value.dtype is getattr(other._value, "dtype", None):
                        return Tensor(run_in_context(function, value, other._value))
                elif mine in (beside_float if kind is float else beside_int if kind is int else ()):
                    return Tensor(run_in_context(function, value, other))
            elif kind is Tensor:
                second = other._value
                if type(second) is mine and mine in scalars:
                    return Tensor(run_in_context(function, value, second))
            elif mine in (beside_float if kind is float else beside_int if kind is int else ()):
                return Tensor(run_in_context(function, value, other))
        except (RuntimeError, ValueError, OverflowError):
            pass
        found = run(value, other)
        return found if found is NotImplemented else Tensor(found)

    return forward


def _reflected(run: arithmetic.Operator) -> Callable[[Any, Any], Any]:
    """With this tensor behind a value of another kind, which takes this one's dtype."""
    function, beside = run.function, run.in_front

    def backward(self: Tensor, other: Any) -> Any:
        value, kind = self._value, type(other)
        mine = value.dtype.type if type(value) is np.ndarray else type(value)
        try:
            if kind in beside and mine in beside[kind]:
                return Tensor(run_in_context(function, other, value))
        except (RuntimeError, OverflowError):
            pass
        if arithmetic.is_foreign(other):
            return NotImplemented
        return Tensor(run(value_of(other, dtype_of(value)), self))

    return backward


_equal, _not_equal = binary(arithmetic.equal), binary(arithmetic.not_equal)


def _compared(compare: Callable[[Any, Any], Any], self: Any, other: Any, otherwise: bool) -> Any:
    """Item by item, or one answer for shapes that do not go together."""
    try:
        return compare(self, other)
    except DtypeError:
        raise
    except InvalidArgumentError:
        return Tensor(np.bool_(otherwise))


class Tensor(Holder):
    """As ``tf.Tensor`` in eager mode. Strings are ``bytes``.

    An operation with a number, a list or an array takes the tensor's dtype; one of two tensors of
    different dtypes is an error. Nothing changes a tensor: ``x += 1`` is a new one.

    Example:
        >>> import keepset.tf as tf
        >>> x = tf.constant([1, 2, 3])
        >>> x * 2
        <tf.Tensor: shape=(3,), dtype=int32, numpy=array([2, 4, 6], dtype=int32)>
        >>> x.shape == [3], x.dtype, x[0].numpy(), f"{x[0]}"
        (True, tf.int32, np.int32(1), '1')
    """

    __slots__ = ("__weakref__",)
    __array_priority__ = 100  # arrays of NumPy leave operators to tensors

    def __init__(self, value: Any) -> None:
        self._value = value

    def numpy(self) -> Any:
        """A copy as an array of NumPy; a scalar or ``bytes`` if there are no dimensions."""
        value = self._value
        return value.copy() if type(value) is np.ndarray else value

    @property
    def shape(self) -> TensorShape:
        return TensorShape.known(np.shape(self._value))

    @property
    def dtype(self) -> DType:
        return dtype_of(self._value)

    @property
    def ndim(self) -> int:
        return np.ndim(self._value)

    @property
    def device(self) -> str:
        return "/job:localhost/replica:0/task:0/device:CPU:0"

    def get_shape(self) -> TensorShape:
        return self.shape

    def set_shape(self, shape: Any) -> None:
        """Nothing: shapes are always known here. One that does not fit is an error."""
        if not self.shape.is_compatible_with(shape):
            raise ValueError(
                f"Tensor's shape {self.shape} is not compatible with supplied shape "
                f"{TensorShape(shape)}."
            )

    def ref(self) -> Reference:
        """What stands for this very tensor in sets and dicts."""
        return Reference(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        value = self._value
        array = string_scalar(value) if type(value) is bytes else np.asarray(value)
        if copy or (dtype is not None and array.dtype != dtype):
            return np.array(array, dtype)
        view = array.view()
        view.flags.writeable = False  # it is the tensor's own memory
        return view

    def __dlpack__(self, **options: Any) -> Any:
        """A copy for other libraries, which may write to what they get."""
        if self.dtype.name == "bfloat16" and "torch" in sys.modules:  # NumPy has no code for it
            torch = sys.modules["torch"]
            bits = torch.from_numpy(np.array(self).view(np.int16))
            return bits.view(torch.bfloat16).__dlpack__(**options)
        return np.array(self).__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0  # the processor's memory, in DLPack's numbers

    def __jax_array__(self) -> Any:
        return sys.modules["jax"].numpy.asarray(np.array(self))  # JAX asks, so it is there

    def __getitem__(self, key: Any) -> Tensor:
        return Tensor(item_of(self._value, key))

    def __iter__(self) -> Iterator[Tensor]:
        value = self._value
        if type(value) is not np.ndarray:
            raise TypeError("Cannot iterate over a scalar tensor.")
        return map(Tensor, map(as_value, value))

    def __len__(self) -> int:
        if type(self._value) is not np.ndarray:
            raise TypeError("Scalar tensor has no `len()`")
        return len(self._value)

    def __contains__(self, item: Any) -> bool:
        return bool(np.any(arithmetic.equal(self._value, item)))

    def __bool__(self) -> bool:
        return bool(self._value.size and self._value) if self.ndim else bool(self._value)

    def __int__(self) -> int:
        return int(_single(self._value))

    def __float__(self) -> float:
        return float(_single(self._value))

    def __complex__(self) -> complex:
        return complex(_single(self._value))

    def __index__(self) -> int:
        return operator.index(_single(self._value))

    __add__, __radd__ = binary(arithmetic.add), _reflected(arithmetic.add)
    __sub__, __rsub__ = binary(arithmetic.subtract), _reflected(arithmetic.subtract)
    __mul__, __rmul__ = binary(arithmetic.multiply), _reflected(arithmetic.multiply)
    __truediv__, __rtruediv__ = binary(arithmetic.divide), _reflected(arithmetic.divide)
    __floordiv__ = binary(arithmetic.floor_divide)
    __rfloordiv__ = _reflected(arithmetic.floor_divide)
    __mod__, __rmod__ = binary(arithmetic.floor_mod), _reflected(arithmetic.floor_mod)
    __pow__, __rpow__ = binary(arithmetic.power), _reflected(arithmetic.power)
    __matmul__, __rmatmul__ = binary(arithmetic.matmul), _reflected(arithmetic.matmul)
    __and__, __rand__ = binary(arithmetic.bit_and), _reflected(arithmetic.bit_and)
    __or__, __ror__ = binary(arithmetic.bit_or), _reflected(arithmetic.bit_or)
    __xor__, __rxor__ = binary(arithmetic.bit_xor), _reflected(arithmetic.bit_xor)
    __lt__, __le__ = binary(arithmetic.less), binary(arithmetic.less_equal)
    __gt__, __ge__ = binary(arithmetic.greater), binary(arithmetic.greater_equal)

    def __eq__(self, other: object) -> Any:
        return False if other is None else _compared(_equal, self, other, False)

    def __ne__(self, other: object) -> Any:
        return True if other is None else _compared(_not_equal, self, other, True)

    def __neg__(self) -> Tensor:
        return Tensor(arithmetic.negative(self._value))

    def __invert__(self) -> Tensor:
        return Tensor(arithmetic.invert(self._value))

    def __abs__(self) -> Tensor:
        return Tensor(arithmetic.absolute(self._value))

    def __hash__(self) -> int:
        raise TypeError("Tensor is unhashable. Instead, use tensor.ref() as the key.")

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(_no_attribute(name))

    def __repr__(self) -> str:
        shown = repr(self._value) if type(self._value) is np.ndarray else _shown(self._value)
        lines = f"\n{shown}" if "\n" in shown else shown
        return f"<tf.Tensor: shape={self.shape}, dtype={self.dtype.name}, numpy={lines}>"

    def __str__(self) -> str:
        shown = _shown(self._value)
        lines = f"\n{shown}" if "\n" in shown else shown
        return f"tf.Tensor({lines}, shape={self.shape}, dtype={self.dtype.name})"

    def __format__(self, spec: str) -> str:
        return format(self._value, spec)

    def __reduce__(self) -> tuple[type[Tensor], tuple[Any]]:
        return Tensor, (self._value,)

    def __keepset_fingerprint__(self) -> Any:
        return self._value


class Reference:
    """A tensor as a key: two are equal if they stand for one and the same tensor."""

    __slots__ = ("_tensor",)

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor

    def deref(self) -> Tensor:
        return self._tensor

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reference) and other._tensor is self._tensor

    def __hash__(self) -> int:
        return id(self._tensor)

    def __repr__(self) -> str:
        return f"<Reference wrapping {self._tensor!r}>"


def tensor(given: Any, dtype: Any = None) -> Tensor:
    """A tensor of any value; one that is a tensor already stays what it is."""
    return Tensor(value_of(given, dtype))


def wrapped(found: Any) -> Tensor:
    """What NumPy returned as a tensor."""
    return Tensor(as_value(found))


def array_of(given: Any, dtype: Any = None) -> Any:
    """The array or NumPy scalar that something stands for; strings always in an array."""
    return plain(value_of(given, dtype))


def _shown(value: Any) -> str:
    return repr(value) if type(value) is bytes else str(value)


def _single(value: Any) -> Any:
    if type(value) is np.ndarray:
        raise TypeError("only 0-dimensional arrays can be converted to Python scalars")
    return value


def _no_attribute(name: str) -> str:
    message = f"'Tensor' object has no attribute {name!r}"
    if hasattr(np.ndarray, name):
        message += f"; x.numpy().{name} is that of NumPy, and tf.{name} may be what you need"
    return message


__all__ = [
    "InvalidArgumentError",
    "Reference",
    "Tensor",
    "array_of",
    "binary",
    "tensor",
    "wrapped",
]
