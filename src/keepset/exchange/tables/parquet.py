"""Parquet: tables in groups of rows, of which only the columns that are wanted are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO, Final

import pyarrow as pa
import pyarrow.parquet as pq

from keepset.core.chunk import Chunk
from keepset.core.node import stage
from keepset.core.spec import Spec
from keepset.errors import InvalidArgumentError
from keepset.exchange.arrow.leaves import is_unicode
from keepset.exchange.arrow.out import ArrowOut
from keepset.exchange.arrow.rows import ArrowRows
from keepset.exchange.arrow.source import arrow_damage, arrow_input
from keepset.exchange.files.exporting import RowWriter, unfit
from keepset.exchange.files.file_rows import FileRows
from keepset.exchange.files.grouped_rows import GroupedRows
from keepset.exchange.files.row_file import Place, RowFile
from keepset.exchange.text.codec_names import check_utf8

# A group is decoded as a whole to give any of its rows, so small ones are good to us.
ROW_GROUP_BYTES: Final = 32 << 20
COMPRESSIONS: Final = ("none", "snappy", "gzip", "zstd", "lz4", "brotli")
_CHUNK_BYTES: Final = 1 << 20
_MOST_ROWS: Final = 8192
_FIRST_ROWS: Final = 32  # before it is known how much memory one takes
# Of each column that is fetched from a bucket.
_BUFFER_BYTES: Final = 1 << 20


@stage
class ReadParquet(FileRows):
    """The rows of each file."""

    missing: Any = None
    types: Any = None
    encoding: str | None = None

    knows_length = True
    is_addressable = True

    def __post_init__(self) -> None:
        check_utf8(self.kind, self.encoding)

    def open_file(self, place: Place) -> RowFile:
        return _ParquetRows(place, self)


class _ParquetRows(GroupedRows):
    def __init__(self, place: Place, node: ReadParquet) -> None:
        source = arrow_input(place)
        with arrow_damage(place):
            self._file = pq.ParquetFile(
                source,
                # What is wanted is fetched a piece of each column at a time: all of a group that
                # somebody else wrote may be more than fits into memory.
                pre_buffer=False,
                buffer_size=_BUFFER_BYTES if place.store.is_remote else 0,
                page_checksum_verification=True,
            )
            schema = self._file.schema_arrow
            facts = self._file.metadata
            counts = [facts.row_group(i).num_rows for i in range(facts.num_row_groups)]
        if min(counts, default=0) < 0 or sum(counts) != facts.num_rows:
            raise place.damaged("its numbers of rows contradict each other")
        with arrow_damage(place):  # a name may be no text
            rows = ArrowRows(
                schema,
                columns=node.columns,
                missing=node.missing,
                types=node.types,
                where=place.name,
                is_str=None if node.encoding is None else is_unicode,
            )
        super().__init__(place, rows, counts)
        # Several columns are decoded at once; RangeFile is not for several threads.
        self._is_parallel = len(rows.names) > 1 and not place.store.is_remote
        self._row_bytes = 0  # until the first are decoded
        # Arrow does not look whether what is named in a dictionary is there.
        self._coded = [name for name in rows.names if _has_dictionary(schema.field(name).type)]

    def chunks(self, start: int) -> Iterator[Chunk]:
        for group in range(self.group_of(start), len(self.starts) - 1):
            first, last = int(self.starts[group]), int(self.starts[group + 1])
            at = max(first, start)
            for batch in self._batches(group, at - first):
                yield self.rows.chunk(batch, at)
                at += batch.num_rows
            if at != last:
                raise self.place.damaged(f"there are {last - at} rows less than it says")

    def _batches(self, group: int, skip: int) -> Iterator[pa.RecordBatch]:
        """The rows of a group but for the first few, a megabyte or so each."""
        if not self._row_bytes:
            first = next(self._decoded(group, self._step(group), skip), None)
            if first is None:
                return
            self._row_bytes = max(1, first.nbytes // first.num_rows)
            yield first
            # Now that it is known how large they are, they are read again from here on.
            skip += first.num_rows
            del first
        yield from self._decoded(group, self._step(group), skip)

    def _decoded(self, group: int, step: int, skip: int) -> Iterator[pa.RecordBatch]:
        with arrow_damage(self.place):
            batches = self._file.iter_batches(
                step,
                row_groups=[group],
                columns=self.rows.names,
                use_threads=self._is_parallel,
            )
            while (batch := next(batches, None)) is not None:
                self._check(batch)
                if skip < batch.num_rows:
                    yield batch.slice(skip)
                skip = max(0, skip - batch.num_rows)

    def _step(self, group: int) -> int:
        """How many rows make about a megabyte, judged by those that were decoded.

        Before there are any, by all columns as they are encoded. What is said of single columns
        would tell more, but Arrow ends the process where that is damaged.
        """
        if self._row_bytes:
            return max(1, min(_MOST_ROWS, _CHUNK_BYTES // self._row_bytes))
        facts = self._file.metadata.row_group(group)
        row_bytes = max(0, int(facts.total_byte_size)) // max(1, int(facts.num_rows))
        return max(1, min(_FIRST_ROWS, _CHUNK_BYTES // max(1, row_bytes)))

    def read_group(self, number: int) -> pa.Table:
        table = self._file.read_row_group(
            number, columns=self.rows.names, use_threads=self._is_parallel
        ).combine_chunks()
        self._check(table)
        return table

    def _check(self, rows: pa.RecordBatch | pa.Table) -> None:
        for name in self._coded:
            rows.column(rows.schema.get_field_index(name)).validate(full=True)

    def close(self) -> None:
        super().close()
        self._file.close(force=True)


def _has_dictionary(type: pa.DataType) -> bool:
    """Whether values are named by their numbers in a dictionary, here or further in."""
    if pa.types.is_dictionary(type):
        return True
    return any(_has_dictionary(type.field(i).type) for i in range(type.num_fields))


class ParquetWriter(RowWriter):
    """Writes groups of rows of about ``row_group_bytes`` in memory each."""

    has_schema = True

    def __init__(
        self,
        file: BinaryIO,
        spec: Spec,
        *,
        compression: str | None = "zstd",
        row_group_bytes: int = ROW_GROUP_BYTES,
        text: bool | str | Sequence[str] = (),
    ) -> None:
        self._out = ArrowOut(spec, text)
        if not len(self._out.schema):
            raise unfit("", "it has no values, and a table needs columns")
        self._limit = row_group_bytes
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_bytes = 0
        self._writer = pq.ParquetWriter(
            file,
            self._out.schema,
            compression=compression_named(compression),
            write_page_checksum=True,
        )

    def write(self, chunk: Chunk) -> None:
        for batch in self._out.batches(chunk):
            self._waiting.append(batch)
            self._waiting_bytes += batch.nbytes
            if self._waiting_bytes >= self._limit:
                self._write_group()

    def _write_group(self) -> None:
        table = pa.Table.from_batches(self._waiting, self._out.schema)
        self._waiting, self._waiting_bytes = [], 0
        try:
            self._writer.write_table(table, row_group_size=table.num_rows)
        except MemoryError:
            raise
        except pa.ArrowException as error:
            raise unfit("", f"Parquet does not take it ({error})") from error

    def finish(self) -> None:
        if self._waiting:
            self._write_group()
        self._writer.close()

    def reread(self, file: BinaryIO) -> Iterator[Chunk]:
        rows, source = ArrowRows(self._out.schema), pq.ParquetFile(file, pre_buffer=False)
        for group in range(source.num_row_groups):
            facts = source.metadata.row_group(group)
            # Before they were encoded, rows may have been larger, but no group was.
            step = max(1, min(_MOST_ROWS, facts.num_rows * _CHUNK_BYTES // self._limit))
            for batch in source.iter_batches(step, row_groups=[group], use_threads=False):
                yield rows.chunk(batch)

    def close(self) -> None:
        # What is not whole is thrown away: nothing more is written to it.
        self._writer.is_open = False


def compression_named(name: str | None) -> str:
    """The compression as Parquet spells it."""
    wanted = "none" if name is None else name.lower()
    if wanted not in COMPRESSIONS:
        known = ", ".join(map(repr, COMPRESSIONS))
        raise InvalidArgumentError(f"compression={name!r} is unknown; choose one of {known}")
    return wanted
