"""Distributions: numbers of a kind from the words of a stream, as TensorFlow makes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from keepset.tf.random.philox import Stream
from keepset.tf.tensors.dtype import DType, as_dtype
from keepset.tf.tensors.quiet import run_quietly

# How many values of the counter TensorFlow sets aside for each number that it may draw again.
RESERVED = 256
_FLOAT64 = as_dtype("float64")
# The bits behind the point, and those that say that a number is from 1 up to 2.
_LAYOUTS: dict[str, tuple[Any, int, int]] = {
    "float16": (np.uint16, 10, 15),
    "bfloat16": (np.uint16, 7, 127),
}
_LAYOUTS |= {"float32": (np.uint32, 23, 127), "float64": (np.uint64, 52, 1023)}


def unit(stream: Stream, count: int, dtype: DType) -> Any:
    """Floats from 0 up to 1, without 1."""
    if dtype is _FLOAT64:
        return _doubles(stream.first(2 * count).reshape(-1, 2))
    return _unit_of(stream.first(count), dtype)


def full_integers(stream: Stream, count: int, dtype: DType) -> Any:
    """Whole numbers of all their bits."""
    if dtype.size == 4:
        return stream.first(count).astype(dtype.storage)
    words = stream.first(2 * count).reshape(-1, 2).astype(np.uint64)
    return (words[:, 0] | words[:, 1] << np.uint64(32)).astype(dtype.storage)


def integers(stream: Stream, count: int, dtype: DType, low: int, high: int) -> Any:
    """Whole numbers from ``low`` up to ``high``, without it."""
    unsigned = as_dtype(f"uint{8 * dtype.size}")
    bits = full_integers(stream, count, unsigned) % unsigned.storage.type(high - low)
    return run_quietly(np.add, bits.astype(dtype.storage), dtype.storage.type(low))


def normal(stream: Stream, count: int, dtype: DType) -> Any:
    """Floats around 0 with a deviation of 1."""
    width = 4 if dtype is _FLOAT64 else 2
    pairs = -(-count // 2)
    words = stream.first(width * pairs).reshape(-1, width)
    return _pairs_of_normal(words).reshape(-1)[:count].astype(dtype.storage)


def truncated_normal(stream: Stream, count: int, dtype: DType) -> Any:
    """The same without those further than 2 from 0, which are drawn again."""
    size, width = (2, 4) if dtype is _FLOAT64 else (4, 2)
    groups = -(-count // size)
    found = np.empty((groups, size), dtype.storage)
    waiting, blocks = np.arange(groups), 4
    while len(waiting):
        # A group begins anew with more words, until there are enough that fit.
        at = (waiting * (size * RESERVED // 4))[:, None] + np.arange(blocks)
        drawn = _pairs_of_normal(stream.words(at).reshape(-1, width)).reshape(len(waiting), -1)
        fits = np.abs(drawn) < 2
        done = fits.sum(1) >= size
        order = np.argsort(~fits[done], axis=1, kind="stable")[:, :size]
        found[waiting[done]] = np.take_along_axis(drawn[done], order, 1)
        waiting, blocks = waiting[~done], blocks * 2
    return found.reshape(-1)[:count]


def categories(stream: Stream, logits: Any, count: int) -> Any:
    """For each row of logarithms of probabilities, numbers of columns."""
    wide = np.asarray(logits, np.float64)
    finite = np.isfinite(wide)
    highest = np.where(finite, wide, np.finfo(np.float64).min).max(1, keepdims=True)
    weights = np.where(finite, run_quietly(np.exp, wide - highest), 0)
    sums = np.cumsum(weights, axis=1)
    draws = unit(stream, len(wide) * count, _FLOAT64).reshape(len(wide), count) * sums[:, -1:]
    rows = [np.searchsorted(row, drawn, "right") for row, drawn in zip(sums, draws, strict=True)]
    return np.array(rows, np.int64).reshape(len(wide), count)


def shuffled(stream: Stream, count: int) -> Any:
    """The numbers below ``count`` in another order, by swapping each with one behind it."""
    order = list(range(count))
    steps = stream.first(max(count - 1, 0)) % np.arange(count, 1, -1, dtype=np.uint32)
    for place, step in enumerate(steps.tolist()):
        order[place], order[place + step] = order[place + step], order[place]
    return np.array(order, np.int64)


def doubles_of(words: Any) -> Any:
    """Two doubles from 0 to 1 of each four words."""
    return np.stack([_doubles(words[:, :2]), _doubles(words[:, 2:])], axis=1)


def floats_of(words: Any) -> Any:
    """A float from 0 to 1 of each word."""
    return _unit_of(words, as_dtype("float32"))


def normal_doubles_of(words: Any) -> Any:
    """Two doubles around 0 of each four words."""
    return _pairs_of_normal(words)


def _unit_of(words: Any, dtype: DType) -> Any:
    kind, bits, exponent = _LAYOUTS[dtype.name]
    fraction = words.astype(kind) & kind(2**bits - 1)
    return (fraction | kind(exponent << bits)).view(dtype.storage) - dtype.storage.type(1)


def _doubles(words: Any) -> Any:
    high = words[:, 0].astype(np.uint64) & np.uint64(2**20 - 1)
    bits = high << np.uint64(32) | words[:, 1] | np.uint64(1023 << 52)
    return bits.view(np.float64) - 1


def _pairs_of_normal(words: Any) -> Any:
    """Box and Muller's two numbers of each row of two words, or of four for doubles."""
    if words.shape[1] == 4:
        one, two = _doubles(words[:, :2]), _doubles(words[:, 2:])
        kind: Any = np.float64
    else:
        one, two = floats_of(words).T
        kind = np.float32
    # Computed as doubles, which gives what a C library gives for floats, and rounded then.
    length = np.sqrt(kind(-2) * np.log(np.maximum(one, kind(1e-7)).astype(np.float64)).astype(kind))
    angle = (2 * np.pi * two.astype(np.float64)).astype(kind).astype(np.float64)
    return np.stack([np.sin(angle).astype(kind), np.cos(angle).astype(kind)], 1) * length[:, None]
