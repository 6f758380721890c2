"""Frames: the form that TensorFlow kept elements in before it took records for that.

A frame is a length and so many bytes, without a checksum. In most files a frame is an element; with
snappy, a frame that tells the sizes of its tensors comes before each.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from keepset.core.dtypes import storage_dtype
from keepset.errors import CorruptRecordError
from keepset.exchange.tensorflow.compression import unsnapped_block
from keepset.exchange.tensorflow.datatypes import STRING, VARIANT, dtype_of_number
from keepset.exchange.tensorflow.tensor_proto import dense_tensor, parse_shape
from keepset.exchange.tensorflow.wire import BYTES, VARINT, fields
from keepset.storage import Store

# Of version 1: elements compressed one by one, in place of the whole file.
SNAPPY_ELEMENTS: Final = "SNAPPY ELEMENTS"
_length_at = struct.Struct("<Q").unpack_from
_HEAD_BYTES: Final = 8
_LOOKED_AT_BYTES: Final = 1 << 16


def sniff_frames(store: Store, name: str, version: int) -> str:
    """How a file of frames is compressed, judged by how it begins."""
    size = store.size(name)
    head = bytes(store.read_range(name, 0, min(size, _LOOKED_AT_BYTES)))
    length = _length_at(head)[0] if size >= _HEAD_BYTES else size
    if 0 < length <= size - _HEAD_BYTES:
        first = head[_HEAD_BYTES : _HEAD_BYTES + length]
        return SNAPPY_ELEMENTS if version == 1 and _tells_sizes(first) else ""
    return "GZIP" if head[:2] == b"\x1f\x8b" else "SNAPPY" if size else ""


def _tells_sizes(frame: bytes) -> bool:
    """Whether a frame holds the shapes and sizes of tensors, rather than tensors."""
    try:
        tensors = [value for number, kind, value in fields(frame) if number == 1 and kind == BYTES]
        return bool(tensors) and all(
            number != 1 for tensor in tensors for number, _, _ in fields(tensor)
        )
    except ValueError:
        return False


class FrameReader:
    """Reads elements, each as the messages of its tensors."""

    def __init__(
        self,
        pieces: Iterator[memoryview],
        where: str,
        compression: str,
        dtypes: Sequence[int],
    ) -> None:
        self._pieces, self._where, self._dtypes = pieces, where, dtypes
        self._in_pairs = compression == SNAPPY_ELEMENTS
        self._data, self._base = memoryview(b""), 0
        self._element = 0

    def read(self, most: int) -> list[list[bytes]]:
        """At most so many elements; none at the end."""
        found: list[list[bytes]] = []
        try:
            while len(found) < most and (element := self._next()) is not None:
                found.append(element)
                self._element += 1
        except ValueError as error:
            if found:
                self._pieces, self._data = _failing(error), memoryview(b"")
                return found
            raise CorruptRecordError(
                f"{self._where}: element {self._element} before byte {self._base} cannot be read: "
                f"{error}; restore the file from a copy",
                path=self._where,
                record=self._element,
                byte=self._base,
            ) from error
        return found

    def close(self) -> None:
        """Let go of the file."""
        close = getattr(self._pieces, "close", None)
        if close is not None:
            close()

    def _next(self) -> list[bytes] | None:
        frame = self._frame()
        if frame is None:
            return None
        if not self._in_pairs:
            return [value for number, kind, value in fields(frame) if number == 1 and kind == BYTES]
        block = self._frame()
        if block is None:
            raise ValueError("the file ends before the tensors of an element")
        return self._uncompressed(frame, block)

    def _uncompressed(self, sizes: bytes, block: bytes) -> list[bytes]:
        """The tensors of a block: numbers as they are in memory, others as messages."""
        whole, at = bytes(unsnapped_block(block)), 0
        tensors = []
        facts = [value for number, kind, value in fields(sizes) if number == 1 and kind == BYTES]
        if len(facts) != len(self._dtypes):
            raise ValueError(f"{len(facts)} tensors were kept in place of {len(self._dtypes)}")
        for fact, number in zip(facts, self._dtypes, strict=True):
            shape, size = b"", 0
            for field, kind, value in fields(fact):
                shape = value if field == 2 and kind == BYTES else shape
                size = value if field == 3 and kind == VARINT else size
            data = whole[at : at + size]
            if len(data) != size:
                raise ValueError("the tensors of an element are larger than what was kept")
            at += size
            if number in (STRING, VARIANT):
                tensors.append(data)
            else:
                array = np.frombuffer(data, storage_dtype(dtype_of_number(number)))
                tensors.append(dense_tensor(array.reshape(parse_shape(shape))))
        return tensors

    def _frame(self) -> bytes | None:
        if not self._hold(_HEAD_BYTES):
            if len(self._data):
                raise ValueError("the file ends within the length of a frame")
            return None
        length = _length_at(self._data)[0]
        if length > 1 << 32 or not self._hold(_HEAD_BYTES + length):
            raise ValueError(f"the file ends within a frame of {length} bytes")
        frame = bytes(self._data[_HEAD_BYTES : _HEAD_BYTES + length])
        self._data = self._data[_HEAD_BYTES + length :]
        self._base += _HEAD_BYTES + length
        return frame

    def _hold(self, size: int) -> bool:
        parts, held = [self._data], len(self._data)
        while held < size and (piece := next(self._pieces, None)) is not None:
            parts.append(piece)
            held += len(piece)
        if len(parts) > 1:
            self._data = memoryview(b"".join(parts))
        return held >= size


def _failing(error: ValueError) -> Iterator[memoryview]:
    raise error
    yield memoryview(b"")
