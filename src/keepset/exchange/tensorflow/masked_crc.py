"""The checksum of records: a CRC-32C, turned and shifted so that it can be stored beside itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from keepset.core.checksum import crc32c, crc32c_function
from keepset.core.dtypes import Array

_DELTA: Final = 0xA282EAD8
_MASK32: Final = 0xFFFFFFFF


def masked_crc(data: Any) -> int:
    """What stands behind a record, and behind its length.

    Example:
        >>> hex(masked_crc(b"hello"))
        '0x191c1fbb'
    """
    return mask(crc32c(data))


def mask(checksum: int) -> int:
    """The form in which a CRC-32C is stored."""
    return ((checksum >> 15 | checksum << 17) + _DELTA) & _MASK32


def unmasked(stored: Array) -> Array:
    """The CRC-32C behind each of many that are stored."""
    turned = (stored.astype(np.uint64) - np.uint64(_DELTA)) & np.uint64(_MASK32)
    return ((turned << np.uint64(15)) | (turned >> np.uint64(17))) & np.uint64(_MASK32)


def mask_all(found: Array) -> Array:
    """As ``mask``, for many."""
    turned = (found >> np.uint64(15)) | (found << np.uint64(17))
    return (turned + np.uint64(_DELTA)) & np.uint64(_MASK32)


def checksums(pieces: Sequence[Any]) -> Array:
    """The CRC-32C of each of many pieces of memory."""
    return np.fromiter(map(crc32c_function(), pieces), np.uint64, len(pieces))


def checksums_of_lengths(lengths: Array) -> Array:
    """The masked CRC-32C of each number's eight bytes, computed for all numbers at once."""
    octets = lengths.astype("<u8").view(np.uint8).reshape(len(lengths), 8)
    found = np.full(len(lengths), _MASK32, np.uint32)
    for place in range(8):
        found = _TABLE[(found ^ octets[:, place]) & np.uint32(0xFF)] ^ (found >> np.uint32(8))
    found ^= np.uint32(_MASK32)
    return ((found >> np.uint32(15)) | (found << np.uint32(17))) + np.uint32(_DELTA)


def _table() -> Array:
    """What each value of a byte does to the checksum."""
    values = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        values = np.where(values & 1, (values >> 1) ^ np.uint32(0x82F63B78), values >> 1)
    return values.astype(np.uint32)


_TABLE: Final = _table()
