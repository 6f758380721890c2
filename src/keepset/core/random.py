"""Randomness that repeats: keyed streams, computed permutations, and seeds that nobody gave.

Everything is built on raw Philox words, whose stream NumPy promises never to change, and on
integer arithmetic, so a seed means the same order on every machine and version.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import field
from typing import Any

import numpy as np

from keepset.core.dtypes import Array
from keepset.core.record import mutable_record

_MASK64 = (1 << 64) - 1

# Up to here a permutation is a sorted list of random keys (every order equally likely); above,
# it is computed, so that its memory does not grow.
_LISTED_PERMUTATION = 1 << 16


def philox(*key: int) -> np.random.Philox:
    """A bit generator whose stream depends on all of ``key`` and on nothing else."""
    return np.random.Philox(key=_philox_key(key))


def _philox_key(key: tuple[int, ...]) -> Array:
    # The length goes in because SeedSequence takes trailing zeros for nothing, the sign because it
    # takes no negative numbers.
    words = [len(key), *(2 * number if number >= 0 else -2 * number - 1 for number in key)]
    return np.random.SeedSequence(words).generate_state(2, np.uint64)


def below(bits: np.random.Philox, bound: int, count: int) -> Array:
    """``count`` integers, each evenly drawn from 0 to ``bound - 1``."""
    # 53 bits of a double carry no measurable bias for any bound that fits into memory.
    unit = (bits.random_raw(count) >> np.uint64(11)) * 2.0**-53
    return (unit * bound).astype(np.int64)


def unit_interval(bits: np.random.Philox, count: int) -> Array:
    """``count`` doubles from 0 up to, but not including, 1."""
    result: Array = (bits.random_raw(count) >> np.uint64(11)) * 2.0**-53
    return result


class Permutation:
    """A reordering of ``0 .. length - 1`` that is computed, not stored.

    Example:
        >>> order = Permutation(10, seed=(7,))
        >>> sorted(order(np.arange(10)).tolist()) == list(range(10))
        True
    """

    def __init__(self, length: int, seed: tuple[int, ...]) -> None:
        self.length = length
        bits = philox(*seed)
        self._listed: Array | None = None
        if length <= _LISTED_PERMUTATION:
            self._listed = np.argsort(bits.random_raw(max(length, 1))[:length], kind="stable")
            return
        self._width = (length - 1).bit_length()
        # Only the lowest bits of each product are used, and those of half as wide numbers are the
        # same; a processor multiplies several times as many of them at once.
        word = np.uint32 if self._width <= 32 else np.uint64
        self._mask = word((1 << self._width) - 1)
        self._shift = word((self._width + 1) // 2)
        # Odd factors and xor-shifts by half the width are bijections of width-bit numbers.
        words = bits.random_raw(12)
        self._factors = (words[:6] | np.uint64(1)).astype(word)
        self._offsets = words[6:].astype(word)
        self._word = word

    def __call__(self, positions: Array) -> Array:
        if self._listed is not None:
            return self._listed[positions]
        result = self._mix(positions.astype(self._word))
        # Numbers beyond the end walk on along their cycle until they fall inside it.
        outside = np.flatnonzero(result >= self.length)
        while len(outside):
            walked = self._mix(result[outside])
            result[outside] = walked
            outside = outside[walked >= self.length]
        return result.astype(np.int64)

    def _mix(self, x: Array) -> Array:
        """Change ``x``, which nobody else uses, in its place."""
        shifted = np.empty_like(x)
        for factor, offset in zip(self._factors, self._offsets, strict=True):
            x += offset
            x *= factor
            x &= self._mask
            np.right_shift(x, self._shift, out=shifted)
            x ^= shifted
        return x


def element_generators(key: tuple[int, ...]) -> Callable[[int], np.random.Generator]:
    """One independent NumPy generator per position, the same however the positions are visited."""
    philox_key = _philox_key(key)

    def at(position: int) -> np.random.Generator:
        # The high half of the counter is the position: 2**128 draws before two streams meet.
        counter = np.array([0, 0, position & _MASK64, 0], np.uint64)
        return np.random.Generator(np.random.Philox(key=philox_key, counter=counter))

    return at


class _DefaultSeeds:
    """The seeds of stages that were given none."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sequence: Iterator[int] | None = None

    def set(self, seed: int | None) -> None:
        with self._lock:
            if seed is None:
                self._sequence = None
                return
            numbers = (int(philox(seed, n).random_raw()) for n in itertools.count())
            self._sequence = (number >> 1 for number in numbers)

    @property
    def are_set(self) -> bool:
        return self._sequence is not None

    def draw(self) -> int:
        with self._lock:
            if self._sequence is not None:
                return next(self._sequence)
        return int.from_bytes(os.urandom(8), "little") >> 1


_defaults = _DefaultSeeds()


def set_seed(seed: int | None) -> None:
    """Fix what unseeded stages draw, for all stages built from here on; None lifts it again.

    Call it at the top of a program to make it repeatable without passing a seed to each stage.

    Example:
        >>> from keepset import Dataset, set_seed
        >>> def order():
        ...     set_seed(7)
        ...     return list(Dataset.range(5).shuffle(5))
        >>> order() == order()
        True
        >>> set_seed(None)
    """
    _defaults.set(seed)


def seeds_are_set() -> bool:
    """Whether ``set_seed`` fixes what unseeded stages draw: the same in every process."""
    return _defaults.are_set


@mutable_record
class Randomness:
    """A stage's seed and how often it has been started: the only thing about a node that moves.

    ``rerandomize`` says whether each pass over the data draws anew, as in TensorFlow. ``is_set``
    says whether ``set_seed`` chose ``drawn``, so that it is the same in every process.
    """

    seed: int | None
    rerandomize: bool = True
    is_set: bool = field(default_factory=seeds_are_set)
    drawn: int = field(default_factory=_defaults.draw)
    _passes: Iterator[int] = field(default_factory=itertools.count, repr=False)
    _lock: Any = field(default_factory=threading.Lock, repr=False)

    @property
    def effective_seed(self) -> int:
        return self.drawn if self.seed is None else self.seed

    @property
    def known_seed(self) -> int | None:
        """The seed, if it is the same in every process; None where chance chose it."""
        return self.effective_seed if self.is_set else self.seed

    def next_pass(self) -> int:
        return next(self._passes)

    def advance_past(self, number: int) -> None:
        """Make sure that later passes count on from a pass that was resumed."""
        with self._lock:
            reached = next(self._passes)
            self._passes = itertools.count(max(reached, number + 1))

    def __reduce__(self) -> tuple[Any, ...]:
        return Randomness, (self.seed, self.rerandomize, self.is_set, self.drawn)
