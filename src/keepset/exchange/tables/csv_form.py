"""CsvForm: how a table is written as CSV, and what Arrow makes of such text."""

from __future__ import annotations

import codecs
import re
from contextlib import suppress
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from keepset.exchange.tables.text_blocks import PART_BYTES

# Threads take longer to be told than a small block takes to be parsed.
_PARALLEL_BYTES: Final = 128 << 10
# The sign of a number, and not that of an exponent. The literal comes first, to be found fast.
_PLUS: Final = re.compile(rb"\+(?<![eE]\+)")


class CsvForm(NamedTuple):
    """The characters that make a table of text, and the values that stand for missing ones."""

    delimiter: str
    quote: str | None
    null_values: tuple[str, ...]

    def table(
        self, data: bytes, names: list[str], types: dict[str, pa.DataType], wanted: list[str]
    ) -> pa.Table:
        """Some columns of rows whose types are known."""
        if not wanted:
            # Arrow takes no columns for all of them; one of them says how many rows there are.
            texts = dict.fromkeys(names, pa.binary())
            return self._table(data, names, texts, names[:1]).select([])
        has_integers = any(pa.types.is_integer(types[name]) for name in wanted)
        if has_integers and may_have_hexadecimals(data):
            return self._table_by_texts(data, names, types, wanted)
        try:
            return self._table(data, names, types, wanted)
        except pa.ArrowInvalid:
            if not has_integers or not may_have_plus_signs(data):
                raise
        return self._table_by_texts(data, names, types, wanted)

    def _table(
        self, data: bytes, names: list[str], types: dict[str, pa.DataType], wanted: list[str]
    ) -> pa.Table:
        conversion = pa_csv.ConvertOptions(
            column_types=types,
            include_columns=wanted,
            null_values=list(self.null_values),
            strings_can_be_null=False,
            check_utf8=False,
        )

        def read(block_bytes: int, threads: bool) -> pa.Table:
            options = pa_csv.ReadOptions(
                column_names=names, block_size=block_bytes, use_threads=threads
            )
            return pa_csv.read_csv(_source(data), options, self._parse_options(), conversion)

        is_large = len(data) >= _PARALLEL_BYTES
        if is_large and (self.quote is None or self.quote.encode() not in data):
            # Parts of it are parsed side by side: each line end is one of a record. A line that
            # is longer than a part is an error.
            with suppress(pa.ArrowInvalid):
                return read(PART_BYTES, True)
        return read(_whole(data), is_large)

    def _table_by_texts(
        self, data: bytes, names: list[str], types: dict[str, pa.DataType], wanted: list[str]
    ) -> pa.Table:
        """As ``table``, where Arrow would take an id for a number, or refuse one with a sign."""
        integers = {name: types[name] for name in wanted if pa.types.is_integer(types[name])}
        table = self._table(data, names, types | dict.fromkeys(integers, pa.binary()), wanted)
        columns = dict(zip(wanted, table.columns, strict=True))
        for name, type in integers.items():
            columns[name] = self._integers(columns[name], type)
        return pa.table(columns)

    def _integers(self, texts: pa.ChunkedArray, type: pa.DataType) -> pa.ChunkedArray:
        """The whole numbers that some texts are, with or without signs and blanks."""
        if has_hexadecimals(texts):
            raise pa.ArrowInvalid("there is a hexadecimal number")
        texts = pc.if_else(self.is_missing(texts), None, texts).cast(pa.string())
        with suppress(pa.ArrowInvalid):
            return texts.cast(type)
        bare = pc.replace_substring_regex(texts, r"^[ \t]+|[ \t]+$", "")
        return pc.replace_substring_regex(bare, r"^\+([0-9])", r"\1").cast(type)

    def is_missing(self, texts: Any) -> Any:
        """Which of some texts stand for missing values."""
        nulls = pa.array([value.encode() for value in self.null_values], pa.binary())
        return pc.is_in(texts, nulls)

    def texts(self, data: bytes, names: list[str], wanted: list[str]) -> dict[str, pa.ChunkedArray]:
        """The values of columns as they are written, without those that are missing."""
        if not wanted:
            return {}
        types = dict.fromkeys(names, pa.binary())
        columns = self._table(data, names, types, wanted).columns
        return {
            name: texts.filter(pc.invert(self.is_missing(texts)))
            for name, texts in zip(wanted, columns, strict=True)
        }

    def inferred(self, data: bytes, names: list[str]) -> pa.Table:
        """Rows with the types that fit them."""
        return pa_csv.read_csv(
            _source(data),
            pa_csv.ReadOptions(column_names=names, block_size=_whole(data), use_threads=False),
            self._parse_options(),
            pa_csv.ConvertOptions(
                null_values=list(self.null_values), strings_can_be_null=False, check_utf8=False
            ),
        )

    def width(self, record: bytes) -> int:
        """How many fields a record has."""
        data = record + b"\n"
        options = pa_csv.ReadOptions(
            autogenerate_column_names=True, block_size=_whole(data), use_threads=False
        )
        count: int = pa_csv.read_csv(_source(data), options, self._parse_options()).num_columns
        return count

    def header(self, record: bytes) -> list[str]:
        """The fields of a record, which are names."""
        data = record + b"\n"
        options = pa_csv.ReadOptions(block_size=_whole(data), use_threads=False)
        names: list[str] = pa_csv.read_csv(
            _source(data), options, self._parse_options()
        ).column_names
        return names

    def _parse_options(self) -> pa_csv.ParseOptions:
        return pa_csv.ParseOptions(
            delimiter=self.delimiter,
            quote_char=self.quote or False,
            newlines_in_values=self.quote is not None,
        )


def _source(data: bytes) -> pa.BufferReader:
    """Text for Arrow, which drops a byte order mark from the beginning of all that it is given."""
    # The mark of the file is gone already. This one is a character of the first value.
    return pa.BufferReader(codecs.BOM_UTF8 + data if data.startswith(codecs.BOM_UTF8) else data)


def _whole(data: bytes) -> int:
    """The size of a block that has room for all of ``data``."""
    return len(data) + len(codecs.BOM_UTF8) + 1


def may_have_hexadecimals(data: bytes) -> bool:
    """Whether there is something in a text that begins as a hexadecimal number does."""
    # A single letter is found much faster, and is seldom there in a table of numbers.
    return any(x in data and b"0" + x in data for x in (b"x", b"X"))


def has_hexadecimals(texts: pa.ChunkedArray) -> bool:
    """Whether some texts, all of which Arrow reads as whole numbers, are hexadecimal ones."""
    return any(
        _has_in_bytes(texts, x) and pc.any(pc.match_substring(texts, x)).as_py() for x in "xX"
    )


def _has_in_bytes(texts: pa.ChunkedArray, letter: str) -> bool:
    """Whether a letter is in what texts are made of, or next to it; this is seen at once."""
    buffers = (chunk.buffers()[2] for chunk in texts.chunks)
    return any(letter.encode() in memoryview(buffer).tobytes() for buffer in buffers if buffer)


def may_have_plus_signs(data: bytes) -> bool:
    """Whether there is something in a text that begins as a number with a plus sign does."""
    return _PLUS.search(data) is not None
