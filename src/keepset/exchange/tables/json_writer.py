"""JsonLinesWriter: elements as JSON objects, one in each line."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from json.encoder import encode_basestring
from typing import Any, BinaryIO

import numpy as np

from keepset.core.chunk import Chunk
from keepset.core.column import Column, column_rows
from keepset.core.dtypes import Array, dtype_name, is_text
from keepset.core.ragged import Ragged
from keepset.core.spec import Spec
from keepset.core.structure import Structure
from keepset.errors import ElementError
from keepset.exchange.files.exporting import RowWriter, unfit, with_row
from keepset.exchange.tables.csv_writer import NO_TEXT


class JsonLinesWriter(RowWriter):
    """Writes objects: arrays as lists, text as strings, times as ISO 8601 says.

    NaN and NaT become null, which is how they are read again. Items of tuples are entries called
    ``0`` and ``1``, and an element that is a single value is an entry called ``value``.
    """

    def __init__(self, file: BinaryIO, spec: Spec, *, is_compressed: bool = False) -> None:
        # Without a name and a time in it, equal rows make equal files.
        self._packed = gzip.GzipFile("", "wb", fileobj=file, mtime=0) if is_compressed else None
        self._file: Any = self._packed or file
        self._encode = json.JSONEncoder(
            ensure_ascii=False, allow_nan=False, separators=(",", ":")
        ).encode

    def write(self, chunk: Chunk) -> None:
        self._file.write(with_row(self._lines, chunk))

    def _lines(self, chunk: Chunk) -> bytes:
        structure = chunk.structure
        paths = [path or "value" for path in structure.paths()]
        columns = [
            self._texts(column, path) for column, path in zip(chunk.columns, paths, strict=True)
        ]
        form, order = _form(structure, iter(range(len(columns))))
        if structure.is_leaf:
            form = f'{{"value":{form}}}'
        rows = zip(*(columns[place] for place in order), strict=True)
        lines = map(f"{form}\n".__mod__, rows) if order else [f"{form}\n" % ()] * len(chunk)
        return "".join(lines).encode()

    def _texts(self, column: Column, path: str) -> Iterable[str]:
        """The leaves of a column as JSON. Numbers and texts by the many, without the encoder."""
        if isinstance(column, np.ndarray) and column.ndim == 1:
            kind = column.dtype.kind
            if kind in "iu":
                return map(str, column.tolist())
            if kind == "O":
                return map(encode_basestring, self._decoded(column, path))
            if kind == "f" and np.isfinite(column).all():
                return map(repr, column.astype(np.float64).tolist())
        return (self._encoded(value, path) for value in self._values(column, path))

    def _encoded(self, value: Any, path: str) -> str:
        try:
            return self._encode(value)
        except ValueError as error:
            raise ElementError(
                "this cannot be written: JSON has no infinite numbers; replace them with map",
                leaf=path,
            ) from error

    def _values(self, column: Column, path: str) -> list[Any]:
        """The leaves of a column in plain Python."""
        if isinstance(column, np.ndarray):
            return list(self._plain(column, path))
        return [self._leaf(leaf, path) for leaf in column_rows(column)]

    def _leaf(self, leaf: Any, path: str) -> Any:
        if isinstance(leaf, Ragged):
            return [self._leaf(row, path) for row in leaf]
        if isinstance(leaf, bytes):
            return self._text(leaf, path)
        if isinstance(leaf, str):
            return leaf
        if isinstance(leaf, np.ndarray | np.generic):
            return self._plain(np.asarray(leaf), path)
        raise unfit(repr(path), f"JSON has no {type(leaf).__name__}; make an array of it with map")

    def _plain(self, array: Array, path: str) -> Any:
        """Nested lists of what JSON has, or a single value."""
        kind = array.dtype.kind
        if kind in "biu":
            return array.tolist()
        values = np.empty(array.shape, object)
        if kind == "O":
            values.reshape(-1)[:] = self._decoded(array, path)
        elif kind == "M":
            values[...] = np.datetime_as_string(array).astype(object)
            values[np.isnat(array)] = None
        elif kind == "f" or array.dtype.name.startswith(("bfloat", "float")):
            numbers = array.astype(np.float64)
            if not np.isnan(numbers).any():
                return numbers.tolist()
            values[...] = numbers.astype(object)
            values[np.isnan(numbers)] = None
        else:
            raise unfit(repr(path), f"JSON has no {dtype_name(array.dtype)}; cast it with map")
        return values.tolist()

    def _decoded(self, array: Array, path: str) -> list[str]:
        items = array.ravel().tolist()
        return items if is_text(array) else [self._text(item, path) for item in items]

    def _text(self, value: bytes, path: str) -> str:
        try:
            return value.decode()
        except UnicodeDecodeError as error:
            raise ElementError(
                f"this is no text in UTF-8: {value!r:.60}; {NO_TEXT}", leaf=path
            ) from error

    def finish(self) -> None:
        if self._packed is not None:
            self._packed.close()


def _form(structure: Structure, places: Iterator[int]) -> tuple[str, list[int]]:
    """A line with a gap for each leaf, and which columns fill the gaps; all but lists are objects.

    Entries of a dict are in the order in which it was written.
    """
    if structure.is_leaf:
        return "%s", [next(places)]
    if structure.kind == "none":
        return "null", []
    keys = list(structure.keys or range(len(structure.children)))
    for name, count in Counter(map(str, keys)).items():
        if count > 1:  # such as 1 and "1"
            raise unfit(repr(name), f"{count} entries would be called so; rename them with map")
    parts = {key: _form(child, places) for key, child in zip(keys, structure.children, strict=True)}
    order = structure.record if isinstance(structure.record, tuple) else keys
    entries = [f"{encode_basestring(str(key)).replace('%', '%%')}:{parts[key][0]}" for key in order]
    return f"{{{','.join(entries)}}}", [place for key in order for place in parts[key][1]]
