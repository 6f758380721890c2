"""Record-batch messages: where each column's bytes lie in one, and reading some of them."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from itertools import accumulate

import pyarrow as pa

_PREFIX = 8  # a marker and the length of what describes the message
_RECORD_BATCH = 3
_BUFFER = 16  # an offset and a length


def column_ends(
    message: bytes | memoryview, schema: pa.Schema, size: int | None = None
) -> list[int]:
    """Where the description of a message ends, and then the bytes of each column.

    A column's buffers follow each other, so that a column can be checked and fetched by itself.
    If ``size`` is given, that of the whole message, its description is enough of it.
    """
    body = _PREFIX + int.from_bytes(message[4:_PREFIX], "little")
    starts = _buffer_starts(message[_PREFIX:body])
    counts = [buffer_count(field.type) for field in schema]
    if sum(counts) != len(starts):
        raise ValueError(f"{len(starts)} buffers were found where {sum(counts)} were expected")
    starts.append((len(message) if size is None else size) - body)
    return [body + starts[first] for first in accumulate(counts, initial=0)]


def buffer_count(type: pa.DataType) -> int:
    """How many buffers a message has for a column of this type."""
    if isinstance(type, pa.BaseExtensionType):
        return buffer_count(type.storage_type)
    if pa.types.is_null(type):
        return 0
    if pa.types.is_struct(type):
        return 1 + sum(buffer_count(field.type) for field in type)
    if pa.types.is_fixed_size_list(type):
        return 1 + buffer_count(type.value_type)
    if pa.types.is_list(type) or pa.types.is_large_list(type):
        return 2 + buffer_count(type.value_type)
    if pa.types.is_binary(type) or pa.types.is_large_binary(type):
        return 3
    return 2


def read_batch(message: pa.Buffer, schema: pa.Schema) -> pa.RecordBatch:
    """The record batch of a message, as views of its bytes where they are not compressed."""
    return pa.ipc.read_record_batch(message, schema)


def read_columns(message: pa.Buffer, schema: pa.Schema, columns: Iterable[int]) -> pa.RecordBatch:
    """Some columns of a message; the bytes of the others may be anything."""
    options = pa.ipc.IpcReadOptions(included_fields=sorted(columns))
    stream = pa.py_buffer(b"".join([schema.serialize(), message]))
    with pa.ipc.open_stream(stream, options=options) as reader:
        return reader.read_next_batch()


def _buffer_starts(description: bytes | memoryview) -> list[int]:
    """The offset of each buffer, from the flat buffer that describes a record batch."""
    try:
        table = _Table(description, *struct.unpack_from("<I", description))
        if table.number(1, "<B") != _RECORD_BATCH:
            raise ValueError("the message is not a record batch")
        batch = table.follow(2)
        where, count = batch.vector(2)
        starts = [
            struct.unpack_from("<q", description, where + _BUFFER * i)[0] for i in range(count)
        ]
    except struct.error as error:
        raise ValueError("the message ends in the middle of its description") from error
    if starts != sorted(starts) or (starts and starts[0] < 0):
        raise ValueError("the buffers of the message are not in order")
    return starts


class _Table:
    """A table of a flat buffer: fields are found through the offsets in its head."""

    def __init__(self, data: bytes | memoryview, position: int) -> None:
        self._data, self._position = data, position
        self._fields = position - struct.unpack_from("<i", data, position)[0]
        if self._fields < 0:
            raise ValueError("the description of the message is damaged")

    def _where(self, field: int) -> int:
        size = struct.unpack_from("<H", self._data, self._fields)[0]
        slot = 4 + 2 * field
        offset = struct.unpack_from("<H", self._data, self._fields + slot)[0] if slot < size else 0
        if not offset:
            raise ValueError("the description of the message lacks a field")
        return self._position + int(offset)

    def number(self, field: int, code: str) -> int:
        return int(struct.unpack_from(code, self._data, self._where(field))[0])

    def follow(self, field: int) -> _Table:
        where = self._where(field)
        return _Table(self._data, where + struct.unpack_from("<I", self._data, where)[0])

    def vector(self, field: int) -> tuple[int, int]:
        """Where the items of a vector begin, and how many there are."""
        where = self._where(field)
        start = where + struct.unpack_from("<I", self._data, where)[0]
        count = int(struct.unpack_from("<I", self._data, start)[0])
        if count * _BUFFER > len(self._data):
            raise ValueError("the description of the message is damaged")
        return start + 4, count
