"""TextTable: a table in a text file, read block by block, and the rows in it that are bad."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from keepset.core.chunk import Chunk
from keepset.errors import ElementError
from keepset.exchange.arrow.column import RowError
from keepset.exchange.arrow.rows import ArrowRows
from keepset.exchange.files.row_file import Place, RowFile
from keepset.exchange.tables.bad_rows import BadRows
from keepset.exchange.tables.csv_records import Record
from keepset.exchange.tables.text_blocks import Block, line_ends


class TextTable(RowFile):
    """Gives the rows of a file whose columns and types are known.

    A block is parsed as a whole. Only if that fails its records are looked at one by one, to name
    those that are bad or to leave them out.
    """

    def __init__(self, place: Place, rows: ArrowRows | None, on_bad_row: str) -> None:
        self.place, self._rows, self._on_bad_row = place, rows, on_bad_row
        self.spec = None if rows is None else rows.spec

    @abstractmethod
    def blocks(self) -> Iterator[Block]:
        """The text, without a header."""

    @abstractmethod
    def parse(self, data: bytes) -> pa.Table:
        """The table of some records; whatever does not fit is an ``ArrowInvalid``."""

    @abstractmethod
    def records(self, data: bytes) -> list[Record]:
        """Where the records of a block are."""

    @abstractmethod
    def complaint(self, record: bytes) -> str:
        """What is wrong with a record that cannot be parsed, and what to do about it."""

    def is_cut(self, data: bytes) -> bool:
        """Whether the last record of a file, which has no end, is not whole."""
        return False

    def chunks(self, start: int) -> Iterator[Chunk]:
        bad = BadRows(self.place.name, self._on_bad_row)
        given = 0
        for block in self.blocks():
            for table, lines in self._tables(block, bad):
                for chunk in self._chunks(table, lines, bad):
                    skipped = min(max(0, start - given), len(chunk))
                    given += len(chunk)
                    if skipped < len(chunk):
                        yield chunk[skipped:]
        bad.tell()

    def _tables(self, block: Block, bad: BadRows) -> Iterator[tuple[pa.Table, _Lines]]:
        """The sound rows of a block, and the lines in which they begin."""
        is_cut = not block.has_end and self.is_cut(block.data)
        if self._rows is not None and not is_cut:
            try:
                table = self.parse(block.data)
            except pa.ArrowInvalid:
                pass
            else:
                if self.has_a_row_for_each(table, block.data):
                    yield table, _Lines(self, block, None)
                    return
        records = self.records(block.data)
        yield from self._sound(block, records, bad, _LineCount(block))

    def has_a_row_for_each(self, table: pa.Table, data: bytes) -> bool:
        """Whether there is one row for each record, so that lines can be told from rows."""
        return True

    def _sound(
        self, block: Block, records: Sequence[Record], bad: BadRows, count: _LineCount
    ) -> Iterator[tuple[pa.Table, _Lines]]:
        """Those of some records that can be parsed; halves until what is bad is alone."""
        if not records:
            return
        if self._rows is not None and all(record.is_closed for record in records):
            try:
                table = self.parse(block.data[records[0].start : records[-1].stop])
            except pa.ArrowInvalid:
                pass
            else:
                if table.num_rows == len(records):
                    yield table, _Lines(self, block, records)
                    return
        if len(records) > 1:
            middle = len(records) // 2
            yield from self._sound(block, records[:middle], bad, count)
            yield from self._sound(block, records[middle:], bad, count)
            return
        [record] = records
        line = count.line_at(record.start)
        if record.is_closed:
            bad.note(line, self.complaint(block.data[record.start : record.stop]))
        else:
            bad.note(line, "a quote is opened and never closed; close it, or pass quote=None")

    def _chunks(self, table: pa.Table, lines: _Lines, bad: BadRows) -> Iterator[Chunk]:
        """The elements of a table, but for rows in which something is missing that must not be."""
        assert self._rows is not None
        numbers = np.arange(table.num_rows)
        while table.num_rows:
            try:
                chunk = self._rows.chunk(table)
            except RowError as error:
                if bad.are_errors:
                    if first := int(error.rows[0]):
                        yield self._rows.chunk(table.slice(0, first))
                    raise bad.error(lines.of(first), error.what, ElementError) from error
                for number in numbers[error.rows].tolist():
                    bad.note(lines.of(number), error.what)
                keep = np.ones(table.num_rows, bool)
                keep[error.rows] = False
                table, numbers = table.filter(pa.array(keep)), numbers[keep]
            else:
                yield chunk
                return


class _LineCount:
    """Counts lines up to places that come one behind the other, each part of the text once."""

    def __init__(self, block: Block) -> None:
        self._data, self._line, self._reached = block.data, block.line, 0

    def line_at(self, place: int) -> int:
        self._line += line_ends(self._data[self._reached : place])
        self._reached = place
        return self._line


class _Lines:
    """Tells in which line a row of a block begins; records are looked for when somebody asks."""

    def __init__(self, table: TextTable, block: Block, records: Sequence[Record] | None) -> None:
        self._table, self._block, self._records = table, block, records

    def of(self, row: int) -> int:
        if self._records is None:
            self._records = self._table.records(self._block.data)
        start = self._records[row].start if row < len(self._records) else 0
        return self._block.line + line_ends(self._block.data[:start])
