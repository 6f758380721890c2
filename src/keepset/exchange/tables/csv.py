"""CSV and TSV: tables as text, whose types are found from the first rows and then fixed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from keepset.core.cached import cached_property
from keepset.core.dtypes import as_dtype
from keepset.core.node import stage
from keepset.errors import CorruptRecordError, ElementError, InvalidArgumentError
from keepset.exchange.arrow.column import around_bad
from keepset.exchange.arrow.leaves import is_text
from keepset.exchange.arrow.rows import ArrowRows
from keepset.exchange.arrow.source import arrow_damage
from keepset.exchange.arrow.values import arrow_type
from keepset.exchange.files.file_rows import FileRows
from keepset.exchange.files.row_file import Place, RowFile
from keepset.exchange.tables.bad_rows import check_policy
from keepset.exchange.tables.csv_form import (
    CsvForm,
    has_hexadecimals,
    may_have_hexadecimals,
    may_have_plus_signs,
)
from keepset.exchange.tables.csv_records import CsvRecords, Record
from keepset.exchange.tables.text_blocks import (
    SAMPLE_BYTES,
    Block,
    blocks_of,
    line_ends,
)
from keepset.exchange.tables.text_table import TextTable
from keepset.exchange.tables.whole_numbers import (
    all_whole,
    has_overflow,
    integer_for,
    is_exact,
    is_whole,
    may_be_rounded,
    number_of,
    rounded,
    type_of,
    whole_numbers,
)
from keepset.exchange.text.codec_names import codec_named

_TABS: Final = (".tsv", ".tab")


@stage
class ReadCsv(FileRows):
    """The rows of each file. All have the columns and the types of the first one."""

    missing: Any = None
    types: Any = None
    header: Any = True
    delimiter: str | None = None
    quote: str | None = '"'
    null_values: tuple[str, ...] = ("",)
    on_bad_row: str = "error"
    encoding: str | None = None

    def __post_init__(self) -> None:
        check_policy(self.on_bad_row)
        if self.encoding is not None:
            codec_named(self.encoding)
        for name in ("delimiter", "quote"):
            value = getattr(self, name)
            if value is not None and (len(value) != 1 or not value.isascii() or value in "\r\n"):
                raise InvalidArgumentError(f"{name}={value!r} must be a single ASCII character")
        if self.delimiter is not None and self.delimiter == self.quote:
            raise InvalidArgumentError(f"delimiter and quote are both {self.quote!r}")

    def open_file(self, place: Place) -> RowFile:
        head = self.head_of(place)
        first = self._first
        if first is None or not head.names:
            return _CsvRows(self, head, head.types())
        if sorted(head.names) != sorted(first.names):
            raise ElementError(
                f"{place.name} has the columns {', '.join(map(repr, head.names))}, but "
                f"{first.place.name} has {', '.join(map(repr, first.names))}; read them apart, or "
                "rename them with header="
            )
        return _CsvRows(self, head, first.types())

    @cached_property
    def _first(self) -> _Head | None:
        """The first file that has rows, if the files are known before anything runs."""
        heads = (self.head_of(self.place_of(name)) for name in self._names or [])
        return next((head for head in heads if head.types() is not None), None)

    def head_of(self, place: Place) -> _Head:
        return _Head(self, place)


def _check_header(text: bytes, line: int, where: str) -> None:
    """An error if the names of columns are no text: nothing but the encoding is wrong, mostly."""
    try:
        text.decode()
    except UnicodeDecodeError as error:
        raise CorruptRecordError(
            f"{where}: line {line}: the header has {around_bad(text)}; pass the encoding of the "
            'file, such as encoding="latin-1"',
            path=where,
        ) from error


class _Head:
    """How a file begins: its columns, and rows from which types are found.

    Attributes:
        names: The columns, in the order of the file.
    """

    def __init__(self, node: ReadCsv, place: Place) -> None:
        self.node, self.place = node, place
        delimiter = node.delimiter or delimiter_of(place.file)
        self.form = CsvForm(delimiter, node.quote, tuple(node.null_values))
        self.records = CsvRecords(delimiter, node.quote)
        block = next(self._blocks(), Block(b"", 1))
        first = self.records.first(block.data)
        text = block.data[first.start : first.stop]
        self.start = 0  # of the rows, in the first block
        if node.header is True:
            if not text:
                raise place.damaged("it is empty, and begins with no header; pass header=False")
            _check_header(text, block.line + line_ends(block.data[: first.start]), place.name)
            with arrow_damage(place):
                self.names: list[str] = self.form.header(text)
            self.start = first.stop
        elif node.header is False:
            with arrow_damage(place):
                self.names = [str(i) for i in range(self.form.width(text) if text else 0)]
        else:
            self.names = list(node.header)

    def _blocks(self) -> Iterator[Block]:
        blocks = blocks_of(self.place, self.records.end_of_last, self.node.encoding)
        return (block for block in blocks if block.data.lstrip(b"\r\n"))

    def blocks(self) -> Iterator[Block]:
        """The text behind the header."""
        start = self.start
        for data, line, has_end in self._blocks():
            if start < len(data):
                yield Block(data[start:], line + line_ends(data[:start]), has_end)
            start = 0

    def types(self) -> dict[str, pa.DataType] | None:
        """The types of the columns; None if there are no rows to find them from."""
        return self._types

    @cached_property
    def _types(self) -> dict[str, pa.DataType] | None:
        given = {name: _column_type(dtype) for name, dtype in (self.node.types or {}).items()}
        if given.keys() >= set(self.names) and self.names:
            return given
        sample = next((block.data for block in self.blocks() if block.data.strip(b"\r\n")), b"")
        if not sample:
            return None
        sample = sample.lstrip(b"\r\n")
        if len(sample) > SAMPLE_BYTES or self.records.is_open(sample):
            sample = sample[: self.records.end_of_last(sample[:SAMPLE_BYTES]) or None]
        with arrow_damage(self.place):
            sample, table = self._inferred(sample)
        if table is None:
            return None
        # Text is kept as bytes. A column without any values may have some further down, and text
        # is what everything can be.
        texts = (pa.null(), pa.string())
        found = {f.name: pa.binary() if f.type in texts else f.type for f in table.schema}
        has_hexadecimal = may_have_hexadecimals(sample)
        has_plus = may_have_plus_signs(sample)
        counts = Counter(table.column_names)
        floats, integers = [], []
        for name, column in zip(table.column_names, table.columns, strict=True):
            if name in given or counts[name] > 1:
                continue
            is_float = pa.types.is_float64(column.type)
            if may_be_rounded(column) or (has_plus and is_float):
                floats.append(name)
            elif has_hexadecimal and pa.types.is_integer(column.type):
                integers.append(name)
        # All at once: each parse goes through every column, whichever of them are wanted.
        written = self.form.texts(sample, self.names, [*floats, *integers])
        found |= {name: _type_of_floats(written[name]) for name in floats}
        found |= {name: _type_of_integers(written[name]) for name in integers}
        return found | {name: type for name, type in given.items() if name in found}

    def _inferred(self, sample: bytes) -> tuple[bytes, pa.Table | None]:
        """Rows, but for those of another width, and their values with the types that fit them."""
        try:
            return sample, self.form.inferred(sample, self.names)
        except pa.ArrowInvalid:
            rows = b"\n".join(self._of_this_width(sample, self.records.records(sample)))
            return rows, self.form.inferred(rows, self.names) if rows else None

    def _of_this_width(self, data: bytes, records: Sequence[Record]) -> Iterator[bytes]:
        """Those of some records that have as many fields as there are columns."""
        if not records:
            return
        part = data[records[0].start : records[-1].stop]
        texts = dict.fromkeys(self.names, pa.binary())
        try:
            self.form.table(part, self.names, texts, self.names[:1])
        except pa.ArrowInvalid:
            if len(records) > 1:
                middle = len(records) // 2
                yield from self._of_this_width(data, records[:middle])
                yield from self._of_this_width(data, records[middle:])
        else:
            yield part


class _CsvRows(TextTable):
    def __init__(self, node: ReadCsv, head: _Head, types: dict[str, pa.DataType] | None) -> None:
        self._head, self._form = head, head.form
        place = head.place
        rows = None
        # Those of which the user said that they are floats may be rounded.
        self._exact: set[str] = set(head.names) - set(node.types or {})
        if types is not None:
            fields = [(name, types[name]) for name in head.names]
            rows = ArrowRows(
                pa.schema(fields),
                columns=node.columns,
                missing=node.missing,
                types=node.types,
                where=place.name,
                is_str=None if node.encoding is None else is_text,
            )
        super().__init__(place, rows, node.on_bad_row)
        self._types = types or {}
        self._known_bounds: dict[str, tuple[int, int]] = {}
        self._wanted = [] if rows is None else rows.names
        # Of text, what stands for missing values does so only if the user says what to put there.
        self._texts = [
            name
            for name in self._wanted
            if name in (node.missing or {}) and pa.types.is_binary(self._types[name])
        ]

    def blocks(self) -> Iterator[Block]:
        return self._head.blocks()

    def records(self, data: bytes) -> list[Record]:
        return self._head.records.records(data)

    def is_cut(self, data: bytes) -> bool:
        return self._head.records.is_open(data)

    def parse(self, data: bytes) -> pa.Table:
        table = self._form.table(data, self._head.names, self._types, self._wanted)
        columns = dict(zip(self._wanted, table.columns, strict=True))
        self._check_whole(columns, data)
        if not self._texts:
            return table
        for name in self._texts:
            column = columns[name]
            columns[name] = pc.if_else(self._form.is_missing(column), None, column)
        return pa.table(columns)

    def _check_whole(self, columns: dict[str, pa.ChunkedArray], data: bytes) -> None:
        """An error if the text has a whole number that is not what was read."""
        large = [
            name
            for name, numbers in columns.items()
            if name in self._exact and may_be_rounded(numbers)
        ]
        for name, texts in self._form.texts(data, self._head.names, large).items():
            if not all(map(is_exact, whole_numbers(texts))):
                raise pa.ArrowInvalid(f"{name} has a whole number that float64 may round")
            if has_overflow(columns[name], texts):
                raise pa.ArrowInvalid(f"{name} has a number that is too large for float64")

    def complaint(self, record: bytes) -> str:
        names = self._head.names
        count = self._form.width(record)
        if count != len(names):
            return (
                f"there are {count} columns in place of {len(names)}: {record!r:.80}; look for a "
                "delimiter or a quote that is missing or too many"
            )
        # Halves, because each parse goes through every column: columns that fit one by one fit
        # together, so that the first half is sound or has the first misfit.
        columns = self._wanted
        while len(columns) > 1:
            half = columns[: len(columns) // 2]
            columns = columns[len(half) :] if self._fits(record, half) else half
        if columns and not self._fits(record, columns):
            return self._misfit(columns[0], record)
        return f"{record!r:.80} cannot be read"

    def _fits(self, record: bytes, wanted: list[str]) -> bool:
        """Whether some columns of a record can be read."""
        try:
            table = self._form.table(record, self._head.names, self._types, wanted)
            self._check_whole(dict(zip(wanted, table.columns, strict=True)), record)
        except pa.ArrowInvalid:
            return False
        return True

    def _misfit(self, name: str, record: bytes) -> str:
        [value] = self._form.texts(record, self._head.names, [name])[name].to_pylist()
        type = self._types[name]
        shown = value.decode(errors="backslashreplace")
        what = f"{name!r} has {shown!r:.60}, which is no {type}, the type of the column"
        if pa.types.is_float64(type) and is_whole(value):
            what = rounded(name, shown)
        return (
            f"{what}; read it as another type, with types={{{name!r}: "
            f"{self._better(name, value, type)!r}}}"
        )

    def _better(self, name: str, value: bytes, type: pa.DataType) -> str:
        """A dtype that holds a value, and those that a column had before."""
        choices = []
        if is_whole(value):
            if not pa.types.is_integer(type):
                return "string"
            low, high = self._bounds(name)
            number = number_of(value)
            return integer_for(min(low, number), max(high, number)) or "string"
        elif pa.types.is_integer(type):
            choices = [(pa.float64(), "float64")]
        elif pa.types.is_date(type) or pa.types.is_timestamp(type):
            choices = [(pa.timestamp("s"), "datetime64[s]"), (pa.timestamp("ns"), "datetime64[ns]")]
        for wanted, dtype in choices:
            try:
                self._form.table(value, ["value"], {"value": wanted}, ["value"])
            except pa.ArrowInvalid:
                continue
            return dtype
        return "string"

    def _bounds(self, name: str) -> tuple[int, int]:
        """The smallest and the largest whole number in the first rows of a column."""
        if name not in self._known_bounds:
            data = next((block.data for block in self.blocks()), b"")
            try:
                texts = pc.unique(self._form.texts(data, self._head.names, [name])[name])
            except pa.ArrowInvalid:  # of rows of another width
                texts = pa.array([], pa.binary())
            numbers = [number_of(each) for each in texts.to_pylist() if is_whole(each)]
            self._known_bounds[name] = min(numbers, default=0), max(numbers, default=0)
        return self._known_bounds[name]


def delimiter_of(name: str) -> str:
    """What separates the fields of a file of this name: a tab if it is called so."""
    return "\t" if name.lower().removesuffix(".gz").endswith(_TABS) else ","


def _type_of_floats(texts: pa.ChunkedArray) -> pa.DataType:
    """The type of a column that Arrow takes for floats: whole numbers stay whole."""
    if all_whole(texts):
        numbers = list(map(number_of, pc.unique(texts).to_pylist()))
        return type_of(min(numbers), max(numbers))
    return pa.float64()


def _type_of_integers(texts: pa.ChunkedArray) -> pa.DataType:
    """The type of a column that Arrow takes for integers: ids such as 0x10 are text."""
    return pa.binary() if has_hexadecimals(texts) else pa.int64()


def _column_type(dtype: str) -> pa.DataType:
    """The Arrow type as which a column is parsed that is to have a dtype."""
    type = arrow_type(as_dtype(dtype))
    return pa.binary() if pa.types.is_large_string(type) else type
