"""CsvWriter: elements as lines of a table, for those that are made of single values."""

from __future__ import annotations

import gzip
import re
from collections import Counter
from typing import Any, BinaryIO, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from keepset.core.chunk import Chunk
from keepset.core.dtypes import StringType, dtype_name
from keepset.core.spec import LeafSpec, Spec, TensorSpec
from keepset.exchange.arrow.column_names import column_names
from keepset.exchange.arrow.out import ArrowOut
from keepset.exchange.arrow.outlets import is_common
from keepset.exchange.files.exporting import RowWriter, unfit
from keepset.format.layout import Layout

NO_TEXT: Final = "make text of it with map, such as base64.b64encode does"
_BLANK_LINE: Final = re.compile(rb"(?m)^(?=\n)")


class CsvWriter(RowWriter):
    """Writes a line for each element, with text in quotes."""

    def __init__(
        self,
        file: BinaryIO,
        spec: Spec,
        *,
        delimiter: str = ",",
        header: bool = True,
        is_compressed: bool = False,
    ) -> None:
        layout = Layout(spec)
        names = column_names(layout)
        for name, leaf in zip(names, layout.leaves, strict=True):
            _check(name, leaf)
        if not names:
            raise unfit("", "it has no values, and a table needs columns")
        _check_names(list(layout.structure.paths()))
        self._out = ArrowOut(spec, text=True, no_text=NO_TEXT)
        self._delimiter = delimiter
        # Without a name and a time in it, equal rows make equal files.
        self._packed = gzip.GzipFile("", "wb", fileobj=file, mtime=0) if is_compressed else None
        self._file: Any = self._packed or file
        if header:
            self._write(_no_rows(self._out.schema), True)

    def write(self, chunk: Chunk) -> None:
        for batch in self._out.batches(chunk):
            self._write(batch, False)

    def _write(self, batch: pa.RecordBatch, has_header: bool) -> None:
        batch = _plain(batch)
        if any(map(_has_whole_floats, batch.columns)):
            written = _lines(batch, self._delimiter)
        else:
            options = pa_csv.WriteOptions(include_header=has_header, delimiter=self._delimiter)
            sink = pa.BufferOutputStream()
            pa_csv.write_csv(batch, sink, options)
            written = sink.getvalue()
        if batch.num_columns == 1 and batch.column(0).null_count:
            # Readers pass over a blank line. Values that can be missing are no texts, which alone
            # have line ends in them.
            self._file.write(_BLANK_LINE.sub(b'""', written.to_pybytes()))
            return
        self._file.write(memoryview(written))

    def finish(self) -> None:
        if self._packed is not None:
            self._packed.close()


def _no_rows(schema: pa.Schema) -> pa.RecordBatch:
    """An empty batch; Arrow would import pandas to make one of a list."""
    return pa.record_batch([pa.nulls(0, field.type) for field in schema], schema)


def _plain(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The same rows in types that can be written as text."""
    columns = {
        field.name: column.cast(pa.float32()) if pa.types.is_float16(field.type) else column
        for field, column in zip(batch.schema, batch.columns, strict=True)
    }
    return pa.record_batch(columns)


def _has_whole_floats(column: pa.Array) -> bool:
    if not pa.types.is_floating(column.type):
        return False
    return bool(pc.any(pc.equal(column, pc.trunc(column))).as_py())


def _lines(batch: pa.RecordBatch, delimiter: str) -> pa.Buffer:
    """What Arrow writes, but ``1.0`` for whole floats: its ``1`` is an integer to readers."""
    if not len(batch):
        return pa.py_buffer(b"")
    cells = [_cells(column) for column in batch.columns]
    text = pa.large_string()
    rows = pc.binary_join_element_wise(*cells, pa.scalar(delimiter, text))
    lines = pc.binary_join_element_wise(rows, pa.scalar("\n", text), pa.scalar("", text))
    _, offsets, data = lines.buffers()
    first, last = np.frombuffer(offsets, np.int64)[lines.offset :][[0, len(lines)]]
    return data[int(first) : int(last)]


def _cells(column: pa.Array) -> pa.Array:
    """A column as the text between delimiters."""
    cells = column.cast(pa.large_string())
    if pa.types.is_floating(column.type):
        whole = pc.match_substring_regex(cells, r"^-?\d+$")
        with_point = pc.binary_join_element_wise(
            cells, pa.scalar(".0", cells.type), pa.scalar("", cells.type)
        )
        cells = pc.if_else(whole, with_point, cells)
    elif pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        quote, nothing = pa.scalar('"', cells.type), pa.scalar("", cells.type)
        doubled = pc.replace_substring(cells, '"', '""')
        cells = pc.binary_join_element_wise(quote, doubled, quote, nothing)
    return cells.fill_null("")


def _check_names(paths: list[str]) -> None:
    for path, count in Counter(paths).items():
        if count > 1:
            raise unfit(repr(path), f"{count} columns would be called so; rename them with map")


def _check(name: str, leaf: LeafSpec) -> None:
    if not isinstance(leaf, TensorSpec) or leaf.shape != ():
        raise unfit(
            repr(name),
            f"a field of CSV is a single value, and this is {leaf}; use JSON lines or Parquet, or "
            "make text or several entries of it with map",
        )
    dtype = leaf.dtype
    if not isinstance(dtype, StringType) and (not is_common(dtype) or dtype.kind == "m"):
        raise unfit(repr(name), f"CSV has no {dtype_name(dtype)}; cast it with map")
