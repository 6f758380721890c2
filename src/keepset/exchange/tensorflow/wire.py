"""Protobuf's wire format: fields out of bytes, and bytes out of fields.

The few messages that TensorFlow keeps are read by hand: that takes no library, runs no generated
code, and lets whole columns of them be read at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from keepset.core.dtypes import Array

VARINT: Final = 0
FIXED64: Final = 1
BYTES: Final = 2
_START_GROUP: Final = 3
_END_GROUP: Final = 4
FIXED32: Final = 5

_MASK64: Final = (1 << 64) - 1
_LONGEST_VARINT: Final = 10
_DEEPEST_GROUP: Final = 32
# As many as stay in a processor's cache with all that is made of them.
_NUMBERS_AT_ONCE: Final = 1 << 14


def fields(data: bytes) -> Iterator[tuple[int, int, Any]]:
    """Each field of a message: its number, its wire type, and an int or the bytes of its value.

    Raises:
        ValueError: The bytes are not a message.

    Example:
        >>> list(fields(bytes.fromhex("0803 1201 61")))
        [(1, 0, 3), (2, 2, b'a')]
    """
    at, end = 0, len(data)
    while at < end:
        key, at = varint_at(data, at)
        number, kind = key >> 3, key & 7
        if not number:
            raise ValueError("a field of the message has the number 0")
        if kind == BYTES:
            size, at = varint_at(data, at)
            value: Any = data[at : at + size]
            if len(value) != size:
                raise ValueError("the message ends within a field")
            at += size
        elif kind == VARINT:
            value, at = varint_at(data, at)
        elif kind in (FIXED32, FIXED64):
            size = 4 if kind == FIXED32 else 8
            value = data[at : at + size]
            if len(value) != size:
                raise ValueError("the message ends within a field")
            at += size
        elif kind == _START_GROUP:
            at = _end_of_group(data, at, number, 0)
            continue
        else:
            raise ValueError(f"a field of the message has the wire type {kind}")
        yield number, kind, value


def varint_at(data: bytes, at: int) -> tuple[int, int]:
    """The number that begins at a byte, and where it ends."""
    value = shift = 0
    try:
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value & _MASK64, at
            shift += 7
            if shift >= 7 * _LONGEST_VARINT:
                raise ValueError("a number of the message has more than 64 bits")
    except IndexError:
        raise ValueError("the message ends within a number") from None


def _end_of_group(data: bytes, at: int, number: int, depth: int) -> int:
    """Where a group ends, which nobody writes any more and a reader must pass over."""
    if depth > _DEEPEST_GROUP:
        raise ValueError("the groups of the message are nested too deep")
    while True:
        key, at = varint_at(data, at)
        inner, kind = key >> 3, key & 7
        if kind == _END_GROUP:
            if inner != number:
                raise ValueError("a group of the message ends that did not begin")
            return at
        if kind == _START_GROUP:
            at = _end_of_group(data, at, inner, depth + 1)
        elif kind == VARINT:
            _, at = varint_at(data, at)
        elif kind == BYTES:
            size, at = varint_at(data, at)
            at += size
        elif kind in (FIXED32, FIXED64):
            at += 4 if kind == FIXED32 else 8
        else:
            raise ValueError(f"a field of the message has the wire type {kind}")
        if at > len(data):
            raise ValueError("the message ends within a field")


def signed(value: int) -> int:
    """A number of 64 bits as the signed one that it stands for."""
    return value - (1 << 64) if value >= 1 << 63 else value


def unzigzag(value: int) -> int:
    """The signed number behind protobuf's ``sint64``."""
    return (value >> 1) ^ -(value & 1)


def packed_varints(data: bytes | Array) -> Array:
    """The numbers that lie one behind the other, as uint64; all at once.

    Example:
        >>> packed_varints(bytes.fromhex("01 ac02 00"))
        array([  1, 300,   0], dtype=uint64)
    """
    return varints_and_ends(np.frombuffer(data, np.uint8) if isinstance(data, bytes) else data)[0]


def varints_and_ends(bytes_: Array) -> tuple[Array, Array]:
    """As ``packed_varints``, and where each number has its last byte."""
    if not len(bytes_):
        return np.zeros(0, np.uint64), np.zeros(0, np.int64)
    ends = np.flatnonzero(bytes_ < 0x80)
    if not len(ends) or ends[-1] != len(bytes_) - 1:
        raise ValueError("the message ends within a number")
    if len(ends) == len(bytes_):
        return bytes_.astype(np.uint64), ends
    values = np.empty(len(ends), np.uint64)
    for first in range(0, len(ends), _NUMBERS_AT_ONCE):
        block = ends[first : first + _NUMBERS_AT_ONCE]
        start = int(ends[first - 1]) + 1 if first else 0
        values[first : first + len(block)] = _varints(
            bytes_[start : int(block[-1]) + 1], block - start
        )
    return values, ends


def _varints(bytes_: Array, ends: Array) -> Array:
    """Numbers that end at these bytes."""
    starts = np.empty_like(ends)
    starts[0], starts[1:] = 0, ends[:-1] + 1
    lengths = ends - starts
    longest = int(lengths.max())
    if longest >= _LONGEST_VARINT:
        raise ValueError("a number of the message has more than 64 bits")
    # Most numbers are small: words of 32 bits are half the work. Behind the last number there are
    # zeros, so that every number can be looked at as if it were as long as the longest.
    kind: Any = np.uint32 if longest < 4 else np.uint64
    low = np.append(bytes_ & 0x7F, np.zeros(longest, np.uint8))
    values: Array = low[starts].astype(kind)
    for place in range(1, longest + 1):
        more: Array = low[starts + place].astype(kind)
        more <<= kind(7 * place)
        more *= lengths >= place
        values |= more
    return values


def varint(value: int) -> bytes:
    """The bytes of a number; a negative one takes ten, as int64 does.

    Example:
        >>> varint(300).hex(), varint(-1).hex()
        ('ac02', 'ffffffffffffffffff01')
    """
    if 0 <= value < 0x80:
        return _SHORT[value]
    value &= _MASK64
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


_SHORT: Final = [bytes([value]) for value in range(0x80)]


def number_field(number: int, value: int) -> bytes:
    """A field that holds a number."""
    return varint(number << 3 | VARINT) + varint(value)


def bytes_field(number: int, value: bytes) -> bytes:
    """A field that holds bytes, a text or another message."""
    return varint(number << 3 | BYTES) + varint(len(value)) + value


def varints(values: Array) -> bytes:
    """The bytes of many numbers, one behind the other.

    Example:
        >>> varints(np.array([1, -1, 300])).hex()
        '01ffffffffffffffffff01ac02'
    """
    numbers = values.astype(np.int64).view(np.uint64) if values.dtype.kind == "i" else values
    numbers = numbers.astype(np.uint64).ravel()
    if not len(numbers):
        return b""
    longest = -(-int(numbers.max()).bit_length() // 7)
    if longest <= 1:
        return numbers.astype(np.uint8).tobytes()
    rest: Array = numbers.astype(np.uint32) if longest < 4 else numbers.copy()
    table = np.empty((len(numbers), longest), np.uint8)
    is_there = np.empty((len(numbers), longest), bool)
    for place in range(longest):
        # A number goes on as long as anything is left of it; its last byte says that it ends.
        is_there[:, place] = rest > 0 if place else True
        table[:, place] = rest & rest.dtype.type(0x7F)
        rest >>= rest.dtype.type(7)
        table[:, place] |= (rest > 0).view(np.uint8) << 7
    return table[is_there].tobytes()
