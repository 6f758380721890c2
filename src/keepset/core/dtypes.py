"""The dtypes of leaves: NumPy's own, those of ml_dtypes, ``string`` for bytes and ``text``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Final, Self, TypeAlias

import numpy as np

from keepset.errors import InvalidArgumentError

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


class StringType:
    """The dtype of ``bytes``. There is one, ``keepset.string``.

    NumPy's own ``S`` type drops trailing zero bytes, so arrays of strings are object arrays
    of ``bytes`` and this marks them in a spec.
    """

    name = "string"
    _only: StringType | None = None

    def __new__(cls) -> Self:
        if not isinstance(cls._only, cls):
            cls._only = super().__new__(cls)
        assert isinstance(cls._only, cls)
        return cls._only

    def __repr__(self) -> str:
        return f"keepset.{self.name}"

    def __reduce__(self) -> tuple[type[StringType], tuple[()]]:
        return type(self), ()


class TextType(StringType):
    """The dtype of ``str``. There is one, ``keepset.text``.

    Leaves are ``str`` and batches object arrays of ``str``. Readers make such leaves where they are
    asked to, with ``encoding=``, and functions whose ``output_signature`` promises them.
    """

    name = "text"
    _only = None


string = StringType()
text = TextType()

DType: TypeAlias = np.dtype[Any] | StringType

_EXTENDED_NAMES = ("bfloat", "float", "int", "uint")
_USER_DEFINED = 2  # what NumPy says of a dtype that another library brought


@cache
def _extended() -> dict[str, np.dtype[Any]]:
    """The dtypes of ml_dtypes, by their names."""
    import ml_dtypes  # few use them, and all would wait for it

    kinds = {
        name: np.dtype(kind)
        for name, kind in vars(ml_dtypes).items()
        if name.startswith(_EXTENDED_NAMES) and isinstance(kind, type)
    }
    PLAIN_SCALARS.update(dtype.type for dtype in kinds.values())
    return kinds


def _is_extended(dtype: np.dtype[Any]) -> bool:
    return dtype.isbuiltin == _USER_DEFINED and _extended().get(dtype.name) == dtype


def _may_be_extended(name: str) -> bool:
    return name.startswith(_EXTENDED_NAMES) and name not in np.sctypeDict


def is_numeric(dtype: np.dtype[Any]) -> bool:
    """Whether arrays of ``dtype`` can be leaves as they are (numbers, bools and times)."""
    return dtype.isnative and (dtype.kind in "biufcmM" or _is_extended(dtype))


def as_dtype(value: Any) -> DType:
    """Read a dtype the way people write it: NumPy's, ``"string"``, ``str``, ``bytes``, ``int``.

    ``str`` is ``keepset.string``, whose leaves are ``bytes``, as it is in TensorFlow. Those of
    ``"text"`` are ``str``.

    Example:
        >>> as_dtype("float32"), as_dtype(str), as_dtype("text"), as_dtype("bfloat16")
        (dtype('float32'), keepset.string, keepset.text, dtype(bfloat16))
    """
    if isinstance(value, StringType):
        return value
    if (numpy := getattr(value, "as_numpy_dtype", None)) is not None:  # one of TensorFlow
        value = "string" if numpy is object else numpy
    if value in (str, bytes, "string", "str", "bytes"):
        return string
    if isinstance(value, str) and value == text.name:
        return text
    if isinstance(value, str) and _may_be_extended(value) and value in _extended():
        return _extended()[value]
    try:
        dtype: np.dtype[Any] = np.dtype(value)
    except (TypeError, ValueError, SyntaxError) as error:
        raise InvalidArgumentError(
            f"{value!r:.80} is not a dtype; pass a NumPy dtype, a name such as 'float32' or "
            "'bfloat16', keepset.string or keepset.text"
        ) from error
    if dtype.kind in "SU":
        return string
    dtype = np.dtype(dtype.newbyteorder("="))
    if not is_numeric(dtype):
        raise InvalidArgumentError(
            f"{dtype!r} cannot be a leaf's dtype; use numbers, bool, datetime64, timedelta64 "
            "keepset.string or keepset.text"
        )
    return dtype


def dtype_name(dtype: DType) -> str:
    """The name that :func:`as_dtype` reads back."""
    return dtype.name


def zero_of(dtype: DType) -> Any:
    """What padding is made of unless somebody says otherwise: 0, False, ``b""`` or ``""``."""
    if isinstance(dtype, StringType):
        return "" if dtype is text else b""
    return np.zeros((), dtype)[()]


def storage_dtype(dtype: DType) -> np.dtype[Any]:
    """The NumPy dtype of an array that holds such leaves."""
    if isinstance(dtype, StringType):
        return TEXT_OBJECTS if dtype is text else np.dtype(object)
    return dtype


# Of arrays of ``str``. NumPy takes it for the same as any dtype of objects; the mark tells what an
# array without items would hold.
TEXT_OBJECTS: Final[np.dtype[Any]] = np.dtype(object, metadata={"keepset": "text"})


def is_text(array: Array) -> bool:
    """Whether an array is one of ``str``."""
    if array.dtype != object:
        return False
    return type(array.item(0)) is str if array.size else is_marked(array)


def dtype_of(array: Array | np.generic[Any]) -> DType:
    """The dtype of an array in a spec, in which arrays of objects are those of strings."""
    if array.dtype != object:
        return array.dtype
    return text if is_text(np.asarray(array)) else string


def mixes_text(arrays: Sequence[Array]) -> bool:
    """Whether some arrays are of ``str`` and others of bytes, which have one dtype in NumPy."""
    return arrays[0].dtype == object and len(set(map(is_text, arrays))) > 1


def text_array(items: Sequence[str]) -> Array:
    """An array of ``str`` of one dimension."""
    array = np.empty(len(items), TEXT_OBJECTS)
    array[:] = items
    return array


def join_arrays(arrays: Sequence[Array]) -> Array:
    """As ``np.concatenate``, which would forget that arrays are of ``str``."""
    if arrays[0].dtype == object and is_text(arrays[0]):
        return np.concatenate(arrays, dtype=TEXT_OBJECTS)
    return np.concatenate(arrays)


def is_marked(array: Array) -> bool:
    """Whether an array was made to hold ``str``, and not found to hold them."""
    return array.dtype == object and array.dtype.metadata is not None


# Scalars that are elements as they are. Membership of this set is the first question of every
# hot loop, so it lists types, not rules. Those of ml_dtypes are added when one is first seen.
PLAIN_SCALARS: set[type] = {
    bytes,
    *(np.dtype(code).type for code in "?bhilqBHILQefdgFDGmM"),
}


def is_float(dtype: np.dtype[Any]) -> bool:
    """Whether numbers of a dtype may be infinite, also complex ones and those of ml_dtypes."""
    return dtype.kind in "fc" or dtype.name.startswith(("bfloat", "float"))


def range_text(dtype: np.dtype[Any]) -> str:
    """The range of a dtype of floats, for messages."""
    name = dtype_name(dtype)
    try:
        most = f"{float(np.finfo(dtype).max):.8g}"
    except ValueError:
        return f"the range of {name}"  # of a dtype that another package adds
    return f"the range of {name}, from -{most} to {most}"
