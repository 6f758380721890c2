"""Tensor: a NumPy array with the few methods that code for TensorFlow expects of one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from keepset.core.arrays import as_array
from keepset.core.dtypes import DType, StringType, as_dtype, storage_dtype, string
from keepset.core.encoded import encoded_leaf
from keepset.core.ragged import Ragged
from keepset.core.sparse import Sparse
from keepset.core.structure import is_namedtuple, structure_of
from keepset.tf.shapes import TensorShape

_INT32 = np.iinfo(np.int32)


class Tensor(np.ndarray[Any, np.dtype[Any]]):
    """An array that has ``numpy()``, and stays one of its kind in NumPy's expressions.

    Strings are object arrays of ``bytes``, as everywhere.

    Example:
        >>> x = tensor([1, 2, 3])
        >>> x * 2
        <tf.Tensor: shape=(3,), dtype=int32, numpy=[2 4 6]>
        >>> (x * 2).numpy(), x[0].numpy()
        (array([2, 4, 6], dtype=int32), np.int32(1))
    """

    def numpy(self) -> Any:
        """The plain array; a scalar or ``bytes`` if there are no dimensions."""
        plain = self.view(np.ndarray)
        return plain if plain.ndim else plain[()]

    def set_shape(self, shape: Any) -> None:
        """Nothing: shapes are always known here. One that does not fit is an error."""
        if not self.get_shape().is_compatible_with(shape):
            raise ValueError(
                f"a tensor of shape {self.shape} cannot have the shape {TensorShape(shape)}"
            )

    def get_shape(self) -> TensorShape:
        return TensorShape(self.shape)

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        # Scalars stay tensors: they are asked for numpy() as well.
        return np.asarray(array).view(Tensor)

    def __getitem__(self, key: Any) -> Any:
        return tensored(np.asarray(self)[_plain_key(key)])

    def __iter__(self) -> Iterator[Any]:
        return map(tensored, np.asarray(self))

    def __eq__(self, other: object) -> Any:
        return _equal(self, other)

    def __ne__(self, other: object) -> Any:
        return np.logical_not(_equal(self, other)).view(Tensor)

    def __hash__(self) -> int:  # type: ignore[override]
        return id(self)

    def __repr__(self) -> str:
        name = "string" if self.dtype == object else self.dtype.name
        return f"<tf.Tensor: shape={self.shape}, dtype={name}, numpy={self.numpy()}>"

    def __str__(self) -> str:
        name = "string" if self.dtype == object else self.dtype.name
        return f"tf.Tensor({self.numpy()}, shape={self.shape}, dtype={name})"

    def __format__(self, spec: str) -> str:
        return format(self.numpy(), spec) if spec and not self.ndim else str(self)


def _equal(one: Tensor, other: Any) -> Tensor:
    """Item by item; texts are compared as the bytes that they are."""
    found = np.equal(np.asarray(one), array_of(other))
    return np.asarray(found, bool).view(Tensor)


def _plain_key(key: Any) -> Any:
    if isinstance(key, tuple):
        return tuple(map(_plain_key, key))
    return key.numpy() if isinstance(key, Tensor) else key


def viewed(array: Any) -> Tensor:
    """An array as the tensor that it is."""
    return np.asarray(array).view(Tensor)


def tensor(value: Any, dtype: Any = None) -> Tensor:
    """A tensor of any value; Python's own numbers become int32 and float32, as in TensorFlow."""
    return viewed(array_of(value, dtype))


def array_of(value: Any, dtype: Any = None) -> Any:
    """As ``literal``, always an array, if need be one without dimensions."""
    found = literal(value, dtype)
    return _string_array(found) if isinstance(found, bytes) else np.asarray(found)


def literal(value: Any, dtype: Any = None) -> Any:
    """The array or scalar that a value stands for; numbers of Python's own are of 32 bits.

    Example:
        >>> literal(3), literal([0.5, 1]), literal("text")
        (np.int32(3), array([0.5, 1. ], dtype=float32), b'text')
    """
    array = _string_array(value) if isinstance(value, str | bytes) else as_array(_plain(value))
    wanted = None if dtype is None else as_dtype(dtype)
    if wanted is not None:
        array = cast_array(array, wanted)
    elif _is_own(value):
        if array.dtype == np.float64:
            array = array.astype(np.float32)
        elif array.dtype == np.int64 and _fits_int32(array):
            array = array.astype(np.int32)
        elif array.dtype == np.complex128:
            array = array.astype(np.complex128)
    return array if array.ndim else array[()]


def _plain(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.view(np.ndarray)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.ndarray) and not value.ndim:
        return value[()]
    return value


def _is_own(value: Any) -> bool:
    """Whether a value is made of Python's own numbers, which have no dtype of their own."""
    if isinstance(value, list | tuple):
        return all(map(_is_own, value))
    return isinstance(value, bool | int | float | complex) and not isinstance(value, np.generic)


def _fits_int32(array: Any) -> bool:
    return not array.size or (array.min() >= _INT32.min and array.max() <= _INT32.max)


def _string_array(value: str | bytes) -> Any:
    array = np.empty((), object)
    array[()] = value.encode() if isinstance(value, str) else value
    return array


def cast_array(array: Any, wanted: DType) -> Any:
    """An array as another dtype."""
    if isinstance(wanted, StringType):
        if array.dtype != object:
            raise TypeError(
                f"numbers of {array.dtype.name} are no strings; use tf.strings.as_string"
            )
        return array
    if array.dtype == object:
        raise TypeError("strings are no numbers; use tf.strings.to_number")
    return array.astype(storage_dtype(wanted))


def tensored(element: Any) -> Any:
    """An element with a tensor for each leaf; Ragged, Sparse and data sets stay what they are.

    Text is bytes, as TensorFlow has no other strings.
    """
    kind = type(element)
    if kind is np.ndarray:
        return encoded_leaf(element).view(Tensor)
    if kind is str:
        return tensored(element.encode())
    if kind is bytes or isinstance(element, np.generic):
        array = np.empty((), object if kind is bytes else element.dtype)
        array[()] = element
        return array.view(Tensor)
    if kind is dict:
        return {key: tensored(item) for key, item in element.items()}
    if kind is tuple:
        return tuple(map(tensored, element))
    if is_namedtuple(kind):
        return kind(*map(tensored, element))
    structure = structure_of(element)
    if structure.is_leaf or element is None:
        return element
    return structure.build([tensored(leaf) for leaf in structure.leaves(element)])


def untensored(value: Any) -> Any:
    """What a user's function gave, with plain arrays for its tensors."""
    kind = type(value)
    if kind is Tensor:
        return value.numpy()
    if isinstance(value, np.generic | np.ndarray) or value is None:
        return value
    if kind is dict:
        return {key: untensored(item) for key, item in value.items()}
    if kind is tuple:
        return tuple(map(untensored, value))
    if is_namedtuple(kind):
        return kind(*map(untensored, value))
    if isinstance(value, Ragged | Sparse) or hasattr(kind, "__keepset_node__"):
        return value
    if kind is list or _is_own(value) or isinstance(value, str | bytes):
        return literal(value)
    return value


def dtype_of(value: Any) -> DType:
    """The dtype of a tensor as users name it."""
    return string if value.dtype == object else value.dtype
