"""RaggedBatch: put elements of unequal shapes together without padding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from functools import partial
from typing import Any

import numpy as np

from keepset.core.cached import cached_property
from keepset.core.chunk import Chunk
from keepset.core.column import Column, column_batches, stack_leaves
from keepset.core.dtypes import Array, dtype_of, join_arrays, mixes_text
from keepset.core.jagged import Jagged
from keepset.core.node import Node, must_run, stage
from keepset.core.ragged import Ragged
from keepset.core.spec import (
    LeafSpec,
    RaggedTensorSpec,
    Spec,
    TensorSpec,
    mixing_advice,
    spec_of,
    structure_and_leaves,
)
from keepset.core.untyped import typed_alike
from keepset.errors import ElementError, InvalidArgumentError
from keepset.nodes.batch import Batch


@stage
class RaggedBatch(Batch):
    """Groups of ``batch_size`` elements whose unequal dimensions become ragged.

    As in TensorFlow, a leaf is ragged down to its last dimension of unknown size, and a leaf whose
    shape is fully known stays an array. Where the spec of the elements is not known without
    running them (after a ``map`` without ``output_signature``), every dimension counts as unknown:
    a leaf of rank r becomes a Ragged of ragged rank r. Scalars become plain arrays in any case.
    """

    row_splits_dtype: np.dtype[Any] = field(default=np.dtype(np.int64))

    def __post_init__(self) -> None:
        super().__post_init__()
        splits = np.dtype(self.row_splits_dtype)
        if splits not in (np.dtype(np.int32), np.dtype(np.int64)):
            raise InvalidArgumentError(
                f"row_splits_dtype must be int32 or int64, not {self.row_splits_dtype}"
            )
        object.__setattr__(self, "row_splits_dtype", splits)

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        structure, leaves = structure_and_leaves(spec(self.parent))
        ranks = self._ragged_ranks(len(leaves))
        batched = [self._batched(leaf, rank) for leaf, rank in zip(leaves, ranks, strict=True)]
        return structure.build(batched)

    def _batched(self, leaf: LeafSpec, ragged_rank: int | None) -> LeafSpec:
        size = self.batch_size if self.drop_remainder else None
        if not isinstance(leaf, TensorSpec) or leaf.shape == () or ragged_rank == 0:
            return leaf.batched(size)
        if leaf.shape is None:
            must_run()  # only an element knows the rank
        assert leaf.shape is not None
        shape, rank = leaf.shape, ragged_rank
        if rank is None:
            shape, rank = (None,) * len(shape), len(shape)
        return RaggedTensorSpec((size, *shape), leaf.dtype, rank, self.row_splits_dtype)

    def _ragged_ranks(self, leaves: int) -> list[int | None]:
        """For each leaf how many dimensions become ragged; None where its rank decides."""
        return [None] * leaves if self._known_ranks is None else self._known_ranks

    @cached_property
    def _known_ranks(self) -> list[int | None] | None:
        known = self.parent.known_spec()
        if known is None:
            return None
        return [
            None if leaf.shape is None else _last_unknown(leaf.shape) + 1
            for leaf in structure_and_leaves(known[0])[1]
        ]

    def group(self, chunk: Chunk) -> Chunk:
        size = min(self.batch_size, len(chunk))
        ranks = self._ragged_ranks(len(chunk.columns))
        columns = chunk.structure.by_leaf(partial(self._column, size), chunk.columns, ranks)
        return Chunk.from_columns(chunk.structure, columns, len(chunk) // size)

    def _column(self, size: int, column: Column, rank: int | None) -> Column:
        if rank == 0 or (isinstance(column, np.ndarray) and column.ndim == 1):
            return column_batches(column, size, self.title)
        if isinstance(column, Jagged) and rank in (1, None) and column.values.ndim == 1:
            return self._cut(column, size)
        starts = range(0, len(column), size)
        return [self._join(list(column[i : i + size]), rank, i) for i in starts]

    def _cut(self, column: Jagged, size: int) -> list[Any]:
        """Batches of lists that share one array of values, as views of it where they are packed."""
        if not column.is_packed:
            column = column.copy()
        starts = column.starts.reshape(-1, size)
        stops = column.stops[size - 1 :: size]
        splits = np.empty((len(starts), size + 1), self.row_splits_dtype)
        splits[:, :-1] = starts
        splits[:, -1] = stops
        splits -= splits[:, :1].copy()
        values, trusted = column.values, Ragged.trusted
        bounds = zip(starts[:, 0].tolist(), stops.tolist(), splits, strict=True)
        return [trusted(values[start:stop], rows) for start, stop, rows in bounds]

    def _join(self, leaves: list[Any], ragged_rank: int | None, row: int) -> Any:
        if not all(isinstance(leaf, np.ndarray) for leaf in leaves):
            return stack_leaves(leaves, self.title, row)
        leaves = typed_alike(leaves)
        first = leaves[0]
        if first.ndim == 1 and ragged_rank in (1, None):
            joined = self._join_lists(leaves)
            if joined is not None:
                return joined
        rank = first.ndim if ragged_rank is None else ragged_rank
        shapes = np.array([leaf.shape for leaf in leaves if leaf.ndim == first.ndim])
        if (
            len(shapes) < len(leaves)
            or any(leaf.dtype != first.dtype for leaf in leaves)
            or mixes_text(leaves)
            or (shapes[:, rank:] != shapes[0, rank:]).any()
        ):
            raise self._misfit(leaves, rank, row)
        return _ragged(leaves, shapes, rank, self.row_splits_dtype)

    def _misfit(self, leaves: list[Array], rank: int, row: int) -> ElementError:
        """The error for the first array that cannot be in one batch with the first of them."""
        one = leaves[0]
        odd = next(
            i
            for i, leaf in enumerate(leaves)
            if dtype_of(leaf) != dtype_of(one)
            or leaf.ndim != one.ndim
            or leaf.shape[rank:] != one.shape[rank:]
        )
        advice = mixing_advice(spec_of(one), spec_of(leaves[odd])) or "bring them to one with map"
        return ElementError(
            f"{self.title} needs elements of one dtype and rank, and of one size in the dimensions "
            f"that are not ragged, but this is {spec_of(leaves[odd])} and the first of its batch "
            f"{spec_of(one)}; {advice}",
            row=row + odd,
        )

    def _join_lists(self, leaves: list[Array]) -> Ragged | None:
        """As ``_join``, several times as fast, for lists of one dtype; None for anything else."""
        dtype = leaves[0].dtype
        if any(leaf.ndim != 1 or leaf.dtype != dtype for leaf in leaves) or mixes_text(leaves):
            return None
        splits = np.zeros(len(leaves) + 1, self.row_splits_dtype)
        np.cumsum(np.fromiter(map(len, leaves), np.int64, len(leaves)), out=splits[1:])
        return Ragged(join_arrays(leaves), splits)


def _last_unknown(shape: tuple[int | None, ...]) -> int:
    return max((i for i, size in enumerate(shape) if size is None), default=-1)


def _ragged(leaves: list[Array], shapes: Array, rank: int, splits_dtype: np.dtype[Any]) -> Ragged:
    """Join arrays along a new first dimension, with ``rank`` ragged dimensions behind it."""
    counts = shapes[:, :rank].prod(axis=1).tolist()
    joined: Any = join_arrays(
        [leaf.reshape(n, *leaf.shape[rank:]) for leaf, n in zip(leaves, counts, strict=True)]
    )
    for depth in reversed(range(rank)):
        # All rows at one depth of one element have one length.
        rows = shapes[:, :depth].prod(axis=1)
        splits = np.zeros(int(rows.sum()) + 1, splits_dtype)
        np.cumsum(np.repeat(shapes[:, depth], rows), out=splits[1:])
        joined = Ragged(joined, splits)
    assert isinstance(joined, Ragged)
    return joined
