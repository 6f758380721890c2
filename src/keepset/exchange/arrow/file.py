"""Arrow IPC files, streams and Feather: record batches where they lie on the disk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO, Final

import pyarrow as pa

from keepset.core.cached import cached_property
from keepset.core.chunk import Chunk
from keepset.core.dtypes import Array
from keepset.core.node import stage
from keepset.core.spec import Spec
from keepset.errors import InvalidArgumentError
from keepset.exchange.arrow.leaves import is_unicode
from keepset.exchange.arrow.out import ArrowOut
from keepset.exchange.arrow.rows import ArrowRows
from keepset.exchange.arrow.source import arrow_damage, arrow_input
from keepset.exchange.files.exporting import RowWriter
from keepset.exchange.files.file_rows import FileRows
from keepset.exchange.files.grouped_rows import GroupedRows
from keepset.exchange.files.row_file import Place, RowFile
from keepset.exchange.text.codec_names import check_utf8
from keepset.format.message import batch_places, is_compressed, row_count

COMPRESSIONS: Final = ("none", "lz4", "zstd")
_CHUNK_BYTES: Final = 1 << 20
_MOST_ROWS: Final = 1 << 16
_MAGIC: Final = b"ARROW1"
_TAIL_BYTES: Final = 10  # the length of the footer, and how the file began
_PREFIX: Final = b"\xff\xff\xff\xff" + bytes(4)  # before the description of a message
_GZIP: Final = b"\x1f\x8b"
# How files of other kinds begin, and what to do about them.
_OTHERS: Final = {
    b"FEA1": "it is a Feather file of version 1, which is no Arrow file; read it with "
    "pandas.read_feather and write it again",
    b"PAR1": "it is a Parquet file; read it with read_parquet",
    b"\xff\x06\x00\x00sNaP": "it is compressed with Snappy; a folder of such files is read by load",
}


@stage
class ReadArrow(FileRows):
    """The rows of each file."""

    missing: Any = None
    types: Any = None
    encoding: str | None = None

    knows_length = True
    is_addressable = True

    def __post_init__(self) -> None:
        check_utf8(self.kind, self.encoding)

    def open_file(self, place: Place) -> RowFile:
        head = bytes(place.store.read_range(place.file, 0, min(8, place.store.size(place.file))))
        for start, what in _OTHERS.items():
            if head.startswith(start):
                raise InvalidArgumentError(f"{place.name} cannot be read: {what}")
        if head.startswith(_MAGIC):
            return _FileRows(place, self)
        if head.startswith(_GZIP) or place.store.is_remote:
            return _StreamRows(place, self, head.startswith(_GZIP))
        return _MappedStreamRows(place, self, False)

    def rows_of(self, schema: pa.Schema, place: Place) -> ArrowRows:
        with arrow_damage(place):  # a name may be no text
            return ArrowRows(
                schema,
                columns=self.columns,
                missing=self.missing,
                types=self.types,
                where=place.name,
                is_str=None if self.encoding is None else is_unicode,
            )


class _FileRows(GroupedRows):
    """The rows of a file, whose end tells where its batches are."""

    def __init__(self, place: Place, node: ReadArrow) -> None:
        source = arrow_input(place)
        with arrow_damage(place):
            schema = pa.ipc.open_file(source).schema
            counts = _row_counts(place)
        if min(counts, default=0) < 0:
            raise place.damaged("a number of rows is negative")
        super().__init__(place, node.rows_of(schema, place), counts)
        with arrow_damage(place):
            self._reader = pa.ipc.open_file(source, options=_only(self.rows.names, schema))
        self._sound: set[int] = set()

    def read_group(self, number: int) -> pa.Table:
        return pa.Table.from_batches([self._batch(number)])

    def _batch(self, number: int) -> pa.RecordBatch:
        batch = self._reader.get_batch(number)
        if number not in self._sound:
            # What lies in memory as it was read has not been looked at by anybody.
            batch.validate(full=True)
            self._sound.add(number)
        return batch

    def chunks(self, start: int) -> Iterator[Chunk]:
        for number in range(self.group_of(start), len(self.starts) - 1):
            first = int(self.starts[number])
            with arrow_damage(self.place):
                batch = self._batch(number)
            if first + batch.num_rows != self.starts[number + 1]:
                raise self.place.damaged("there are not as many rows as it says")
            yield from _pieces(self.rows, batch, first, start)


class _StreamRows(RowFile):
    """The rows of a stream, which is read from its beginning."""

    obstacle: str | None = "which is a compressed stream, or not on a disk"

    def __init__(self, place: Place, node: ReadArrow, is_gzip: bool) -> None:
        self._place, self._is_gzip = place, is_gzip
        with arrow_damage(place):
            self._schema = pa.ipc.open_stream(self._source()).schema
        self._rows = node.rows_of(self._schema, place)
        self.spec: Spec = self._rows.spec

    def _source(self) -> Any:
        source = arrow_input(self._place)
        return pa.CompressedInputStream(source, "gzip") if self._is_gzip else source

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All record batches."""
        with arrow_damage(self._place):
            options = _only(self._rows.names, self._schema)
            reader = pa.ipc.open_stream(self._source(), options=options)
            while (batch := next(reader, None)) is not None:
                batch.validate(full=True)
                yield batch

    def chunks(self, start: int) -> Iterator[Chunk]:
        first = 0
        for batch in self.batches():
            yield from _pieces(self._rows, batch, first, start)
            first += batch.num_rows


