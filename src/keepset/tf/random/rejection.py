"""Rejection: distributions that draw again until a number fits, each from words of its own."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from keepset.tf.random.distributions import RESERVED, doubles_of, normal_doubles_of
from keepset.tf.random.philox import Stream
from keepset.tf.tensors.quiet import quietly

_TABLE = np.array([math.lgamma(k + 1) for k in range(128)])


class _Lanes:
    """How far each of many numbers has come in the words that are set aside for it."""

    def __init__(self, stream: Stream, count: int) -> None:
        self._stream = stream
        self._at = np.arange(count, dtype=np.uint64) * np.uint64(RESERVED)
        self._count = count

    def buffer(self, numbers_of: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """What draws a number for some lanes; of those of a block the last comes first."""
        values = np.zeros((self._count, 2))
        left = np.zeros(self._count, int)

        def take(lanes: Any) -> Any:
            empty = lanes[left[lanes] == 0]
            if len(empty):
                values[empty] = numbers_of(self._stream.words(self._at[empty]))
                self._at[empty] += np.uint64(1)
                left[empty] = 2
            left[lanes] -= 1
            return values[lanes, left[lanes]]

        return take


@quietly
def gamma(stream: Stream, alphas: Any) -> Any:
    """A number of a gamma distribution for each shape, by Marsaglia and Tsang."""
    alpha = np.asarray(alphas, np.float64)
    lanes = _Lanes(stream, len(alpha))
    normal, uniform = lanes.buffer(normal_doubles_of), lanes.buffer(doubles_of)
    found = np.empty(len(alpha))
    exponential = np.flatnonzero(alpha == 1)
    found[exponential] = -np.log1p(-uniform(exponential))
    is_small = alpha < 1
    d = alpha + np.where(is_small, 2 / 3, -1 / 3)
    c = 1 / 3 / np.sqrt(d)
    waiting = np.flatnonzero(alpha != 1)
    while len(waiting):
        x = normal(waiting)
        v = 1 + c[waiting] * x
        tried, x, v = waiting[v > 0], x[v > 0], v[v > 0] ** 3
        u, dt = uniform(tried), d[tried]
        fits = (u < 1 - 0.0331 * x**4) | (np.log(u) < 0.5 * x * x + dt * (1 - v + np.log(v)))
        done = tried[fits]
        found[done] = (dt * v)[fits]
        small = done[is_small[done]]
        found[small] *= uniform(small) ** (1 / alpha[small])
        waiting = np.setdiff1d(waiting, done, assume_unique=True)
    return found


@quietly
def poisson(stream: Stream, rates: Any) -> Any:
    """A number of a Poisson distribution for each rate, by Knuth or, from 10 on, by Hormann."""
    rate = np.asarray(rates, np.float64)
    take = _Lanes(stream, len(rate)).buffer(doubles_of)
    found = np.full(len(rate), np.nan)
    is_low = rate < 10
    _count_events(found, rate, np.flatnonzero(is_low), take)
    _reject_poisson(found, rate, np.flatnonzero(~is_low & np.isfinite(rate)), take)
    return found


def _count_events(found: Any, rate: Any, waiting: Any, take: Callable[[Any], Any]) -> None:
    limit, product = np.exp(-rate), np.ones(len(rate))
    events = 0
    while len(waiting):
        product[waiting] *= take(waiting)
        is_done = product[waiting] <= limit[waiting]
        found[waiting[is_done]] = events
        waiting = waiting[~is_done]
        events += 1


def _reject_poisson(found: Any, rate: Any, waiting: Any, take: Callable[[Any], Any]) -> None:
    b = 0.931 + 2.53 * np.sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse = 1.1239 + 1.1328 / (b - 3.4)
    surely = 0.9277 - 3.6224 / (b - 2)
    while len(waiting):
        u, v = take(waiting) - 0.5, take(waiting)
        lam, aw, bw = rate[waiting], a[waiting], b[waiting]
        shifted = 0.5 - np.abs(u)
        k = np.floor((2 * aw / shifted + bw) * u + lam + 0.43)
        s = np.log(v * inverse[waiting] / (aw / (shifted * shifted) + bw))
        t = -lam + k * np.log(lam) - _log_factorial(k)
        is_out = (k < 0) | ((shifted < 0.013) & (v > shifted))
        fits = ((shifted >= 0.07) & (v <= surely[waiting])) | (~is_out & (s <= t))
        found[waiting[fits]] = k[fits]
        waiting = waiting[~fits]


def _log_factorial(k: Any) -> Any:
    """The logarithm of k!; by Stirling's series where that is exact."""
    small = _TABLE[np.clip(k, 0, len(_TABLE) - 1).astype(int)]
    n = np.maximum(k, len(_TABLE)) + 1
    series = 1 / (12 * n) - 1 / (360 * n**3) + 1 / (1260 * n**5)
    stirling = (n - 0.5) * np.log(n) - n + 0.5 * math.log(2 * math.pi) + series
    return np.where(k < len(_TABLE), small, stirling)
