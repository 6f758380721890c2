"""Numbers as texts, and texts as numbers: ``tf.strings.as_string`` and ``to_number``."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from keepset.errors import InvalidArgumentError
from keepset.tf.tensors.conversion import dtype_of, string_array, value_of
from keepset.tf.tensors.dtype import as_dtype
from keepset.tf.tensors.tensor import Tensor
from keepset.tf.text.text_items import each_text, per_item

_WHOLE: Final = re.compile(rb"\s*[+-]?\d+\s*")
_FLOAT: Final = re.compile(
    rb"\s*[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|inf(?:inity)?|nan)\s*", re.IGNORECASE
)
_HEX: Final = re.compile(
    rb"\s*[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)(?:[pP][+-]?\d+)?\s*"
)
_NUMBERS: Final = ("float32", "float64", "int32", "int64", "uint32", "uint64")


@per_item
def to_number(input: Any, out_type: Any = np.float32, name: str | None = None) -> Tensor:
    """The numbers that texts spell.

    Example:
        >>> to_number(["3.5", " -1e2"]).numpy().tolist()
        [3.5, -100.0]

    Raises:
        InvalidArgumentError: A text is no number of that type.
    """
    dtype = as_dtype(out_type)
    if dtype.name not in _NUMBERS:
        raise InvalidArgumentError(
            f"out_type must be one of {', '.join(_NUMBERS)}, not {dtype.name}; use tf.cast then"
        )
    numpy_type = dtype.storage.type
    read = _whole(numpy_type) if dtype.is_integer else _float
    with np.errstate(over="ignore"):
        return each_text(lambda text: numpy_type(read(text)), input, numpy_type)


def _whole(kind: Any) -> Callable[[bytes], int]:
    limits = np.iinfo(kind)

    def read(text: bytes) -> int:
        if not _WHOLE.fullmatch(text):
            raise _no_number(text)
        number = int(text)
        if not limits.min <= number <= limits.max:
            raise _no_number(text)
        return number

    return read


def _float(text: bytes) -> float:
    if _FLOAT.fullmatch(text):
        return float(text)
    if _HEX.fullmatch(text):
        return float.fromhex(text.decode())
    raise _no_number(text)


def _no_number(text: bytes) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"StringToNumberOp could not correctly convert string: {text.decode('utf-8', 'replace')}"
    )


@per_item
def as_string(
    input: Any,
    precision: int = -1,
    scientific: bool = False,
    shortest: bool = False,
    width: int = -1,
    fill: str = "",
    name: str | None = None,
) -> Tensor:
    """Numbers as texts, as ``printf`` writes them.

    Example:
        >>> as_string([1.5, 2.0], precision=2).numpy().tolist()
        [b'1.50', b'2.00']
        >>> as_string(7, width=3, fill="0").numpy()
        b'007'
    """
    value = value_of(input)
    dtype = dtype_of(value)
    if dtype.name == "string":
        return Tensor(value)
    _check(dtype, precision, scientific, shortest, fill)
    shown = _formatter(dtype, precision, scientific, shortest, width, fill)
    if type(value) is not np.ndarray:
        return Tensor(shown(value.item()).encode())
    numbers = value.astype(np.float32) if dtype.name == "bfloat16" else value
    texts = [shown(item).encode() for item in numbers.reshape(-1).tolist()]
    return Tensor(string_array(texts, value.shape))


def _check(dtype: Any, precision: int, scientific: bool, shortest: bool, fill: str) -> None:
    if scientific and shortest:
        raise InvalidArgumentError("Cannot select both scientific and shortest notation")
    if not (dtype.is_floating or dtype.is_complex):
        for name, given in (
            ("precision", precision >= 0),
            ("scientific", scientific),
            ("shortest", shortest),
        ):
            if given:
                raise InvalidArgumentError(f"{name} is there for floats, not for {dtype.name}")
    if len(fill) > 1 or fill not in ("", " ", "0", "-", "+"):
        raise InvalidArgumentError(f"fill must be '', ' ', '0', '-' or '+', not {fill!r}")


def _formatter(
    dtype: Any, precision: int, scientific: bool, shortest: bool, width: int, fill: str
) -> Callable[[Any], str]:
    if dtype.is_bool:
        return lambda item: "true" if item else "false"
    size = f"{fill}{width}" if width >= 0 else fill
    if dtype.is_integer:
        return lambda item: f"%{size}d" % item
    digits = f".{precision}" if precision >= 0 else ""
    pattern = f"%{size}{digits}{'e' if scientific else 'g' if shortest else 'f'}"
    if dtype.is_complex:
        return lambda item: f"({pattern % item.real},{pattern % item.imag})"
    return lambda item: pattern % item