class _MappedStreamRows(_StreamRows):
    """The rows of a stream on a disk, whose batches can be found by going through it once."""

    @cached_property
    def _found(self) -> _BatchRows | None:
        """The rows by position, unless they are compressed."""
        with arrow_damage(self._place):
            for message in pa.ipc.MessageReader.open_stream(self._source()):
                if message.type == "record batch":
                    if is_compressed(_PREFIX + bytes(message.metadata)):
                        return None
                    break
        return _BatchRows(self._place, self._rows, list(self.batches()))

    @property
    def length(self) -> int | None:  # type: ignore[override]
        return None if self._found is None else self._found.length

    @property
    def obstacle(self) -> str | None:  # type: ignore[override]
        return "which is a compressed stream" if self._found is None else None

    def gather(self, rows: Array) -> Chunk:
        assert self._found is not None
        return self._found.gather(rows)


class _BatchRows(GroupedRows):
    """Rows of batches that lie in memory, or in a file that is mapped into it."""

    def __init__(self, place: Place, rows: ArrowRows, batches: list[pa.RecordBatch]) -> None:
        super().__init__(place, rows, [batch.num_rows for batch in batches])
        self._batches = batches

    def read_group(self, number: int) -> pa.Table:
        return pa.Table.from_batches([self._batches[number]])

    def chunks(self, start: int) -> Iterator[Chunk]:
        for number in range(self.group_of(start), len(self._batches)):
            batch, first = self._batches[number], int(self.starts[number])
            yield from _pieces(self.rows, batch, first, start)


def _pieces(rows: ArrowRows, batch: pa.RecordBatch, first: int, start: int) -> Iterator[Chunk]:
    """The rows of a batch from ``start`` on, a megabyte or so each."""
    row_bytes = batch.nbytes // max(1, batch.num_rows)
    step = max(1, min(_MOST_ROWS, _CHUNK_BYTES // max(1, row_bytes)))
    for at in range(max(0, start - first), batch.num_rows, step):
        yield rows.chunk(batch.slice(at, step), first + at)


def _only(names: list[str], schema: pa.Schema) -> pa.ipc.IpcReadOptions:
    """Reads no other columns than these."""
    if len(names) == len(schema):
        return pa.ipc.IpcReadOptions()
    return pa.ipc.IpcReadOptions(included_fields=sorted(map(schema.get_field_index, names)))


def _row_counts(place: Place) -> list[int]:
    """How many rows each record batch of a file has, as the batches themselves say."""
    store, size = place.store, place.store.size(place.file)
    tail = store.read_range(place.file, size - _TAIL_BYTES, _TAIL_BYTES)
    length = int.from_bytes(tail[:4], "little", signed=True)
    if not 0 < length <= size - _TAIL_BYTES:
        raise ValueError("its footer has no length that could be")
    footer = store.read_range(place.file, size - _TAIL_BYTES - length, length)
    places = batch_places(footer)
    if any(start < 0 or not 0 < length <= size - start for start, length in places):
        raise ValueError("a record batch lies outside of it")
    return [row_count(each) for each in store.read_ranges(place.file, places)]


class ArrowWriter(RowWriter):
    """Writes an IPC file, in batches of about a megabyte."""

    has_schema = True

    def __init__(
        self,
        file: BinaryIO,
        spec: Spec,
        *,
        compression: str | None = None,
        text: bool | str | Sequence[str] = (),
    ) -> None:
        self._out = ArrowOut(spec, text)
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_bytes = 0
        options = pa.ipc.IpcWriteOptions(compression=compression_named(compression))
        self._sink = pa.PythonFile(file, mode="w")
        self._writer: Any = pa.ipc.new_file(self._sink, self._out.schema, options=options)

    def write(self, chunk: Chunk) -> None:
        for batch in self._out.batches(chunk):
            self._waiting.append(batch)
            self._waiting_bytes += batch.nbytes
            if self._waiting_bytes >= _CHUNK_BYTES or not batch.num_columns:
                self._flush()

    def _flush(self) -> None:
        # Those that come one by one go out together, as each has its price.
        batches, self._waiting, self._waiting_bytes = self._waiting, [], 0
        if len(batches) > 1:
            batches = pa.Table.from_batches(batches).combine_chunks().to_batches()
        for batch in batches:
            self._writer.write_batch(batch)

    def finish(self) -> None:
        if self._waiting:
            self._flush()
        self._writer.close()
        self._sink.flush()

    def reread(self, file: BinaryIO) -> Iterator[Chunk]:
        reader, rows = pa.ipc.open_file(file), ArrowRows(self._out.schema)
        for number in range(reader.num_record_batches):
            yield rows.chunk(reader.get_batch(number))

    def close(self) -> None:
        self._writer = None  # what is not whole is thrown away


def compression_named(name: str | None) -> str | None:
    """The compression as Arrow spells it; None for none."""
    wanted = "none" if name is None else name.lower()
    if wanted not in COMPRESSIONS:
        known = ", ".join(map(repr, COMPRESSIONS))
        raise InvalidArgumentError(f"compression={name!r} is unknown; choose one of {known}")
    return None if wanted == "none" else wanted
