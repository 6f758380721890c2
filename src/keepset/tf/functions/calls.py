"""``tf.function``, and Python's own functions among those of tensors."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

import numpy as np

from keepset.core.structure import structure_of
from keepset.errors import DtypeError, InvalidArgumentError, NotCoveredError
from keepset.tf.error_names import translated
from keepset.tf.tensors.conversion import Holder, Value, dtype_of, string_array, value_of
from keepset.tf.tensors.dtype import DType, as_dtype
from keepset.tf.tensors.shapes import TensorShape
from keepset.tf.tensors.specs import TensorSpec, TypeSpec
from keepset.tf.tensors.tensor import Tensor, tensor, wrapped

Function = Callable[..., Any]


def function(
    func: Function | None = None,
    input_signature: Sequence[Any] | None = None,
    autograph: bool = True,
    jit_compile: bool | None = None,
    reduce_retracing: bool = False,
    **experimental: Any,
) -> Any:
    """A function that returns tensors, as a decorator with and without arguments.

    Nothing is traced: it runs as it is on each call, and so do its prints. Arrays become tensors on
    the way in, and with an ``input_signature`` all arguments do.

    Example:
        >>> import keepset.tf as tf
        >>> tf.function(lambda x: x + 1)(1)
        <tf.Tensor: shape=(), dtype=int32, numpy=2>
    """
    if func is None:
        return functools.partial(function, input_signature=input_signature)
    given = func

    @functools.wraps(given)
    def call(*args: Any, **kwargs: Any) -> Any:
        if input_signature is not None:
            args = _signed(args, input_signature, given)
        else:
            args = tuple(map(_argument, args))
        if kwargs:
            kwargs = {key: _argument(item) for key, item in kwargs.items()}
        found = given(*args, **kwargs)
        return found if type(found) is Tensor else _result(found)

    call.python_function = given  # type: ignore[attr-defined]
    call.get_concrete_function = _not_traced  # type: ignore[attr-defined]
    return call


def _argument(given: Any) -> Any:
    return tensor(given) if isinstance(given, np.ndarray | np.generic) else given


def _signed(args: tuple[Any, ...], signature: Sequence[Any], func: Function) -> tuple[Any, ...]:
    """Arguments as the signature has them; what is in front of them is the object of a method."""
    names = getattr(getattr(func, "__code__", None), "co_varnames", ())
    front = int(names[:1] == ("self",))
    if len(args) - front != len(signature):
        raise TypeError(f"{_name(func)} takes {len(signature)} arguments, not {len(args) - front}")
    pairs = zip(args[front:], signature, strict=True)
    return args[:front] + tuple(_fitted(each, spec, func) for each, spec in pairs)


def _fitted(given: Any, spec: Any, func: Function) -> Any:
    if isinstance(spec, dict | list | tuple):
        return _fitted_parts(given, spec, func)
    if isinstance(spec, TypeSpec) and not isinstance(spec, TensorSpec):
        return _checked(given, spec, f"an argument of {_name(func)}", TypeError)
    if not hasattr(spec, "dtype") or not hasattr(spec, "shape"):
        return given
    try:
        found = tensor(given, _dtype(spec))
    except ValueError as error:
        raise TypeError(f"an argument of {_name(func)} is not {spec}: {error}") from error
    if not found.shape.is_compatible_with(spec.shape):
        raise TypeError(f"an argument of {_name(func)} has shape {found.shape}, not {spec.shape}")
    return found


def _fitted_parts(given: Any, spec: Any, func: Function) -> Any:
    is_dict = isinstance(spec, dict)
    alike = isinstance(given, dict if is_dict else list | tuple) and len(given) == len(spec)
    if not alike or (is_dict and given.keys() != spec.keys()):
        raise TypeError(f"an argument of {_name(func)} is not nested as in {spec}")
    if is_dict:
        return {key: _fitted(given[key], spec[key], func) for key in given}
    parts = [_fitted(*pair, func) for pair in zip(given, spec, strict=True)]
    return type(given)(*parts) if hasattr(given, "_fields") else type(given)(parts)


def _checked(given: Any, spec: TypeSpec, name: str, kind: type[Exception]) -> Any:
    if not spec.is_compatible_with(given):
        raise kind(f"{name} is not of {spec}: {given!r:.80}")
    return given


def _result(found: Any) -> Any:
    """What a function returned, with a tensor for each value in it."""
    if found is None or isinstance(found, Tensor):
        return found
    if isinstance(found, TensorShape):
        return tensor(found)
    if isinstance(found, list | range):
        return [_result(each) for each in found]
    structure = structure_of(found)
    if not structure.is_leaf:
        return structure.build([_result(each) for each in structure.leaves(found)])
    if isinstance(found, _OWN) or hasattr(found, "__array__"):
        return tensor(found)
    if type(found).__module__.split(".")[0] == "keepset" and not isinstance(found, DType):
        return found  # a Ragged, a dataset, ...
    raise TypeError(
        "functions under tf.function return tensors, or None, and structures of them, not "
        f"{type(found).__name__}"
    )


_OWN = (bool, int, float, complex, str, bytes, np.generic, np.ndarray)


def _not_traced(*args: Any, **kwargs: Any) -> NoReturn:
    raise NotCoveredError(
        "get_concrete_function is not part of keepset.tf, in which functions run as they are and "
        "no graphs are made; call the function"
    )


def _name(func: Function) -> str:
    return getattr(func, "__name__", type(func).__name__)


def py_function(
    func: Function | None = None,
    inp: Any = None,
    Tout: Any = None,  # noqa: N803
    name: str | None = None,
) -> Any:
    """Call a Python function with tensors; what it returns must be of the dtypes ``Tout``.

    With ``Tout`` alone it is a decorator. As in TensorFlow, numbers of Python's own and of NumPy
    become ``Tout``, and a tensor of another dtype is an error. An error of the function's own
    keeps its type, and has the name that TensorFlow gives it as well: a ``ValueError`` is also a
    ``tf.errors.InvalidArgumentError``.

    Example:
        >>> import keepset.tf as tf
        >>> @tf.py_function(Tout=tf.int32)
        ... def length(text):
        ...     return len(text.numpy())
        >>> length("four").numpy()
        np.int32(4)
    """
    if _is_decorator("py_function", func, inp, Tout):
        return _decorator(py_function, Tout)
    assert func is not None
    found = _called(func, map(tensor, inp))
    return _of_types(found, Tout, _converted, func)


def numpy_function(
    func: Function | None = None,
    inp: Any = None,
    Tout: Any = None,  # noqa: N803
    stateful: bool = True,
    name: str | None = None,
) -> Any:
    """Call a Python function with NumPy's arrays; it must return arrays of the dtypes ``Tout``.

    With ``Tout`` alone it is a decorator. What is returned is not cast, as inside of TensorFlow's
    datasets: a Python number is an int64 or a float64.
    """
    if _is_decorator("numpy_function", func, inp, Tout):
        return _decorator(numpy_function, Tout)
    assert func is not None
    found = _called(func, (tensor(each).numpy() for each in inp))
    return _of_types(found, Tout, _as_it_is, func)


def py_func(
    func: Function,
    inp: Any,
    Tout: Any,  # noqa: N803
    stateful: bool = True,
    name: str | None = None,
) -> Any:
    """As ``numpy_function``, under its older name."""
    return numpy_function(func, inp, Tout)


def _called(func: Function, arguments: Iterable[Any]) -> Any:
    given = list(arguments)
    try:
        return func(*given)
    except Exception as error:
        raise translated(error, is_of_function=True) from error


def _is_decorator(name: str, func: Any, inp: Any, types: Any) -> bool:
    if types is None:
        raise TypeError(
            f"tf.{name} needs 'Tout', the dtypes of the results; as a decorator: "
            f"@tf.{name}(Tout=tf.int32)"
        )
    if func is not None and inp is None:
        raise TypeError(f"tf.{name} needs 'inp', the list of the function's arguments")
    return func is None


def _decorator(call: Function, types: Any) -> Function:
    def decorate(func: Function) -> Function:
        @functools.wraps(func)
        def called(*args: Any) -> Any:
            return call(func, args, types)

        return called

    return decorate


def _of_types(
    found: Any, types: Any, convert: Callable[[Any, DType], Value], func: Function
) -> Any:
    """Results as tensors: one of a dtype, or a list of several."""
    wanted = list(types) if isinstance(types, list | tuple) else [types]
    given = list(found) if isinstance(found, list | tuple) else [] if found is None else [found]
    # TensorFlow leaves out results without a use, but for numpy_function.
    if len(given) < len(wanted) or (convert is _as_it_is and len(given) > len(wanted)):
        raise InvalidArgumentError(
            f"{_name(func)} returned {len(given)} values, and Tout has {len(wanted)} dtypes"
        )
    if not wanted and given:
        raise InvalidArgumentError(f"{_name(func)} returned a value, and Tout has no dtypes")
    pairs = zip(given, wanted, strict=False)
    values = [_returned(each, kind, convert, func) for each, kind in pairs]
    return values if isinstance(types, list | tuple) else values[0]


def _returned(value: Any, kind: Any, convert: Callable[[Any, DType], Value], func: Function) -> Any:
    if isinstance(kind, TypeSpec) and not isinstance(kind, TensorSpec):
        return _checked(value, kind, f"what {_name(func)} returned", InvalidArgumentError)
    return Tensor(_typed(value, _dtype(kind), convert, func))


def _dtype(kind: Any) -> DType:
    return as_dtype(getattr(kind, "dtype", kind) if not isinstance(kind, type) else kind)


def _typed(
    value: Any, dtype: DType, convert: Callable[[Any, DType], Value], func: Function
) -> Value:
    try:
        return convert(value, dtype)
    except DtypeError as error:
        raise DtypeError(
            f"{_name(func)} returned {type(value).__name__}, and Tout says tf.{dtype.name}: {error}"
        ) from error


def _converted(value: Any, dtype: DType) -> Value:
    return value_of(value, dtype)


def _as_it_is(value: Any, dtype: DType) -> Value:
    """A result in NumPy's own dtype for it, which must be the one that is wanted."""
    if isinstance(value, Holder):
        found = value._value
    else:
        array = np.asarray(value)
        if array.dtype.kind in "US":  # NumPy drops trailing zero bytes
            whole = [value] if not array.ndim else np.asarray(value, object).reshape(-1).tolist()
            texts = [each.encode() if isinstance(each, str) else bytes(each) for each in whole]
            found = string_array(texts, array.shape) if array.ndim else texts[0]
        else:
            found = value_of(array)
    if dtype_of(found) is not dtype:
        raise DtypeError(
            f"it is of {dtype_of(found).name}; return np.asarray(x, {dtype.name!r})"
            if dtype.name != "string"
            else f"it is of {dtype_of(found).name}"
        )
    return wrapped(found)._value


__all__ = ["function", "numpy_function", "py_function"]
