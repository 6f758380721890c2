"""GroupedRows: a file whose rows lie in groups, each of which is decoded as a whole."""

from __future__ import annotations

from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from keepset.core.chunk import Chunk
from keepset.core.dtypes import Array
from keepset.core.gathering import gather_from
from keepset.core.spec import Spec
from keepset.exchange.arrow.rows import ArrowRows
from keepset.exchange.arrow.source import arrow_damage
from keepset.exchange.files.row_file import Place, RowFile

# Of groups that were decoded for their single rows; the last one stays, whatever its size.
_CACHE_BYTES: Final = 256 << 20


class GroupedRows(RowFile):
    """Gives rows by position, out of groups of which those used last stay in memory.

    Attributes:
        starts: Before which row each group begins, and the number of all rows.
    """

    def __init__(self, place: Place, rows: ArrowRows, counts: Sequence[int]) -> None:
        self.place, self.rows = place, rows
        self.spec: Spec = rows.spec
        self.starts: Array = np.cumsum([0, *counts])
        self.length = int(self.starts[-1])
        self._groups: OrderedDict[int, pa.Table] = OrderedDict()

    @abstractmethod
    def read_group(self, number: int) -> pa.Table:
        """Decode a group; what Arrow raises is taken care of."""

    def group_of(self, row: int) -> int:
        """The group that has a row; behind the last one, their number."""
        return int(np.searchsorted(self.starts, row, side="right")) - 1

    def gather(self, rows: Array) -> Chunk:
        return gather_from(self.starts, rows, self._some)

    def _some(self, number: int, rows: Array) -> Chunk:
        table = self._group(number)
        wanted = rows - self.starts[number]
        with arrow_damage(self.place):
            first = int(wanted[0])
            if (np.diff(wanted) == 1).all():
                some = table.slice(first, len(wanted))
            else:
                some = table.take(pa.array(wanted))
        return self.rows.chunk(some, rows)

    def _group(self, number: int) -> pa.Table:
        """A group as it was decoded, perhaps some time ago."""
        table = self._groups.pop(number, None)
        if table is None:
            with arrow_damage(self.place):
                table = self.read_group(number)
            if table.num_rows != self.starts[number + 1] - self.starts[number]:
                raise self.place.damaged("there are not as many rows as it says")
            held = sum(each.nbytes for each in self._groups.values()) + table.nbytes
            while self._groups and held > _CACHE_BYTES:
                held -= self._groups.popitem(last=False)[1].nbytes
        self._groups[number] = table
        return table

    def close(self) -> None:
        self._groups.clear()
