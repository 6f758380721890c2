"""PlainOut: chunks as record batches of nothing but numbers, bytes, lists and structs.

Everybody understands those, but they do not tell exactly what the elements were.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from keepset.core.chunk import Chunk
from keepset.core.chunk_spec import check_covered, typed
from keepset.core.column import Column, column_rows
from keepset.core.dtypes import Array, DType, StringType, dtype_name, text
from keepset.core.jagged import Jagged
from keepset.core.ragged import Ragged
from keepset.core.spec import LeafSpec, RaggedTensorSpec, Spec, TensorSpec
from keepset.errors import ElementError
from keepset.exchange.arrow.nesting import Nesting
from keepset.exchange.arrow.outlets import is_common
from keepset.exchange.files.exporting import unfit


class PlainOut:
    """Makes record batches of chunks whose elements have one spec.

    Args:
        spec: The spec of the elements.

    Attributes:
        schema: The schema of the batches: a struct for each nested dict.

    Example:
        >>> out = PlainOut({"x": TensorSpec([2, 2], "int8")})
        >>> out.schema.field("x").type
        FixedSizeListType(fixed_size_list<item: fixed_size_list<item: int8>[2]>[2])
    """

    def __init__(self, spec: Spec) -> None:
        self._nesting = Nesting(spec)
        self._structure, self._names = self._nesting.structure, self._nesting.names
        self._leaves: list[LeafSpec] = self._structure.leaves(spec)
        if not self._leaves:
            raise unfit("", "it has no values, and a table needs columns")
        pairs = zip(self._leaves, self._names, strict=True)
        self._makers: list[Callable[[Column], pa.Array]] = [_maker(*pair) for pair in pairs]
        self.schema = self._batch([make([]) for make in self._makers]).schema

    def batch(self, chunk: Chunk) -> pa.RecordBatch:
        """The record batch of a chunk."""
        if chunk.structure == self._structure:
            chunk = typed(chunk, self._leaves)
        check_covered(
            chunk,
            self._structure,
            self._leaves,
            LeafSpec.is_compatible_with,
            "the table has a column for",
            "convert it with map, or promise what all elements are with output_signature=",
        )
        pairs = zip(self._makers, chunk.columns, strict=True)
        return self._batch([make(column) for make, column in pairs])

    def batches(self, chunks: Iterator[Chunk]) -> Iterator[pa.RecordBatch]:
        """The record batches of many chunks; an error names the element."""
        given = 0
        for chunk in chunks:
            try:
                yield self.batch(chunk)
            except ElementError as error:
                error.at(given)
                raise
            given += len(chunk)

    def _batch(self, arrays: list[pa.Array]) -> pa.RecordBatch:
        return self._nesting.batch(pa.RecordBatch.from_arrays(arrays, self._names))


def _maker(leaf: LeafSpec, name: str) -> Callable[[Column], pa.Array]:
    """What makes arrays of columns of such leaves; an error if there is no way."""
    path = repr(name)
    if not isinstance(leaf, TensorSpec | RaggedTensorSpec):
        raise unfit(path, f"{leaf} has no place in a table; use map, as with x.to_dense()")
    if leaf.shape is None:
        raise unfit(
            path,
            "its number of dimensions varies or is unknown; pass output_signature= to the stage "
            "that makes it",
        )
    if not is_common(leaf.dtype):
        raise unfit(path, f"{dtype_name(leaf.dtype)} has no place in a table; cast it with map")
    if isinstance(leaf, RaggedTensorSpec):
        return partial(_ragged, leaf)
    return partial(_dense, leaf)


def _dense(leaf: TensorSpec, column: Column) -> pa.Array:
    assert leaf.shape is not None
    rank = len(leaf.shape)
    if isinstance(column, np.ndarray):
        shapes, values, rows = np.tile(column.shape[1:], (len(column), 1)), column, len(column)
    elif isinstance(column, Jagged):
        values, rows = column.joined(), len(column)
        inner = np.tile(column.values.shape[1:], (rows, 1)).astype(np.int64)
        shapes = np.concatenate([column.lengths[:, np.newaxis], inner], axis=1)
    else:
        leaves = column_rows(column)
        rows = len(leaves)
        shapes = np.array([np.shape(each) for each in leaves], np.int64)
        values = _joined([np.ravel(_as_array(each)) for each in leaves], leaf.dtype)
    sizes = np.asarray(shapes, np.int64).reshape(rows, rank)
    # How many lists there are, and how long each is, from the outermost level to the innermost.
    counts, lengths = [], []
    above = np.ones(rows, np.int64)
    for level in range(rank):
        counts.append(int(above.sum()))
        lengths.append(sizes[:, level].repeat(above))
        above = above * sizes[:, level]
    items = _items(values.reshape(-1), leaf.dtype)
    for size, count, each in zip(
        reversed(leaf.shape), reversed(counts), reversed(lengths), strict=True
    ):
        items = _fixed(items, size, count) if size is not None and size else _lists(items, each)
    return items


def _ragged(leaf: RaggedTensorSpec, column: Column) -> pa.Array:
    assert leaf.shape is not None
    parts: list[Any] = list(column)
    lengths = [np.fromiter(map(len, parts), np.int64, len(parts))]
    for _ in range(leaf.ragged_rank):
        splits = [np.diff(part.row_splits) for part in parts]
        lengths.append(_joined(splits, np.dtype(np.int64)).astype(np.int64))
        parts = [part.values for part in parts]
    assert not any(isinstance(part, Ragged) for part in parts)
    inner = TensorSpec(leaf.shape[leaf.ragged_rank + 1 :], leaf.dtype)
    items = _dense(inner, np.concatenate(parts) if parts else [])
    for each in reversed(lengths):
        items = _lists(items, each)
    return items


def _items(values: Array, dtype: DType) -> pa.Array:
    if isinstance(dtype, StringType):
        return pa.array(values, pa.large_string() if dtype is text else pa.large_binary())
    return pa.array(values, from_pandas=dtype.kind in "mM")


def _as_array(leaf: Any) -> Array:
    if isinstance(leaf, bytes | str):
        made = np.empty(1, object)
        made[0] = leaf
        return made
    return np.asarray(leaf)


def _joined(parts: list[Array], dtype: DType) -> Array:
    if parts:
        return np.concatenate(parts)
    return np.empty(0, object if isinstance(dtype, StringType) else dtype)


def _fixed(items: pa.Array, size: int, count: int) -> pa.Array:
    return pa.Array.from_buffers(pa.list_(items.type, size), count, [None], children=[items])


def _lists(items: pa.Array, lengths: Array) -> pa.Array:
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return pa.LargeListArray.from_arrays(pa.array(offsets), items)
