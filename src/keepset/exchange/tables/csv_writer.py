"""CsvWriter: elements as lines of a table, for those that are made of single values."""

from __future__ import annotations

import gzip
import re
from collections import Counter
from typing import Any, BinaryIO, Final

import pyarrow as pa
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
            self._write(pa.RecordBatch.from_pylist([], self._out.schema), True)

    def write(self, chunk: Chunk) -> None:
        for batch in self._out.batches(chunk):
            self._write(batch, False)

    def _write(self, batch: pa.RecordBatch, has_header: bool) -> None:
        options = pa_csv.WriteOptions(include_header=has_header, delimiter=self._delimiter)
        sink = pa.BufferOutputStream()
        pa_csv.write_csv(_plain(batch), sink, options)
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


def _plain(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The same rows in types that can be written as text."""
    columns = {
        field.name: column.cast(pa.float32()) if pa.types.is_float16(field.type) else column
        for field, column in zip(batch.schema, batch.columns, strict=True)
    }
    return pa.record_batch(columns)


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
