"""Stages that change order, length, or the way of running."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from keepset import nodes
from keepset.core.options import Options
from keepset.core.random import Randomness
from keepset.dataset.arguments import seed_or_none, whole_number
from keepset.dataset.base import BaseDataset, node_of
from keepset.errors import InvalidArgumentError
from keepset.nodes.global_shuffle import Global, GlobalShuffle
from keepset.nodes.repeat import FOREVER, Repeat
from keepset.nodes.take import Skip, Take


class OrderStages(BaseDataset):
    """Methods that reorder, repeat, cut, keep and run ahead."""

    __slots__ = ()

    def shuffle(
        self,
        buffer_size: int | Global,
        seed: int | None = None,
        reshuffle_each_iteration: bool | None = None,
        name: str | None = None,
    ) -> Self:
        """Put elements in random order.

        A number draws from a buffer of that many elements, as TensorFlow does. ``keepset.GLOBAL``
        reorders the whole data set without a buffer, where elements can be had by position.

        Example:
            >>> from keepset import GLOBAL
            >>> ds = Dataset.range(1000).shuffle(GLOBAL, seed=1)
            >>> sorted(int(x) for x in ds) == list(range(1000))
            True
        """
        source = Randomness(seed_or_none(seed), reshuffle_each_iteration is not False)
        if isinstance(buffer_size, Global):
            parent = self._node.addressable()
            return self._then(GlobalShuffle(parent=parent, source=source, name=name))
        size = whole_number(buffer_size, "buffer_size")
        return self._then(
            nodes.Shuffle(parent=self._node, buffer_size=size, source=source, name=name)
        )

    def repeat(self, count: int | None = None, name: str | None = None) -> Self:
        """Go over the elements ``count`` times, or endlessly.

        Example:
            >>> [int(x) for x in Dataset.range(2).repeat(2)]
            [0, 1, 0, 1]
        """
        times = FOREVER if count is None else whole_number(count, "count")
        return self._then(Repeat(parent=self._node, count=times, name=name))

    def take(self, count: int, name: str | None = None) -> Self:
        """The first ``count`` elements; -1 takes all.

        Example:
            >>> [int(x) for x in Dataset.counter().take(2)]
            [0, 1]
        """
        return self._then(Take(parent=self._node, count=whole_number(count, "count"), name=name))

    def skip(self, count: int, name: str | None = None) -> Self:
        """All but the first ``count`` elements.

        Where elements can be had by position, those skipped are not computed.

        Example:
            >>> [int(x) for x in Dataset.range(4).skip(2)]
            [2, 3]
        """
        return self._then(Skip(parent=self._node, count=whole_number(count, "count"), name=name))

    def shard(self, num_shards: int, index: int, name: str | None = None) -> Self:
        """Keep every ``num_shards``-th element, starting at ``index``.

        Shard before you shuffle, so that workers keep disjoint elements.

        Example:
            >>> [int(x) for x in Dataset.range(7).shard(3, 1)]
            [1, 4]
        """
        shards, place = whole_number(num_shards, "num_shards"), whole_number(index, "index")
        return self._then(nodes.Shard(parent=self._node, num_shards=shards, index=place, name=name))

    def concatenate(self, dataset: BaseDataset, name: str | None = None) -> Self:
        """The elements of this data set, then those of another.

        Example:
            >>> [int(x) for x in Dataset.range(2).concatenate(Dataset.range(5, 7))]
            [0, 1, 5, 6]
        """
        return self._then(nodes.Concatenate(parents=(self._node, node_of(dataset)), name=name))

    def prefetch(self, buffer_size: int, name: str | None = None) -> Self:
        """Compute up to ``buffer_size`` elements ahead, in a thread, while the consumer is busy."""
        size = whole_number(buffer_size, "buffer_size")
        return self._then(nodes.Prefetch(parent=self._node, buffer_size=size, name=name))

    def cache(self, filename: Any = "", name: str | None = None) -> Self:
        """Keep the elements of the first complete pass, in memory or in a file, for later ones.

        Example:
            >>> calls = []
            >>> ds = Dataset.range(3).map(lambda x: calls.append(x) or x).cache()
            >>> len(list(ds)), len(list(ds)), len(calls)
            (3, 3, 3)
        """
        return self._then(nodes.Cache(parent=self._node, filename=filename, name=name))

    def with_options(self, options: Options, name: str | None = None) -> Self:
        """Set options for the whole pipeline; what is set later wins."""
        if not isinstance(options, Options):
            raise InvalidArgumentError(f"with_options takes keepset.Options, not {options!r:.60}")
        return self._then(nodes.WithOptions(parent=self._node, chosen=options, name=name))

    def options(self) -> Options:
        """The options in force."""
        return self._node.options()

    def assert_cardinality(self, expected_cardinality: int, name: str | None = None) -> Self:
        """State the number of elements where it cannot be known; checked while running.

        Example:
            >>> len(Dataset.range(9).filter(lambda x: x < 3).assert_cardinality(3))
            3
        """
        return self._then(
            nodes.AssertCardinality(
                parent=self._node, expected=int(expected_cardinality), name=name
            )
        )

    def apply(self, transformation_func: Callable[[Self], Any]) -> Any:
        """``transformation_func(self)``, for stages written as functions."""
        result = transformation_func(self)
        if not isinstance(result, BaseDataset):
            raise InvalidArgumentError(
                f"the function given to apply must return a Dataset, not {type(result).__name__}"
            )
        return result
