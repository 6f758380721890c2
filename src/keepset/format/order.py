"""Order: which shard each element went to, in the order in which they came."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from keepset.core.cached import cached_property
from keepset.core.dtypes import Array
from keepset.core.record import record

_LONGEST_PATTERN = 1 << 16
_TRIED_PERIODS = 33
_ITEM = np.dtype("<u4")
_BLOCK = 1 << 16


@record
class Order:
    """The shards in turn: ``pattern`` over and over, for so many elements.

    An order that does not repeat is a pattern as long as itself.
    """

    pattern: Array
    elements: int

    def __post_init__(self) -> None:
        if self.elements and not len(self.pattern):
            raise ValueError("an order has elements and no shards")

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Order)
            and self.elements == other.elements
            and np.array_equal(self.pattern, other.pattern)
        )

    def __hash__(self) -> int:
        return hash((self.elements, len(self.pattern)))

    def between(self, start: int, stop: int) -> Array:
        """The shards of the elements ``start`` to ``stop``."""
        if start == stop:
            return self.pattern[:0]
        return self.pattern[np.arange(start, stop) % len(self.pattern)]

    def counts(self) -> dict[int, int]:
        """How many elements went to each shard."""
        if not self.elements:
            return {}
        whole, rest = divmod(self.elements, len(self.pattern))
        shards, counts = np.unique(self.pattern, return_counts=True)
        found = dict(zip(shards.tolist(), (counts * whole).tolist(), strict=True))
        for shard, count in zip(*np.unique(self.pattern[:rest], return_counts=True), strict=True):
            found[int(shard)] += int(count)
        return {shard: count for shard, count in found.items() if count}

    def places(self, positions: Array) -> tuple[Array, Array]:
        """For each position its shard, and which element of that shard it is."""
        turns, within = np.divmod(positions, max(len(self.pattern), 1))
        ranks, per_turn = self._ranks
        return self.pattern[within], turns * per_turn[within] + ranks[within]

    def positions(self, shard: int, start: int, stop: int) -> Array:
        """Where the elements ``start`` to ``stop`` of a shard are among all."""
        places = np.flatnonzero(self.pattern == shard)
        turns, within = np.divmod(np.arange(start, stop), max(len(places), 1))
        found: Array = turns * len(self.pattern) + places[within]
        return found

    @cached_property
    def _ranks(self) -> tuple[Array, Array]:
        """For each place of the pattern: how often its shard came before, and comes in all."""
        sorted_places = np.argsort(self.pattern, kind="stable")
        _, inverse, counts = np.unique(self.pattern, return_inverse=True, return_counts=True)
        first_of_shard = np.cumsum(counts) - counts
        ranks = np.empty(len(self.pattern), np.int64)
        ranks[sorted_places] = np.arange(len(self.pattern)) - np.repeat(first_of_shard, counts)
        return ranks, counts[inverse]

    def to_json(self) -> Any:
        if len(self.pattern) <= _LONGEST_PATTERN and len(self.pattern) < self.elements:
            return {"pattern": self.pattern.tolist(), "elements": self.elements}
        packed = zlib.compress(self.between(0, self.elements).astype(_ITEM).tobytes())
        return {"packed": base64.b64encode(packed).decode(), "elements": self.elements}


def order_of(shards: Array) -> Order:
    """The order of these shards, as a pattern where they repeat as ``i % n`` does."""
    if not len(shards):
        return Order(shards, 0)
    for period in np.flatnonzero(shards == shards[0])[1:_TRIED_PERIODS].tolist():
        if (shards[period:] == shards[:-period]).all():
            return Order(shards[:period], len(shards))
    return Order(shards, len(shards))


class OrderBuilder:
    """Takes the shards of elements in turn, in a few bytes for each or, if they repeat, in none."""

    def __init__(self) -> None:
        self._recent: list[Array] = []
        self._recent_elements = 0
        self._pattern: Order | None = None
        self._blocks: list[Array] = []  # what does not repeat, once something does not

    def add(self, shards: Array) -> None:
        self._recent.append(shards)
        self._recent_elements += len(shards)
        if self._recent_elements >= _BLOCK:
            self._settle()

    def take(self) -> Order | None:
        """The order of what was added since the last time; None if nothing was."""
        self._settle()
        pattern, blocks = self._pattern, self._blocks
        self._pattern, self._blocks = None, []
        return order_of(np.concatenate(blocks).astype(np.int64)) if blocks else pattern

    def _settle(self) -> None:
        if not self._recent_elements:
            return
        shards = np.concatenate(self._recent)
        self._recent, self._recent_elements = [], 0
        if not self._blocks:
            whole = order_of(shards) if self._pattern is None else self._continued(shards)
            if whole is not None and len(whole.pattern) < whole.elements:
                self._pattern = whole
                return
        if self._pattern is not None:
            self._blocks.append(self._pattern.between(0, self._pattern.elements).astype(_ITEM))
            self._pattern = None
        self._blocks.append(shards.astype(_ITEM))

    def _continued(self, shards: Array) -> Order | None:
        """The pattern so far, if it simply goes on with these."""
        assert self._pattern is not None
        start = self._pattern.elements
        longer = Order(self._pattern.pattern, start + len(shards))
        return longer if (longer.between(start, longer.elements) == shards).all() else None


def join_orders(orders: Sequence[Order]) -> Order:
    """One order after another; a pattern that simply goes on stays one."""
    joined = orders[0]
    for order in orders[1:]:
        elements = joined.elements + order.elements
        shards = order.between(0, order.elements)
        if len(joined.pattern):
            longer = Order(joined.pattern, elements)
            if (longer.between(joined.elements, elements) == shards).all():
                joined = longer
                continue
        joined = order_of(np.concatenate([joined.between(0, joined.elements), shards]))
    return joined


def order_from_json(value: Any) -> Order:
    """Read what ``to_json`` wrote; anything odd is a ValueError."""
    match value:
        case {"pattern": [*pattern], "elements": int(elements)} if elements >= 0:
            if not all(type(shard) is int for shard in pattern):
                raise ValueError("a shard is not a number")
            return Order(np.array(pattern, np.int64), elements)
        case {"packed": str(packed), "elements": int(elements)} if elements >= 0:
            # No more than is announced, whatever the packed bytes would give.
            wanted = elements * _ITEM.itemsize
            try:
                data = base64.b64decode(packed, validate=True)
                data = zlib.decompressobj().decompress(data, wanted + 1)
            except (zlib.error, ValueError) as error:
                raise ValueError(f"an order is damaged ({error})") from error
            if len(data) != wanted:
                raise ValueError("an order has another length than it says")
            return Order(np.frombuffer(data, _ITEM).astype(np.int64), elements)
    raise ValueError("an order is neither a pattern nor packed")
