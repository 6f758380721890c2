"""FromArrow: the rows of an Arrow table in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pyarrow as pa

from keepset.core.cached import cached_property
from keepset.core.chunk import Chunk
from keepset.core.cursor import Cursor, GatherCursor
from keepset.core.dtypes import Array
from keepset.core.gathering import gather_from
from keepset.core.node import Node, stage
from keepset.core.run import Run
from keepset.core.spec import Spec
from keepset.exchange.arrow.rows import ArrowRows
from keepset.exchange.huggingface.rows import HfRows
from keepset.exchange.memory.held_table import HeldTable

_WHERE: Final = "the table"


@stage
class FromArrow(Node):
    """Element ``i`` is row ``i``. Numbers stay where they are.

    Attributes:
        table: The table.
        columns: The names of those that are wanted, if not all are.
        missing: What stands for missing values, by column.
        types: The dtypes of columns that are to be cast.
        features: What Hugging Face says of columns beyond their types, if they are such.
        class_names: What the labels stand for, if they are numbers of names.
    """

    table: HeldTable
    columns: tuple[str, ...] | None = None
    missing: Any = None
    types: Any = None
    features: Any = None
    class_names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        # Only what is read counts.
        object.__setattr__(self, "table", self.table.only(self._rows.names))

    def cursor(self, run: Run) -> Cursor:
        return GatherCursor(self.rows_between, self.cardinality())

    def cardinality(self) -> int:
        return int(self.table.table.num_rows)

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        return self._rows.spec

    def project(self, keys: tuple[Any, ...]) -> Node | None:
        if not isinstance(self._rows.spec, dict) or not set(keys) <= self._rows.spec.keys():
            return None
        return self.replaced(columns=tuple(key for key in self._rows.spec if key in keys))

    def obstacle(self) -> str | None:
        return None

    def rows_between(self, start: int, stop: int) -> Chunk:
        """Elements from ``start`` on up to ``stop``, or up to where a piece of the table ends."""
        number = self._piece_of(start)
        first = int(self._starts[number])
        piece = self._pieces[number].slice(start - first, stop - start)
        return self._rows.chunk(piece, start)

    def gather(self, indices: Array, run: Run) -> Chunk:
        return gather_from(self._starts, indices, self._some)

    def _some(self, number: int, indices: Array) -> Chunk:
        piece, wanted = self._pieces[number], indices - self._starts[number]
        if (np.diff(wanted) == 1).all():
            return self._rows.chunk(piece.slice(int(wanted[0]), len(wanted)), indices)
        try:
            some = piece.take(pa.array(wanted))
        except pa.ArrowNotImplementedError:
            # Arrow cannot choose among values of some types, such as views of texts.
            return self._rows.chunk(piece, int(self._starts[number])).take(wanted)
        return self._rows.chunk(some, indices)

    def _piece_of(self, row: int) -> int:
        return int(np.searchsorted(self._starts, row, side="right")) - 1

    @cached_property
    def _rows(self) -> ArrowRows | HfRows:
        given: dict[str, Any] = {
            "columns": self.columns,
            "missing": self.missing,
            "types": self.types,
            "where": _WHERE,
        }
        if self.features is not None:
            return HfRows(self.table.table.schema, self.features, **given)
        return ArrowRows(self.table.table.schema, **given)

    @cached_property
    def _pieces(self) -> list[pa.RecordBatch]:
        """The table as batches, all columns of which end at the same row."""
        batches: list[pa.RecordBatch] = self.table.table.select(self._rows.names).to_batches()
        return batches

    @cached_property
    def _starts(self) -> Array:
        """Before which row each piece begins, and the number of all rows."""
        return np.cumsum([0, *(piece.num_rows for piece in self._pieces)])
