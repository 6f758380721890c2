"""Record-batch messages: where each column's bytes lie in one, and reading some of them."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any

import pyarrow as pa

from keepset.core.cached import cached_property
from keepset.core.record import record

_PREFIX = 8  # a marker and the length of what describes the message
_RECORD_BATCH = 3
_LENGTH, _NODES, _BUFFERS, _COMPRESSION = 0, 1, 2, 3  # fields of a record batch
_BATCHES = 3  # a field of a footer
_BLOCK = 24  # an offset, the length of a description, and that of what it describes
_MARKER = b"\xff\xff\xff\xff"  # before the length, but for files of the first versions of Arrow
_PAIR = 16  # a length and the number of missing values, or an offset and a length
# Before the bytes of a compressed buffer stands how long they were, or that they are as they were.
_RAW_SIZE = 8
_NOT_COMPRESSED = -1
_NO_BYTES = pa.py_buffer(b"")
_STRINGS = {type.id for type in (pa.binary(), pa.large_binary(), pa.string(), pa.large_string())}


def column_ends(
    message: bytes | memoryview, schema: pa.Schema, size: int | None = None
) -> list[int]:
    """Where the description of a message ends, and then the bytes of each column.

    A column's buffers follow each other, so that a column can be checked and fetched by itself.
    If ``size`` is given, that of the whole message, its description is enough of it.
    """
    body = _PREFIX + int.from_bytes(message[4:_PREFIX], "little")
    starts = [start for start, _ in _nodes_and_buffers(message[_PREFIX:body])[1]]
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
    if type.id in _STRINGS:
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


def row_count(message: bytes | memoryview) -> int:
    """How many rows the batch of a message has, of which the description is enough."""
    try:
        return _described(message).number(_LENGTH, "<q", 0)
    except struct.error as error:
        raise ValueError("the message ends in the middle of its description") from error


def is_compressed(message: bytes | memoryview) -> bool:
    """Whether the buffers of a message are compressed, of which the description is enough."""
    try:
        return _described(message).has(_COMPRESSION)
    except struct.error as error:
        raise ValueError("the message ends in the middle of its description") from error


def batch_places(footer: bytes | memoryview) -> list[tuple[int, int]]:
    """Where the record batches of a file begin, and how long the description of each is."""
    try:
        table = _Table(footer, *struct.unpack_from("<I", footer))
        if not table.has(_BATCHES):
            return []
        where, count = table.vector(_BATCHES)
        return [struct.unpack_from("<qi", footer, where + i * _BLOCK) for i in range(count)]
    except struct.error as error:
        raise ValueError("the footer of the file is damaged") from error


class Decompressor:
    """Reads compressed messages of one schema that were read before.

    As ``read_columns``, without the threads that Arrow hands every buffer to: whoever reads many
    messages at once has enough of them. But Arrow compares more, and is asked the first time.
    """

    def __init__(self, schema: pa.Schema, codec: str) -> None:
        self._schema, self._codec = schema, codec
        self._parts = [_Part.of(field.type) for field in schema]
        self._nodes = sum(part.nodes for part in self._parts)
        self._buffers = sum(part.buffers for part in self._parts)

    def read(self, message: memoryview, columns: Sequence[int] | None = None) -> pa.RecordBatch:
        """All columns or some; the bytes of the others may be anything."""
        body = _PREFIX + int.from_bytes(message[4:_PREFIX], "little")
        lengths, places = _nodes_and_buffers(message[_PREFIX:body])
        if len(lengths) != self._nodes or len(places) != self._buffers:
            raise ValueError("the message has other columns than were expected")
        decompress = pa.Codec(self._codec).decompress

        def buffer(start: int, size: int) -> pa.Buffer:
            if not size:
                return _NO_BYTES
            data = message[body + start : body + start + size]
            raw = int.from_bytes(data[:_RAW_SIZE], "little", signed=True)
            data = data[_RAW_SIZE:]
            if raw == _NOT_COMPRESSED:
                return pa.py_buffer(data)
            if raw < 0:
                raise ValueError(f"a buffer of {raw} bytes is impossible")
            return decompress(data, raw)

        node = place = 0
        arrays = []
        wanted = set(range(len(self._parts)) if columns is None else columns)
        for number, part in enumerate(self._parts):
            if number in wanted:
                found = (buffer(*pair) for pair in places[place : place + part.buffers])
                arrays.append(part.array(iter(lengths[node : node + part.nodes]), found))
            node, place = node + part.nodes, place + part.buffers
        schema = self._schema
        if columns is not None:
            schema = pa.schema([schema.field(number) for number in columns])
        return pa.RecordBatch.from_arrays(arrays, schema=schema)


@record
class _Part:
    """An array of a column, with those that are in it: how many lengths and buffers they have."""

    type: pa.DataType
    inner: tuple[_Part, ...]
    own_buffers: int

    @classmethod
    def of(cls, type: pa.DataType) -> _Part:
        stored = type.storage_type if isinstance(type, pa.BaseExtensionType) else type
        inner = tuple(cls.of(stored.field(i).type) for i in range(stored.num_fields))
        return cls(type, inner, buffer_count(stored) - sum(part.buffers for part in inner))

    @cached_property
    def nodes(self) -> int:
        return 1 + sum(part.nodes for part in self.inner)

    @cached_property
    def buffers(self) -> int:
        return self.own_buffers + sum(part.buffers for part in self.inner)

    @cached_property
    def _storage(self) -> pa.DataType | None:
        is_extension = isinstance(self.type, pa.BaseExtensionType)
        return self.type.storage_type if is_extension else None

    def array(self, lengths: Iterator[int], buffers: Iterator[pa.Buffer]) -> pa.Array:
        """The next array of this type."""
        length = next(lengths)
        taken: list[Any] = [next(buffers) for _ in range(self.own_buffers)] or [_NO_BYTES]
        # The first of them says which values are missing.
        taken[0] = taken[0] if taken[0].size else None
        inner = [part.array(lengths, buffers) for part in self.inner] or None
        storage = self._storage
        array = pa.Array.from_buffers(storage or self.type, length, taken, children=inner)
        return array if storage is None else pa.ExtensionArray.from_storage(self.type, array)


def _described(message: bytes | memoryview) -> _Table:
    """The record batch that a message describes."""
    prefix = _PREFIX if bytes(message[:4]) == _MARKER else _PREFIX // 2
    return _batch_table(message[prefix:])


def _batch_table(description: bytes | memoryview) -> _Table:
    table = _Table(description, *struct.unpack_from("<I", description))
    if table.number(1, "<B") != _RECORD_BATCH:
        raise ValueError("the message is not a record batch")
    return table.follow(2)


def _pairs(description: bytes | memoryview, table: _Table, field: int) -> list[tuple[int, int]]:
    """The structures of two numbers each that a vector holds."""
    where, count = table.vector(field)
    numbers = iter(struct.unpack_from(f"<{2 * count}q", description, where))
    return list(zip(numbers, numbers, strict=True))


def _nodes_and_buffers(
    description: bytes | memoryview,
) -> tuple[list[int], list[tuple[int, int]]]:
    """The length of each array, and where each buffer begins and how long it is."""
    try:
        table = _batch_table(description)
        nodes = _pairs(description, table, _NODES)
        buffers = _pairs(description, table, _BUFFERS)
    except struct.error as error:
        raise ValueError("the message ends in the middle of its description") from error
    starts = [start for start, _ in buffers]
    if starts != sorted(starts) or (starts and starts[0] < 0):
        raise ValueError("the buffers of the message are not in order")
    return [length for length, _ in nodes], buffers


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

    def has(self, field: int) -> bool:
        size = struct.unpack_from("<H", self._data, self._fields)[0]
        slot = 4 + 2 * field
        return slot < size and bool(struct.unpack_from("<H", self._data, self._fields + slot)[0])

    def number(self, field: int, code: str, otherwise: int | None = None) -> int:
        if otherwise is not None and not self.has(field):
            return otherwise
        return int(struct.unpack_from(code, self._data, self._where(field))[0])

    def follow(self, field: int) -> _Table:
        where = self._where(field)
        return _Table(self._data, where + struct.unpack_from("<I", self._data, where)[0])

    def vector(self, field: int) -> tuple[int, int]:
        """Where the items of a vector begin, and how many there are."""
        where = self._where(field)
        start = where + struct.unpack_from("<I", self._data, where)[0]
        count = int(struct.unpack_from("<I", self._data, start)[0])
        if count * _PAIR > len(self._data):
            raise ValueError("the description of the message is damaged")
        return start + 4, count
