"""DType: the types of a tensor's items, as objects of their own with TensorFlow's attributes."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from keepset.core import dtypes as core
from keepset.errors import InvalidArgumentError

# By the numbers that TensorFlow's files and programs know them by.
_NUMBERS: Final = {
    "float32": 1,
    "float64": 2,
    "int32": 3,
    "uint8": 4,
    "int16": 5,
    "int8": 6,
    "string": 7,
    "complex64": 8,
    "int64": 9,
    "bool": 10,
    "bfloat16": 14,
    "uint16": 17,
    "complex128": 18,
    "float16": 19,
    "uint32": 22,
    "uint64": 23,
}
_ALIASES: Final = {"double": "float64", "float": "float32", "half": "float16"}


class DType:
    """As ``tf.DType``. It equals the dtypes of NumPy and the names that stand for the same.

    Example:
        >>> import keepset.tf as tf
        >>> tf.float32, str(tf.float32), tf.float32 == "float32", tf.float32.size
        (tf.float32, "<dtype: 'float32'>", True, 4)
        >>> tf.uint8.max, tf.string.is_floating, tf.as_dtype(np.int64)
        (255, False, tf.int64)
    """

    __slots__ = ("_storage", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self._storage: np.dtype[Any] | None = None

    @property
    def storage(self) -> np.dtype[Any]:
        """The NumPy dtype of the arrays that hold such items."""
        if self._storage is None:
            self._storage = core.storage_dtype(self.core)
        return self._storage

    @property
    def core(self) -> core.DType:
        """As the rest of the library knows it."""
        return core.as_dtype(self.name)  # that of bfloat16 is in a library that is slow to import

    @property
    def as_numpy_dtype(self) -> type:
        """The class of NumPy's scalars of this type; ``object`` for strings."""
        return object if self._is_string else self._numpy.type

    @property
    def dtype(self) -> np.dtype[Any]:
        """What NumPy takes it for, also where one of its own dtypes is compared with it."""
        return self.storage

    @property
    def as_datatype_enum(self) -> int:
        return _NUMBERS[self.name]

    @property
    def size(self) -> int:
        """The bytes of one item; 0 for strings, which have any number."""
        return 0 if self._is_string else self._numpy.itemsize

    @property
    def min(self) -> Any:
        """The least number of this type."""
        return self._limit("min", "minimum")

    @property
    def max(self) -> Any:
        """The greatest number of this type."""
        return self._limit("max", "maximum")

    @property
    def limits(self) -> tuple[Any, Any]:
        """The range of the intensities of a picture: up to 1 in floats."""
        if self.is_bool:
            return 0, True
        if self.is_integer:
            return 0, self.max
        if self.name in ("float32", "float64"):
            return 0, 1
        raise ValueError(f"{self} does not have defined limits.")

    @property
    def is_bool(self) -> bool:
        return self.name == "bool"

    @property
    def is_complex(self) -> bool:
        return self.name.startswith("complex")

    @property
    def is_floating(self) -> bool:
        return "float" in self.name

    @property
    def is_integer(self) -> bool:
        return "int" in self.name

    @property
    def is_unsigned(self) -> bool:
        return self.name.startswith("uint")

    @property
    def is_quantized(self) -> bool:
        return False

    @property
    def is_numeric(self) -> bool:
        return self.is_floating or self.is_integer or self.is_complex

    @property
    def is_numpy_compatible(self) -> bool:
        return True

    @property
    def base_dtype(self) -> DType:
        return self

    @property
    def real_dtype(self) -> DType:
        """Of complex numbers, the type of their two parts."""
        parts = {"complex64": "float32", "complex128": "float64"}
        return as_dtype(parts.get(self.name, self.name))

    def is_compatible_with(self, other: Any) -> bool:
        return self == as_dtype(other)

    @property
    def _is_string(self) -> bool:
        return isinstance(self.core, core.StringType)

    @property
    def _numpy(self) -> np.dtype[Any]:
        assert not isinstance(self.core, core.StringType)
        return self.core

    def _limit(self, name: str, word: str) -> Any:
        if self.is_integer:
            return int(getattr(np.iinfo(self._numpy), name))
        if self.name == "bfloat16":
            import ml_dtypes  # few use it, and all would wait for it

            finfo: Any = ml_dtypes.finfo
            return float(getattr(finfo(self._numpy), name))
        if self.is_floating:
            return getattr(np.finfo(self._numpy), name)
        raise TypeError(f"Cannot find {word} value of {self} with type {self}.")

    def __eq__(self, other: object) -> bool:
        if isinstance(other, DType):
            return self.name == other.name
        try:
            return other is not None and self.name == as_dtype(other).name
        except TypeError:
            return NotImplemented

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return as_dtype, (self.name,)

    def __repr__(self) -> str:
        return f"tf.{self.name}"

    def __str__(self) -> str:
        return f"<dtype: '{self.name}'>"


_ALL: Final = {name: DType(name) for name in _NUMBERS}


def as_dtype(type_value: Any) -> DType:
    """The type that something stands for: one of NumPy, ``float``, ``bool`` or a name."""
    if isinstance(type_value, DType):
        return type_value
    name = _name_of(type_value)
    if name not in _ALL:
        raise TypeError(
            f"Cannot convert the argument `type_value`: {type_value!r} to a TensorFlow DType."
        )
    return _ALL[name]


def _name_of(value: Any) -> str:
    if isinstance(value, str):
        return _ALIASES.get(value, value)
    if isinstance(value, core.StringType):
        return "string"
    if value is float:
        return "float32"
    if value is None or value is int or value is str or value is bytes:
        return ""  # of which TensorFlow does not say what they stand for
    if value is object or value is np.object_ or value == np.dtype(object):
        return "string"
    try:
        return core.as_dtype(value).name
    except InvalidArgumentError:
        return ""
