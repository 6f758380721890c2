"""The dtypes of leaves: NumPy's own, those of ml_dtypes, and ``string`` for bytes and text."""

from __future__ import annotations

from functools import cache
from typing import Any, TypeAlias

import numpy as np

from keepset.errors import InvalidArgumentError

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


class StringType:
    """The dtype of ``bytes`` and text. There is one, ``keepset.string``.

    NumPy's own ``S`` type drops trailing zero bytes, so arrays of strings are object arrays
    of ``bytes`` and this marks them in a spec.
    """

    name = "string"
    _only: StringType | None = None

    def __new__(cls) -> StringType:
        if cls._only is None:
            cls._only = super().__new__(cls)
        return cls._only

    def __repr__(self) -> str:
        return "keepset.string"

    def __reduce__(self) -> tuple[type[StringType], tuple[()]]:
        return StringType, ()


string = StringType()

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

    Example:
        >>> as_dtype("float32"), as_dtype(str), as_dtype("bfloat16")
        (dtype('float32'), keepset.string, dtype(bfloat16))
    """
    if isinstance(value, StringType) or value in (str, bytes, "string", "str", "bytes"):
        return string
    if isinstance(value, str) and _may_be_extended(value) and value in _extended():
        return _extended()[value]
    try:
        dtype: np.dtype[Any] = np.dtype(value)
    except (TypeError, ValueError, SyntaxError) as error:
        raise InvalidArgumentError(
            f"{value!r:.80} is not a dtype; pass a NumPy dtype, a name such as 'float32' or "
            "'bfloat16', or keepset.string"
        ) from error
    if dtype.kind in "SU":
        return string
    dtype = np.dtype(dtype.newbyteorder("="))
    if not is_numeric(dtype):
        raise InvalidArgumentError(
            f"{dtype!r} cannot be a leaf's dtype; use numbers, bool, datetime64, timedelta64 "
            "or keepset.string"
        )
    return dtype


def dtype_name(dtype: DType) -> str:
    """The name that :func:`as_dtype` reads back."""
    return dtype.name


def zero_of(dtype: DType) -> Any:
    """What padding is made of unless somebody says otherwise: 0, False or ``b""``."""
    return b"" if isinstance(dtype, StringType) else np.zeros((), dtype)[()]


def storage_dtype(dtype: DType) -> np.dtype[Any]:
    """The NumPy dtype of an array that holds such leaves."""
    return np.dtype(object) if isinstance(dtype, StringType) else dtype


# Scalars that are elements as they are. Membership of this set is the first question of every
# hot loop, so it lists types, not rules. Those of ml_dtypes are added when one is first seen.
PLAIN_SCALARS: set[type] = {
    bytes,
    *(np.dtype(code).type for code in "?bhilqBHILQefdgFDGmM"),
}
