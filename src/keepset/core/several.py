"""Several: chunks one behind the other that are joined only if somebody needs them to be."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, chain
from typing import Any

from keepset.core.chunk import Chunk, leaves_of, left_of
from keepset.core.column import Column, column_concat
from keepset.core.dtypes import Array
from keepset.core.structure import Structure


class Several(Chunk):
    """Chunks of one structure, all with columns, as one chunk.

    To come to the next chunk costs more than many elements do, so whoever takes elements one by
    one should get many chunks at once; but they should come out as the views that they are.
    """

    __slots__ = ("_own_bytes", "parts")

    def __init__(self, parts: Sequence[Chunk], own_bytes: int | None = None) -> None:
        super().__init__(sum(map(len, parts)), None, parts[0].structure, None)
        self.parts, self._own_bytes = parts, own_bytes

    @property
    def has_columns(self) -> bool:
        return True

    @property
    def rows(self) -> list[Any]:
        if self._rows is None:
            self._rows = [row for part in self.parts for row in part.rows]
        return self._rows

    def iterate(self, shared: bool = False) -> tuple[Iterator[Any], Any]:
        columns = list(zip(*(part.columns for part in self.parts), strict=True))
        if self._rows is not None or not columns or self.structure.has_records:
            return super().iterate(shared)
        leaves = [list(map(leaves_of, column)) for column in columns]
        whole = [chain.from_iterable(parts) for parts in leaves]
        make = self.structure.shared_rows if shared else self.structure.rows
        return iter(make(whole, self._length)), _Left(leaves[0])

    @property
    def pieces(self) -> Sequence[Chunk]:
        return self.parts

    @property
    def columns(self) -> list[Column]:
        if self._columns is None:
            columns = zip(*(part.columns for part in self.parts), strict=True)
            self._columns = [column_concat(column) for column in columns]
        return self._columns

    def __getitem__(self, rows: slice) -> Chunk:
        start, stop, step = rows.indices(self._length)
        if step != 1:
            return self._joined()[rows]
        if stop - start == self._length:
            return self
        parts = list(self._between(start, stop))
        if len(parts) > 1:
            return Several(parts, self._own_bytes)
        return parts[0] if parts else self.parts[0][:0]

    def _between(self, start: int, stop: int) -> Iterator[Chunk]:
        ends = list(accumulate(map(len, self.parts), initial=0))
        place = bisect_right(ends, start) - 1
        while start < stop:
            end = min(stop, ends[place + 1])
            yield self.parts[place][start - ends[place] : end - ends[place]]
            start, place = end, place + 1

    def select(self, keys: Sequence[Any]) -> Chunk:
        return Several([part.select(keys) for part in self.parts], self._own_bytes)

    def read_only(self) -> Chunk:
        return Several([part.read_only() for part in self.parts], self._own_bytes)

    def apart(self) -> Chunk:
        return Several([part.apart() for part in self.parts], self._own_bytes)

    def take(self, indices: Array) -> Chunk:
        return self._joined().take(indices)

    def _joined(self) -> Chunk:
        return Chunk.from_columns(self.structure, self.columns, self._length)

    @property
    def structure(self) -> Structure:
        return self.parts[0].structure

    @property
    def size_bytes(self) -> int:
        return sum(part.size_bytes for part in self.parts)

    @property
    def own_bytes(self) -> int:
        if self._own_bytes is not None:
            return self._own_bytes
        return sum(part.own_bytes for part in self.parts)


class _Left:
    """Knows how many items several iterators have yet to give."""

    __slots__ = ("_iterators",)

    def __init__(self, iterators: list[Any]) -> None:
        self._iterators = iterators

    def __length_hint__(self) -> int:
        return sum(map(left_of, self._iterators))
