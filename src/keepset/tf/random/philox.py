"""Philox: the generator behind TensorFlow's random numbers, Philox4x32 with ten rounds.

NumPy has the variant of 64 bits only. A stream is a key and a counter; each value of the counter
yields four words of 32 bits, so that any part of a stream can be computed by itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

_MASK32, _MASK64, _MASK128 = 2**32 - 1, 2**64 - 1, 2**128 - 1
_ROUNDS = 10
_FACTORS = 0xD2511F53, 0xCD9E8D57
_WEYL = 0x9E3779B9, 0xBB67AE85
_SCRAMBLE = 0x3EC8F720 | 0x02461E29 << 32


@dataclass(frozen=True)
class Stream:
    """Random words, of which none depends on those before it.

    Example:
        >>> stream_of_seed(1, 2).words(np.arange(1))
        array([[1105988140, 1738052849, 3959391294,  370444179]], dtype=uint32)
    """

    key: int
    counter: int = 0

    def words(self, offsets: Any) -> Any:
        """Four words for each offset from the counter, as rows."""
        low, high = self.counter & _MASK64, self.counter >> 64
        offsets = np.asarray(offsets, np.uint64)
        lows = offsets + np.uint64(low)
        highs = np.where(lows < offsets, np.uint64((high + 1) & _MASK64), np.uint64(high))
        return np.stack(_rounds(_halves(lows, highs), self.key), axis=-1).astype(np.uint32)

    def first(self, count: int) -> Any:
        """The first words of the stream."""
        if count <= 4:
            # Numbers of Python's own, as arrays of one item take ten times as long.
            halves = _halves(self.counter & _MASK64, self.counter >> 64)
            return np.array(_rounds(halves, self.key)[:count], np.uint32)
        return self.words(np.arange(-(-count // 4))).reshape(-1)[:count]

    def skip(self, blocks: int) -> Stream:
        """The stream behind some values of the counter."""
        return replace(self, counter=(self.counter + blocks) & _MASK128)


def _halves(low: Any, high: Any) -> tuple[Any, ...]:
    return low & _MASK32, low >> 32, high & _MASK32, high >> 32


def _rounds(state: tuple[Any, ...], key: int) -> tuple[Any, ...]:
    """The words of counters, which are numbers or arrays of 64 bits."""
    keys = key & _MASK32, key >> 32 & _MASK32
    for _ in range(_ROUNDS):
        one, two = state[0] * _FACTORS[0], state[2] * _FACTORS[1]
        state = (
            two >> 32 ^ state[1] ^ keys[0],
            two & _MASK32,
            one >> 32 ^ state[3] ^ keys[1],
            one & _MASK32,
        )
        keys = (keys[0] + _WEYL[0]) & _MASK32, (keys[1] + _WEYL[1]) & _MASK32
    return state


def stream_of_seed(first: int, second: int) -> Stream:
    """The stream of a stateless function, whose seed is scrambled before it becomes a key."""
    counter = first & _MASK64 | (second & _MASK64) << 64
    mixed = Stream(_SCRAMBLE, counter).first(4).astype(object)
    return Stream(mixed[0] | mixed[1] << 32, mixed[2] << 64 | mixed[3] << 96)


def stream_of_operation(first: int, second: int) -> Stream:
    """The stream of an operation with state, by its two seeds."""
    return Stream(first & _MASK64, (second & _MASK64) << 64)
