"""Stages that make groups of elements: nested data sets, windows and batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from keepset import nodes
from keepset.dataset.arguments import function_for, parallelism_for, whole_number
from keepset.dataset.base import BaseDataset
from keepset.nodes.autotune import AUTOTUNE


class GroupStages(BaseDataset):
    """Methods that put elements together and take them apart."""

    __slots__ = ()

    def flat_map(self, map_func: Callable[..., BaseDataset], name: str | None = None) -> Self:
        """Make a data set of each element, and put these one after another.

        Example:
            >>> [int(x) for x in Dataset.range(4).flat_map(lambda n: Dataset.range(n))]
            [0, 0, 1, 0, 1, 2]
        """
        return self._then(
            nodes.FlatMap(parent=self._node, function=function_for(map_func, "flat_map"), name=name)
        )

    def interleave(
        self,
        map_func: Callable[..., BaseDataset],
        cycle_length: int | None = None,
        block_length: int | None = None,
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
        name: str | None = None,
        *,
        executor: str = "thread",
    ) -> Self:
        """Make a data set of each element, and take a few elements from several of them in turn.

        With ``num_parallel_calls`` they are read ahead on threads, or with ``executor="process"``
        in worker processes; the order stays the same.

        Without ``cycle_length``, as many take turns as are read in parallel. If that is not said
        either, one for each core does, so that the order depends on the machine.

        Example:
            >>> ds = Dataset.range(4).interleave(
            ...     lambda x: Dataset.from_tensors(x).repeat(3), cycle_length=2, block_length=2
            ... )
            >>> [int(x) for x in ds]
            [0, 0, 1, 1, 0, 1, 2, 2, 3, 3, 2, 3]
        """
        parallelism = parallelism_for(num_parallel_calls, deterministic, executor)
        return self._then(
            nodes.Interleave(
                parent=self._node,
                function=function_for(map_func, "interleave"),
                cycle_length=_cycle_length(cycle_length, parallelism),
                block_length=1 if block_length is None else block_length,
                parallelism=parallelism,
                name=name,
            )
        )

    def window(
        self,
        size: int,
        shift: int | None = None,
        stride: int = 1,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Self:
        """Data sets of ``size`` neighbouring elements each.

        Example:
            >>> for window in Dataset.range(5).window(3, shift=2):
            ...     print([int(x) for x in window])
            [0, 1, 2]
            [2, 3, 4]
            [4]
        """
        return self._then(
            nodes.Window(
                parent=self._node,
                size=size,
                shift=size if shift is None else shift,
                stride=stride,
                drop_remainder=drop_remainder,
                wrap=type(self),
                name=name,
            )
        )

    def group_by_window(
        self,
        key_func: Callable[..., Any],
        reduce_func: Callable[[Any, Self], BaseDataset],
        window_size: int | None = None,
        window_size_func: Callable[[Any], int] | None = None,
        name: str | None = None,
    ) -> Self:
        """Collect elements of equal key, and hand every full group to ``reduce_func``.

        Example:
            >>> ds = Dataset.range(7).group_by_window(
            ...     lambda x: x % 2, lambda key, group: group.batch(2), window_size=2
            ... )
            >>> [batch.tolist() for batch in ds]
            [[0, 2], [1, 3], [4, 6], [5]]
        """
        return self._then(
            nodes.GroupByWindow(
                parent=self._node,
                key_func=function_for(key_func, "group_by_window"),
                reduce_func=function_for(reduce_func, "group_by_window"),
                window_size=window_size,
                window_size_func=window_size_func,
                wrap=type(self),
                name=name,
            )
        )

    def bucket_by_sequence_length(
        self,
        element_length_func: Callable[..., Any],
        bucket_boundaries: Sequence[int],
        bucket_batch_sizes: Sequence[int],
        padded_shapes: Any = None,
        padding_values: Any = None,
        pad_to_bucket_boundary: bool = False,
        no_padding: bool = False,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Self:
        """Batch elements of similar length together, so that little is padded.

        Example:
            >>> ds = Dataset.range(1, 6).map(lambda n: np.full(n, n))
            >>> for batch in ds.bucket_by_sequence_length(len, [3], [2, 2]):
            ...     print(batch.shape)
            (2, 2)
            (2, 4)
            (1, 5)
        """
        node = nodes.bucketed(
            self._node,
            element_length_func=function_for(element_length_func, "bucket_by_sequence_length"),
            bucket_boundaries=bucket_boundaries,
            bucket_batch_sizes=bucket_batch_sizes,
            padded_shapes=padded_shapes,
            padding_values=padding_values,
            pad_to_bucket_boundary=pad_to_bucket_boundary,
            no_padding=no_padding,
            drop_remainder=drop_remainder,
            wrap=type(self),
            name=name,
        )
        return self._then(node)

    def batch(
        self,
        batch_size: int,
        drop_remainder: bool = False,
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Self:
        """Stack ``batch_size`` elements along a new first axis.

        ``num_parallel_calls`` and ``deterministic`` are checked and otherwise without effect:
        a batch is cut out of whole columns, and there is nothing left to share out.

        Example:
            >>> [x.tolist() for x in Dataset.range(5).batch(2)]
            [[0, 1], [2, 3], [4]]
        """
        parallelism_for(num_parallel_calls, deterministic, "thread")
        size = whole_number(batch_size, "batch_size")
        return self._then(
            nodes.Batch(
                parent=self._node, batch_size=size, drop_remainder=drop_remainder, name=name
            )
        )

    def padded_batch(
        self,
        batch_size: int,
        padded_shapes: Any = None,
        padding_values: Any = None,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Self:
        """Batch elements of unequal shape, filled up to the largest or to ``padded_shapes``.

        Example:
            >>> ds = Dataset.range(1, 3).map(lambda n: np.full(n, n))
            >>> next(iter(ds.padded_batch(2)))
            array([[1, 0],
                   [2, 2]])
        """
        return self._then(
            nodes.PaddedBatch(
                parent=self._node,
                batch_size=whole_number(batch_size, "batch_size"),
                padded_shapes=padded_shapes,
                padding_values=padding_values,
                drop_remainder=drop_remainder,
                name=name,
            )
        )

    def ragged_batch(
        self,
        batch_size: int,
        drop_remainder: bool = False,
        row_splits_dtype: Any = np.int64,
        name: str | None = None,
    ) -> Self:
        """Batch elements of unequal shape into a ``Ragged``, with nothing filled up.

        Example:
            >>> ds = Dataset.range(3).map(lambda n: np.full(n, n))
            >>> next(iter(ds.ragged_batch(3)))
            Ragged([[], [1], [2, 2]], dtype=int64)
        """
        return self._then(
            nodes.RaggedBatch(
                parent=self._node,
                batch_size=whole_number(batch_size, "batch_size"),
                drop_remainder=drop_remainder,
                row_splits_dtype=np.dtype(row_splits_dtype),
                name=name,
            )
        )

    def sparse_batch(self, batch_size: int, row_shape: Any, name: str | None = None) -> Self:
        """Batch elements of unequal shape into a ``Sparse`` of shape ``[n, *row_shape]``."""
        return self._then(
            nodes.SparseBatch(
                parent=self._node,
                batch_size=whole_number(batch_size, "batch_size"),
                row_shape=row_shape,
                name=name,
            )
        )

    def unbatch(self, name: str | None = None) -> Self:
        """Take batches apart into their rows.

        Example:
            >>> [int(x) for x in Dataset.range(3).batch(2).unbatch()]
            [0, 1, 2]
        """
        return self._then(nodes.Unbatch(parent=self._node, name=name))

    def rebatch(
        self, batch_size: int | Sequence[int], drop_remainder: bool = False, name: str | None = None
    ) -> Self:
        """Regroup batches to another size, or to sizes that take turns.

        Example:
            >>> [x.tolist() for x in Dataset.range(6).batch(4).rebatch(3)]
            [[0, 1, 2], [3, 4, 5]]
        """
        sizes = batch_size if isinstance(batch_size, int | np.integer) else tuple(batch_size)
        return self._then(
            nodes.Rebatch(
                parent=self._node, batch_size=sizes, drop_remainder=drop_remainder, name=name
            )
        )


def _cycle_length(given: int | None, parallelism: nodes.Parallelism | None) -> int:
    """How many datasets at once: as many as are read in parallel, or what the cores allow."""
    if given is not None:
        return given
    return AUTOTUNE if parallelism is None or parallelism.calls < 1 else parallelism.calls
