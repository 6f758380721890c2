"""ColumnsFile: a file of several columns that all have the same number of rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from keepset.core.chunk import Chunk, chunk_of_columns
from keepset.core.dtypes import Array
from keepset.core.node import Node, stage
from keepset.core.spec import Spec
from keepset.core.structure import structure_of
from keepset.exchange.arrays.column_paths import is_within
from keepset.exchange.arrays.column_source import ColumnSource, rows_at_once
from keepset.exchange.files.file_rows import FileRows
from keepset.exchange.files.row_file import RowFile


@stage
class ColumnFiles(FileRows):
    """The rows of files of columns, which may be nested: ``features/x`` is a column."""

    knows_length = True
    is_addressable = True

    def project(self, keys: tuple[Any, ...]) -> Node | None:
        known = self.known_spec()
        if known is None or not isinstance(known[0], dict) or not set(keys) <= known[0].keys():
            return None
        # Of a column that was chosen, nothing else of its group is wanted.
        columns = known[0] if self.columns is None else self.columns
        kept = [each for each in columns if any(is_within(each, key) for key in keys)]
        return self.replaced(columns=tuple(kept))


class ColumnsFile(RowFile):
    """The rows of columns, nested as the elements are.

    Args:
        sources: Nested dicts of columns, or one alone.
    """

    def __init__(self, sources: Any) -> None:
        self._structure = structure_of(sources)
        self._sources: list[ColumnSource] = self._structure.leaves(sources)
        self.spec: Spec = self._structure.build([source.spec for source in self._sources])
        self._rows = self.length = self._sources[0].length
        self._step = rows_at_once(sum(source.row_bytes for source in self._sources))
        obstacles = (source.obstacle for source in self._sources)
        self.obstacle = next((each for each in obstacles if each is not None), None)

    def chunks(self, start: int) -> Iterator[Chunk]:
        while start < self._rows:
            ends = [source.stop(start) for source in self._sources]
            stop = min(start + self._step, self._rows, *ends)
            columns = [source.read(start, stop) for source in self._sources]
            yield chunk_of_columns(self._structure.build(columns), stop - start)
            start = stop

    def gather(self, rows: Array) -> Chunk:
        columns = [source.gather(rows) for source in self._sources]
        return chunk_of_columns(self._structure.build(columns), len(rows))

    def close(self) -> None:
        for source in self._sources:
            source.close()
