"""ArrowRows: how the rows of an Arrow table become elements, a batch at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from keepset.core.chunk import Chunk
from keepset.core.column import Column
from keepset.core.dtypes import Array, DType, as_dtype, text
from keepset.core.spec import Spec
from keepset.core.structure import structure_of
from keepset.errors import InvalidArgumentError
from keepset.exchange.arrow.column import ArrowColumn
from keepset.exchange.arrow.leaves import ArrowLeaf, leaves_of_field
from keepset.exchange.arrow.own import own_columns
from keepset.exchange.arrow.values import array_of
from keepset.exchange.files.row_file import selected_columns


class ArrowRows:
    """Makes chunks of record batches that have one schema.

    Numbers stay where they are and are read-only; only what Arrow keeps in another way (bools,
    strings, dates, missing values) is copied. What Keepset wrote comes back exactly as it was.

    Args:
        schema: The schema of the table.
        columns: The names of the columns to read; all of them by default.
        missing: What stands for missing values, for each column that has some. Floats become NaN
            and times NaT without it.
        types: The dtypes of columns that are to be cast.
        where: What to call the table in messages.
        is_str: Says of an Arrow type whether its values become ``str``; otherwise none do, but
            those that Keepset wrote as such.

    Attributes:
        spec: The spec of a row.
        names: The columns that a batch must have, in the order of the schema.

    Example:
        >>> table = pa.table({"x": [1, 2], "tags": [["a"], []]})
        >>> rows = ArrowRows(table.schema)
        >>> rows.chunk(table).rows[0]
        {'x': np.int64(1), 'tags': array([b'a'], dtype=object)}
    """

    def __init__(
        self,
        schema: pa.Schema,
        *,
        columns: Sequence[str] | None = None,
        missing: Mapping[str, Any] | None = None,
        types: Mapping[str, Any] | None = None,
        where: str = "",
        is_str: Callable[[pa.DataType], bool] | None = None,
    ) -> None:
        self._where = where or "the table"
        wanted = None if columns is None else tuple(columns)
        _check_unique([(name,) for name in schema.names], self._where)
        # Whoever asks for other types than those that were kept sees columns, as everybody does.
        self._own = None if types else own_columns(schema, wanted, self._where, is_str)
        if self._own is not None:
            self.spec: Spec = self._own.spec
            self.names: list[str] = self._own.names
            return
        self.names = selected_columns(schema.names, wanted, self._where)
        leaves = {
            name: list(leaves_of_field(name, schema.field(name).type)) for name in schema.names
        }
        _check_unique([leaf.path for each in leaves.values() for leaf in each], self._where)
        given = _dtypes(types, leaves, self._where)
        if is_str is not None:
            every = [leaf for each in leaves.values() for leaf in each]
            texts = {leaf.name: text for leaf in every if is_str(leaf.type)}
            given = texts | given
        fill = dict(missing or {})
        _check_missing(fill, leaves, self._where)
        self._columns = [
            ArrowColumn(leaf, given.get(leaf.name), fill, self._where)
            for name in self.names
            for leaf in leaves[name]
        ]
        self.spec = _nested(self.names, self._columns, [column.spec for column in self._columns])
        self._structure = structure_of(self.spec)
        numbers = _nested(self.names, self._columns, range(len(self._columns)))
        self._order: list[int] = self._structure.leaves(numbers)

    def chunk(self, batch: pa.RecordBatch | pa.Table, row: int | Array = 0) -> Chunk:
        """The elements of a batch, or of a slice of a table.

        ``row`` is the number of its first row, or those of all of them, for messages.
        """
        if self._own is not None:
            return self._own.chunk(batch, row)
        arrays = {name: array_of(batch, name) for name in self.names}
        columns: list[Column] = [
            column.read(arrays[column.leaf.path[0]], row) for column in self._columns
        ]
        ordered = [columns[number] for number in self._order]
        return Chunk.from_columns(self._structure, ordered, batch.num_rows)


def _check_unique(paths: list[tuple[str, ...]], where: str) -> None:
    twice = next((path for path, count in Counter(paths).items() if count > 1), None)
    if twice is not None:
        raise InvalidArgumentError(
            f"{where} has several columns named {'.'.join(twice)!r}, which cannot all be entries "
            "of a dict; rename them"
        )


def _dtypes(
    types: Mapping[str, Any] | None, leaves: Mapping[str, list[ArrowLeaf]], where: str
) -> dict[str, DType]:
    names = {leaf.name: None for each in leaves.values() for leaf in each}
    return {_known(name, names, "types", where): as_dtype(t) for name, t in (types or {}).items()}


def _check_missing(
    missing: Mapping[str, Any], leaves: Mapping[str, list[ArrowLeaf]], where: str
) -> None:
    keys: dict[str, None] = {}
    for each in leaves.values():
        for leaf in each:
            keys |= dict.fromkeys(step.key for step in leaf.steps if step.kind == "list")
            keys[leaf.key] = None
    for key in missing:
        _known(key, keys, "missing", where)


def _known(name: str, names: Mapping[str, None], argument: str, where: str) -> str:
    if name not in names:
        raise InvalidArgumentError(
            f"{argument}= names {name!r}, which {where} does not have; there are "
            f"{', '.join(map(repr, names))}"
        )
    return name


def _nested(names: list[str], columns: list[ArrowColumn], values: Sequence[Any]) -> dict[str, Any]:
    """One value for each leaf, nested as the elements are."""
    nested: dict[str, Any] = {name: {} for name in names}
    for column, value in zip(columns, values, strict=True):
        place = nested
        *outer, last = column.leaf.path
        for key in outer:
            place = place.setdefault(key, {})
        place[last] = value
    return nested
