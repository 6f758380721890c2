"""BucketBySequenceLength: batches of elements of similar length, padded."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import field
from itertools import pairwise
from typing import Any

import numpy as np

from keepset.core.cursor import Cursor
from keepset.core.node import INFINITE, UNKNOWN, Node, stage
from keepset.core.parameter import parameter, upstream
from keepset.core.random import Randomness
from keepset.core.run import Run
from keepset.core.spec import Spec, structure_and_leaves
from keepset.errors import ElementError, InvalidArgumentError
from keepset.nodes.batch import Batch
from keepset.nodes.group_by_window import GroupByWindow, GroupByWindowCursor
from keepset.nodes.padded_batch import PaddedBatch, shapes_like
from keepset.nodes.rows import Rows


@stage
class BucketBySequenceLength(Node):
    """Batches of elements that belong into one bucket by their length.

    Bucket ``i`` takes ``bucket_boundaries[i - 1] <= length < bucket_boundaries[i]`` and makes
    batches of ``bucket_batch_sizes[i]``. With ``pad_to_bucket_boundary`` dimensions of unknown
    size are padded to one less than the bucket's upper boundary. Where the elements' spec is not
    known without running them, that is the first dimension of each leaf.
    """

    opens_pipelines = True

    makes_batches = True

    parent: Node = upstream()
    element_length_func: Callable[..., Any]
    bucket_boundaries: tuple[int, ...]
    bucket_batch_sizes: tuple[int, ...]
    padded_shapes: Any = None
    padding_values: Any = None
    pad_to_bucket_boundary: bool = False
    no_padding: bool = False
    drop_remainder: bool = False
    wrap: Callable[[Node], Any] = parameter(recipe=False)  # the reader of a recipe has its own
    source: Randomness = field(default_factory=lambda: Randomness(None))

    def __post_init__(self) -> None:
        boundaries, sizes = self.bucket_boundaries, self.bucket_batch_sizes
        if len(sizes) != len(boundaries) + 1:
            raise InvalidArgumentError(
                "bucket_batch_sizes needs one size more than there are bucket_boundaries, but "
                f"there are {len(sizes)} sizes for {len(boundaries)} boundaries"
            )
        if any(size < 1 for size in sizes):
            raise InvalidArgumentError(f"bucket_batch_sizes must be at least 1, not {list(sizes)}")
        if any(a >= b for a, b in pairwise(boundaries)):
            raise InvalidArgumentError(
                f"bucket_boundaries must rise, but they are {list(boundaries)}; sort them"
            )
        if self.pad_to_bucket_boundary and not boundaries:
            raise InvalidArgumentError("pad_to_bucket_boundary needs bucket_boundaries to pad to")
        self._whole()

    def _whole(self) -> Node:
        """The stage that makes one batch of everything, which has the spec of all batches."""
        if self.no_padding:
            return Batch(parent=self.parent, batch_size=1)
        return PaddedBatch(
            parent=self.parent,
            batch_size=1,
            padded_shapes=self.padded_shapes,
            padding_values=self.padding_values,
        )

    @property
    def randomness(self) -> Randomness:
        return self.source

    @property
    def parameters(self) -> dict[str, Any]:
        return {name: value for name, value in super().parameters.items() if name != "source"}

    def cursor(self, run: Run) -> Cursor:
        groups = GroupByWindow(
            parent=self.parent,
            key_func=self._bucket,
            reduce_func=self._batch,
            window_size_func=self.bucket_batch_sizes.__getitem__,
            smallest_window=min(self.bucket_batch_sizes),
            wrap=self.wrap,
        )
        return GroupByWindowCursor(groups, run, run.key(self), self.title)

    def cardinality(self) -> int:
        return INFINITE if self.parent.cardinality() == INFINITE else UNKNOWN

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        structure, leaves = structure_and_leaves(self._whole().infer_spec(spec))
        if self.no_padding and self.parent.known_spec() is None:
            # The sizes of a first element promise nothing about other buckets.
            leaves = [
                leaf if leaf.shape is None else leaf.with_shape((None,) * len(leaf.shape))
                for leaf in leaves
            ]
        return structure.build(
            [
                leaf if leaf.shape is None else leaf.with_shape((None, *leaf.shape[1:]))
                for leaf in leaves
            ]
        )

    def _bucket(self, *element: Any) -> int:
        length = int(self.element_length_func(*element))
        bucket = bisect_right(self.bucket_boundaries, length)
        if self.pad_to_bucket_boundary and bucket == len(self.bucket_boundaries):
            raise ElementError(
                f"an element has length {length}, but with pad_to_bucket_boundary every element "
                f"must be shorter than the last boundary, {self.bucket_boundaries[-1]}"
            )
        return bucket

    def _batch(self, bucket: int, window: Any) -> Any:
        rows: Rows = window.__keepset_node__()
        size = self.bucket_batch_sizes[bucket]
        if self.no_padding:
            batch = Batch(parent=rows, batch_size=size, drop_remainder=self.drop_remainder)
            return self.wrap(batch)
        shapes = self.padded_shapes
        if self.pad_to_bucket_boundary:
            shapes = self._filled_shapes(rows, self.bucket_boundaries[bucket] - 1)
        padded = PaddedBatch(
            parent=rows,
            batch_size=size,
            padded_shapes=shapes,
            padding_values=self.padding_values,
            drop_remainder=self.drop_remainder,
        )
        return self.wrap(padded)

    def _filled_shapes(self, rows: Rows, size: int) -> Any:
        """The padded shapes of one bucket, with ``size`` for what is not known otherwise."""
        structure = rows.chunk.structure
        shapes = shapes_like(structure, self.padded_shapes)
        if rows.promised is not None:
            known = structure_and_leaves(rows.promised[0])[1]
            shapes = [leaf.shape if s is None else s for leaf, s in zip(known, shapes, strict=True)]
        ranks = map(np.ndim, structure.leaves(rows.chunk.rows[0]))
        return structure.build(
            [
                ((size,) + (None,) * (rank - 1) if rank else ())
                if shape is None
                else tuple(size if n is None else n for n in shape)
                for shape, rank in zip(shapes, ranks, strict=True)
            ]
        )


def bucketed(
    parent: Node,
    *,
    element_length_func: Callable[..., Any],
    bucket_boundaries: Sequence[int],
    bucket_batch_sizes: Sequence[int],
    padded_shapes: Any = None,
    padding_values: Any = None,
    pad_to_bucket_boundary: bool = False,
    no_padding: bool = False,
    drop_remainder: bool = False,
    wrap: Callable[[Node], Any],
    name: str | None = None,
) -> Node:
    """Build the stage from sequences of any kind."""
    return BucketBySequenceLength(
        parent=parent,
        element_length_func=element_length_func,
        bucket_boundaries=tuple(map(int, bucket_boundaries)),
        bucket_batch_sizes=tuple(map(int, bucket_batch_sizes)),
        padded_shapes=padded_shapes,
        padding_values=padding_values,
        pad_to_bucket_boundary=pad_to_bucket_boundary,
        no_padding=no_padding,
        drop_remainder=drop_remainder,
        wrap=wrap,
        name=name,
    )
