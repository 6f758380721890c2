"""RandomSource: endless random integers, each computed from its position."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from keepset.core.chunk import Chunk
from keepset.core.cursor import Cursor, PositionCursor
from keepset.core.dtypes import Array
from keepset.core.node import INFINITE, Node, stage
from keepset.core.random import Randomness, philox
from keepset.core.run import Run
from keepset.core.spec import Spec, TensorSpec
from keepset.core.structure import LEAF

_WEYL = np.uint64(0x9E3779B97F4A7C15)  # 2**64 divided by the golden ratio, odd
_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


@stage
class RandomSource(Node):
    """Integers from 0 to ``2**32 - 1``, evenly drawn."""

    source: Randomness

    @property
    def randomness(self) -> Randomness:
        return self.source

    @property
    def kind(self) -> str:
        return "random"

    def cursor(self, run: Run) -> Cursor:
        words = random_words(run.key(self))
        return PositionCursor(lambda a, b: _integers(words, np.arange(a, b)), INFINITE)

    def cardinality(self) -> int:
        return INFINITE

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        return TensorSpec((), np.int64)

    def obstacle(self) -> str | None:
        return None

    def gather(self, indices: Array, run: Run) -> Chunk:
        return _integers(random_words(run.key(self)), indices)


def random_words(key: tuple[int, ...]) -> Callable[[Array], Array]:
    """A function from positions to random 64-bit words, in any order and any number.

    The words are those of SplitMix64 with a start and a mask that Philox draws from the key.
    """
    start, mask = philox(*key).random_raw(2)

    def words(positions: Array) -> Array:
        x = positions.astype(np.uint64) * _WEYL + start
        x = (x ^ (x >> np.uint64(30))) * _MIX[0] ^ mask
        x = (x ^ (x >> np.uint64(27))) * _MIX[1]
        mixed: Array = x ^ (x >> np.uint64(31))
        return mixed

    return words


def unit_doubles(words: Array) -> Array:
    """Doubles from 0 up to, but not including, 1."""
    result: Array = (words >> np.uint64(11)) * 2.0**-53
    return result


def _integers(words: Callable[[Array], Array], positions: Array) -> Chunk:
    values = (words(positions) >> np.uint64(32)).astype(np.int64)
    return Chunk.from_columns(LEAF, [values], len(positions))
