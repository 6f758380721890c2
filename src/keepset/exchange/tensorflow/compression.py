"""Compressed files of TensorFlow, piece by piece: GZIP, ZLIB, and snappy in blocks of its own."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from typing import Any, Final

import cramjam
from isal import isal_zlib

from keepset.errors import InvalidArgumentError
from keepset.exchange.tensorflow.masked_crc import masked_crc
from keepset.storage import Store

NONE: Final = ""
NAMES: Final = (NONE, "GZIP", "ZLIB", "SNAPPY")
# As large as a piece of what was compressed becomes, about.
PIECE_BYTES: Final = 4 << 20
# Of a block that snappy says to hold so much; it makes at most 21 bytes of one.
_MOST_EXPANSION: Final = 22
_HEAD_BYTES: Final = 12
_INFLATE_ERROR: Any = isal_zlib.error  # a class, which its types do not say


def compression_named(name: str | None) -> str:
    """The name as TensorFlow spells it, in capitals; empty for none."""
    wanted = (name or "").upper()
    wanted = NONE if wanted == "NONE" else wanted
    if wanted not in NAMES:
        known = ", ".join(repr(each) for each in NAMES if each)
        raise InvalidArgumentError(
            f"there is no compression {name!r} in TensorFlow's files; choose None or one of {known}"
        )
    return wanted


def sniff(store: Store, name: str) -> str:
    """How a file of records is compressed, judged by how it begins."""
    size = store.size(name)
    head = bytes(store.read_range(name, 0, min(size, _HEAD_BYTES)))
    if len(head) < 2 or is_record(head):
        return NONE
    if head[:2] == b"\x1f\x8b":
        return "GZIP"
    if head[0] & 0x0F == 8 and int.from_bytes(head[:2], "big") % 31 == 0:
        return "ZLIB"
    if len(head) >= 4 and int.from_bytes(head[:4], "big") <= size - 4:
        return "SNAPPY"
    return NONE


def is_record(head: bytes) -> bool:
    """Whether these are the length of a record and its checksum."""
    return len(head) >= _HEAD_BYTES and masked_crc(head[:8]) == int.from_bytes(head[8:12], "little")


def pieces_of(
    store: Store,
    name: str,
    compression: str,
    offset: int = 0,
    piece_bytes: int = PIECE_BYTES,
) -> Iterator[memoryview]:
    """The bytes of a file as they were before it was compressed, one piece after another.

    With an ``offset``, those from there on, of a file that is not compressed. Where a file is not
    mapped, ``piece_bytes`` is about how much of it is held at a time.

    Raises:
        ValueError: From an iterator that meets damage.
    """
    raw = _raw_pieces(store, name, offset, piece_bytes)
    if compression == "GZIP":
        return _inflated(raw, zlib.MAX_WBITS | 16, piece_bytes)
    if compression == "ZLIB":
        return _inflated(raw, zlib.MAX_WBITS, piece_bytes)
    if compression == "SNAPPY":
        return _unsnapped(raw)
    return raw


def _raw_pieces(store: Store, name: str, offset: int, piece_bytes: int) -> Iterator[memoryview]:
    whole = store.view(name)
    if whole is not None:
        yield whole[offset:]
        return
    size = store.size(name)
    while offset < size:
        length = min(piece_bytes, size - offset)
        yield memoryview(store.read_range(name, offset, length))
        offset += length


def _inflated(
    raw: Iterable[memoryview], window_bits: int, piece_bytes: int
) -> Iterator[memoryview]:
    """Several streams one behind the other are one. By isal, which is twice as fast as zlib."""
    stream = isal_zlib.decompressobj(window_bits)
    has_begun = False
    for whole in raw:
        step = max(1, piece_bytes // 4)
        for start in range(0, len(whole), step):
            data: bytes | memoryview = whole[start : start + step]
            while len(data):
                try:
                    made = stream.decompress(data, piece_bytes)
                except _INFLATE_ERROR as error:
                    raise ValueError(f"the compressed stream is damaged ({error})") from error
                has_begun = True
                if made:
                    yield memoryview(made)
                data = stream.unconsumed_tail
                if stream.eof:
                    data, stream, has_begun = (
                        stream.unused_data,
                        isal_zlib.decompressobj(window_bits),
                        False,
                    )
    if has_begun:
        raise ValueError("the compressed stream ends before it is whole")


def _unsnapped(raw: Iterable[memoryview]) -> Iterator[memoryview]:
    """Blocks of snappy, each behind its length."""
    waiting = b""
    for whole in raw:
        data = memoryview(waiting + bytes(whole)) if waiting else whole
        at = 0
        while len(data) - at >= 4:
            size = int.from_bytes(data[at : at + 4], "big")
            if len(data) - at - 4 < size:
                break
            if size:
                yield unsnapped_block(data[at + 4 : at + 4 + size])
            at += 4 + size
        waiting = bytes(data[at:])
    if waiting:
        raise ValueError("the file ends within a block of snappy")


def unsnapped_block(block: memoryview | bytes) -> memoryview:
    """What a raw block of snappy holds, of any size."""
    try:
        size = int(cramjam.snappy.decompress_raw_len(block))
        if size > _MOST_EXPANSION * len(block) + 64:
            raise ValueError(f"{size} bytes cannot come out of {len(block)}")
        made = memoryview(cramjam.snappy.decompress_raw(block)).cast("B")
    except cramjam.DecompressionError as error:
        raise ValueError(f"a block of snappy is damaged ({error})") from error
    if len(made) != size:
        raise ValueError(f"a block of snappy holds {len(made)} bytes in place of {size}")
    return made
