"""RecordWriter: records into a file, compressed as TensorFlow knows it."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any, Final, Protocol

import cramjam
import deflate
import numpy as np

from keepset.core.dtypes import Array
from keepset.exchange.tensorflow.masked_crc import (
    checksums,
    checksums_of_lengths,
    mask_all,
)
from keepset.exchange.tensorflow.record_scan import HEAD_BYTES
from keepset.exchange.tensorflow.records import frame

# What is compressed at once: a member of a gzip file.
_MEMBER_BYTES: Final = 1 << 20
_GZIP_LEVEL: Final = 6
# TensorFlow reads no larger block.
_SNAPPY_BLOCK_BYTES: Final = 1 << 18
_FEW: Final = 16
# What is lost at most, and done again, if a writer is interrupted.
_NOTED_BYTES: Final = 64 << 20


class Target(Protocol):
    """Where the bytes go."""

    def write(self, data: Any) -> int: ...
    def tell(self) -> int: ...
    def close(self) -> None: ...
    def abort(self) -> None: ...


def frames(messages: Sequence[bytes]) -> bytes:
    """Records as they stand in a file; those of one length are made all at once."""
    size = len(messages[0]) if messages else 0
    if len(messages) < _FEW or any(len(message) != size for message in messages):
        return b"".join(map(frame, messages))
    table = np.empty((len(messages), size + HEAD_BYTES + 4), np.uint8)
    length = np.array([size], "<u8")
    table[:, :8] = length.view(np.uint8)
    table[:, 8:12] = checksums_of_lengths(length).astype("<u4").view(np.uint8)
    table[:, 12 : 12 + size] = np.frombuffer(b"".join(messages), np.uint8).reshape(
        len(messages), size
    )
    table[:, 12 + size :] = _feet(messages)
    return table.tobytes()


def _feet(messages: Sequence[bytes]) -> Array:
    stored: Array = mask_all(checksums(messages)).astype("<u4")
    return stored.view(np.uint8).reshape(len(messages), 4)


class RecordWriter:
    """Writes records to a target, which gets its name when ``finish`` is called."""

    def __init__(self, target: Target, compression: str, level: int | None = None) -> None:
        self._target, self._compression = target, compression
        self._level = _GZIP_LEVEL if level is None or level < 0 else level
        self._waiting = bytearray()
        self._noted = 0
        self._zlib = zlib.compressobj(self._level) if compression == "ZLIB" else None

    def write(self, messages: Sequence[bytes]) -> None:
        """Add records."""
        data = frames(messages)
        if not self._compression:
            self._target.write(data)
            return
        self._waiting += data
        if len(self._waiting) >= _MEMBER_BYTES:
            self.flush()

    @property
    def size_bytes(self) -> int:
        """How many bytes the target has got."""
        return self._target.tell()

    @property
    def is_due(self) -> bool:
        """Whether so much was written since this was last so that it is worth to be noted."""
        written = self.size_bytes
        is_due = written - self._noted >= _NOTED_BYTES
        self._noted = written if is_due else self._noted
        return is_due

    def flush(self) -> None:
        """Write what is waiting, compressed."""
        if not self._waiting:
            return
        data, self._waiting = bytes(self._waiting), bytearray()
        if self._compression == "GZIP":
            self._target.write(deflate.gzip_compress(data, self._level))
        elif self._zlib is not None:
            self._target.write(self._zlib.compress(data))
        else:
            for start in range(0, len(data), _SNAPPY_BLOCK_BYTES):
                block = cramjam.snappy.compress_raw(data[start : start + _SNAPPY_BLOCK_BYTES])
                packed = bytes(block)
                self._target.write(len(packed).to_bytes(4, "big") + packed)

    def finish(self) -> None:
        """End the file."""
        self.flush()
        if self._zlib is not None:
            self._target.write(self._zlib.flush())
        elif self._compression == "GZIP" and not self.size_bytes:
            self._target.write(deflate.gzip_compress(b"", self._level))
        self._target.close()

    def abort(self) -> None:
        """Forget the file, unless it is finished."""
        self._target.abort()
