"""PandasOut: elements as a DataFrame of pandas, a column for each leaf."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from keepset.core.chunk import Chunk, concat
from keepset.core.chunk_spec import typed
from keepset.core.column import Column, column_rows
from keepset.core.dtypes import StringType, dtype_name, is_text, text
from keepset.core.jagged import Jagged
from keepset.core.ragged import Ragged
from keepset.core.spec import LeafSpec, RaggedTensorSpec, Spec, TensorSpec
from keepset.core.structure import Structure
from keepset.exchange.arrow.column_names import column_names
from keepset.exchange.arrow.outlets import is_common
from keepset.exchange.files.exporting import unfit
from keepset.format.layout import Layout


class PandasOut:
    """Makes a DataFrame of elements of ``spec``; bytes that are all UTF-8 may be text.

    Nothing in it is shared with anybody else: it may be changed.
    """

    def __init__(self, spec: Spec, as_text: bool) -> None:
        layout = Layout(spec)
        self._names, self._leaves, self._text = column_names(layout), layout.leaves, as_text
        self._order = list(_places(layout.structure, 0))
        if not self._names:
            raise unfit("", "it has no values, and a table needs columns")
        for name, leaf in zip(self._names, self._leaves, strict=True):
            _check(leaf, repr(name))

    def frame(self, chunks: Sequence[Chunk]) -> Any:
        """The DataFrame of all elements."""
        import pandas

        joined = concat(chunks)
        columns: list[Column] = [[] for _ in self._leaves]
        if len(joined):
            columns = typed(joined, self._leaves).columns
        made = {
            self._names[place]: self._series(columns[place], self._leaves[place])
            for place in self._order
        }
        return pandas.DataFrame(made)

    def _series(self, column: Column, leaf: LeafSpec) -> Any:
        import pandas

        if isinstance(leaf, TensorSpec) and leaf.shape == ():
            if not isinstance(leaf.dtype, StringType):
                return pandas.Series(np.array(column, leaf.dtype))
            words = self._told(column_rows(column))
            told = self._text or leaf.dtype is text
            are_texts = told and not any(type(word) is bytes for word in words)
            return pandas.Series(words, dtype="str" if are_texts else object)
        cells = np.empty(len(column), object)
        # One by one, because NumPy would look into arrays of one shape.
        for i, cell in enumerate(self._told(_cells(column))):
            cells[i] = cell
        return pandas.Series(cells)

    def _told(self, cells: list[Any]) -> list[Any]:
        """The same, with text in place of bytes, if that is wanted and all are text."""
        if not self._text:
            return cells
        try:
            return [_decoded(cell) for cell in cells]
        except UnicodeDecodeError:
            return cells


def _check(leaf: LeafSpec, path: str) -> None:
    if not isinstance(leaf, TensorSpec | RaggedTensorSpec):
        raise unfit(path, f"{leaf} has no place in a table; use map, as with x.to_dense()")
    is_number = not isinstance(leaf.dtype, StringType) and leaf.shape == ()
    if is_number and not is_common(leaf.dtype) and not _is_complex(leaf):
        raise unfit(path, f"pandas has no {dtype_name(leaf.dtype)}; cast it with map")


def _is_complex(leaf: LeafSpec) -> bool:
    return isinstance(leaf.dtype, np.dtype) and leaf.dtype.kind == "c"


def _cells(column: Column) -> list[Any]:
    """The leaves, in memory of their own."""
    if isinstance(column, np.ndarray | Jagged):
        return column_rows(column.copy())
    return [each.to_list() if isinstance(each, Ragged) else each.copy() for each in column]


def _decoded(cell: Any) -> Any:
    if isinstance(cell, bytes):
        return cell.decode()
    if isinstance(cell, list):
        return [_decoded(item) for item in cell]
    if isinstance(cell, np.ndarray) and cell.dtype == object and not is_text(cell):
        made = np.empty(cell.shape, object)
        made.reshape(-1)[:] = [item.decode() for item in cell.reshape(-1).tolist()]
        return made
    return cell


def _places(structure: Structure, first: int) -> Iterator[int]:
    """The places of the leaves, in the order in which the entries of dicts were written."""
    if structure.is_leaf:
        yield first
        return
    starts: dict[Any, tuple[int, Structure]] = {}
    for i, child in enumerate(structure.children):
        starts[structure.keys[i] if structure.keys else i] = first, child
        first += child.num_leaves
    order = structure.record if isinstance(structure.record, tuple) else starts
    for key in order:
        start, child = starts[key]
        yield from _places(child, start)
