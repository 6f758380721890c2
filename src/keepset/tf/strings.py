"""``tf.strings``: what pipelines do to texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from keepset.core.dtypes import as_dtype, storage_dtype
from keepset.core.ragged import Ragged
from keepset.tf.not_covered import not_covered
from keepset.tf.tensor import Tensor, array_of
from keepset.tf.tensor import wrapped as viewed


def _array(value: Any) -> Any:
    array = array_of(value)
    if array.dtype != object:
        raise TypeError(f"strings are needed, not numbers of {array.dtype.name}")
    return array


def _each(function: Callable[[bytes], Any], value: Any, dtype: Any = object) -> Tensor:
    array = _array(value)
    made = np.empty(array.shape, dtype)
    made.reshape(-1)[:] = [function(item) for item in array.reshape(-1).tolist()]
    return viewed(made)


def split(input: Any, sep: Any = None, maxsplit: int = -1, name: str | None = None) -> Any:
    """The parts of a text, between separators or runs of white space; of many texts, as rows."""
    array = _array(input)
    if array.ndim > 1:
        raise TypeError("split takes a text or a list of texts")
    between = None if sep in (None, "", b"") else bytes(np.asarray(_array(sep))[()])
    rows = [_strings(item.split(between, maxsplit)) for item in array.reshape(-1).tolist()]
    if not array.ndim:
        return viewed(rows[0])
    return Ragged.from_rows(rows) if rows else Ragged(_strings([]), [0])


def _strings(items: Sequence[bytes]) -> Any:
    array = np.empty(len(items), object)
    array[:] = items
    return array


def join(inputs: Any, separator: str = "", name: str | None = None) -> Tensor:
    """Texts put together, item by item."""
    arrays = np.broadcast_arrays(*[_array(each) for each in inputs])
    between = separator.encode() if isinstance(separator, str) else separator
    made = np.empty(arrays[0].shape, object)
    made.reshape(-1)[:] = [
        between.join(items) for items in zip(*(a.reshape(-1).tolist() for a in arrays), strict=True)
    ]
    return viewed(made)


def reduce_join(
    inputs: Any, axis: int | None = None, separator: str = "", name: str | None = None
) -> Tensor:
    array, between = _array(inputs), separator.encode()
    if axis is None:
        return _scalar(between.join(array.reshape(-1).tolist()))
    moved = np.moveaxis(array, axis, -1)
    made = np.empty(moved.shape[:-1], object)
    flat = moved.reshape(-1, moved.shape[-1])
    made.reshape(-1)[:] = [between.join(row.tolist()) for row in flat]
    return viewed(made)


def _scalar(value: bytes) -> Tensor:
    array = np.empty((), object)
    array[()] = value
    return viewed(array)


def length(input: Any, unit: str = "BYTE", name: str | None = None) -> Tensor:
    """How long texts are, in bytes or in characters."""
    if unit not in ("BYTE", "UTF8_CHAR"):
        raise ValueError(f"unit must be 'BYTE' or 'UTF8_CHAR', not {unit!r}")
    if unit == "BYTE":
        return _each(len, input, np.int32)
    return _each(lambda item: len(item.decode("utf-8", "replace")), input, np.int32)


def lower(input: Any, encoding: str = "", name: str | None = None) -> Tensor:
    """In small letters; without an encoding, those of ASCII only."""
    if not encoding:
        return _each(bytes.lower, input)
    return _each(lambda item: item.decode(encoding).lower().encode(encoding), input)


def upper(input: Any, encoding: str = "", name: str | None = None) -> Tensor:
    if not encoding:
        return _each(bytes.upper, input)
    return _each(lambda item: item.decode(encoding).upper().encode(encoding), input)


def strip(input: Any, name: str | None = None) -> Tensor:
    return _each(bytes.strip, input)


def regex_replace(
    input: Any,
    pattern: str | bytes,
    rewrite: str | bytes,
    replace_global: bool = True,
    name: str | None = None,
) -> Tensor:
    """What matches a pattern, replaced; ``\\\\1`` stands for the first group."""
    given = pattern.encode() if isinstance(pattern, str) else bytes(pattern)
    made = rewrite.encode() if isinstance(rewrite, str) else bytes(rewrite)
    compiled, count = re.compile(given), 0 if replace_global else 1
    return _each(lambda item: compiled.sub(made, item, count=count), input)


def regex_full_match(input: Any, pattern: str | bytes, name: str | None = None) -> Tensor:
    compiled = re.compile(pattern.encode() if isinstance(pattern, str) else bytes(pattern))
    return _each(lambda item: compiled.fullmatch(item) is not None, input, bool)


def to_number(input: Any, out_type: Any = np.float32, name: str | None = None) -> Tensor:
    """The numbers that texts spell."""
    dtype = storage_dtype(as_dtype(out_type))
    return _each(lambda item: dtype.type(item.decode().strip()), input, dtype)


def as_string(input: Any, precision: int = -1, name: str | None = None) -> Tensor:
    """Numbers as texts."""
    array = array_of(input)
    made = np.empty(array.shape, object)
    made.reshape(-1)[:] = [_text(item, precision) for item in array.reshape(-1).tolist()]
    return viewed(made)


def _text(value: Any, precision: int) -> bytes:
    if isinstance(value, bool):
        return b"true" if value else b"false"
    if isinstance(value, float):
        return f"{value:.{6 if precision < 0 else precision}f}".encode()
    return str(value).encode()


def substr(input: Any, pos: int, len: int, name: str | None = None) -> Tensor:
    return _each(lambda item: item[int(pos) : int(pos) + int(len)], input)


__all__ = [
    "as_string",
    "join",
    "length",
    "lower",
    "reduce_join",
    "regex_full_match",
    "regex_replace",
    "split",
    "strip",
    "substr",
    "to_number",
    "upper",
]

__getattr__ = not_covered("tf.strings")
