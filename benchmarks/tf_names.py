"""What the names of keepset.tf cost, beside NumPy itself in the same run.

    python benchmarks/tf_names.py [--rounds 15] [--quick]

Two tables. The first has microseconds per operator, on scalars and on float32 arrays of 16 KB to
1 MB. The second has elements per second of ``map`` with a function of tensors, beside the same
function over plain NumPy with ``keepset.Dataset``. Both sides take turns, and the median of the
rounds' ratios counts: it says how fast the names are if NumPy is 1.

Goals: 0.9 from 16 KB on, and 0.1 for scalars. An operator takes 0.3 to 0.5 us of Python beside the
work of NumPy. For 16 KB that is 0.5 to 1 us, so that functions of one or two operators stay below
the goal there, and meet it from 256 KB on.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import keepset as ks
import keepset.tf as tf

SIZES = {"scalar": 0, "16 KB": 4096, "64 KB": 1 << 14, "256 KB": 1 << 16, "1 MB": 1 << 18}
GOALS = {"scalar": 0.1} | dict.fromkeys(list(SIZES)[1:], 0.9)
Pair = tuple[Callable[[], Any], Callable[[], Any]]


def operators(items: int) -> dict[str, Pair]:
    """The same work by the names and by NumPy."""
    one = np.float32(0.5) if items == 0 else np.full(items, 0.5, np.float32)
    other = np.float32(0.25) if items == 0 else np.full(items, 0.25, np.float32)
    x, y = tf.constant(one), tf.constant(other)
    return {
        "x + y": (lambda: x + y, lambda: one + other),
        "x * 2.0": (lambda: x * 2.0, lambda: one * 2.0),
        "x / 255.0": (lambda: x / 255.0, lambda: one / 255.0),
        "x < y": (lambda: x < y, lambda: one < other),
        "abs(x)": (lambda: abs(x), lambda: abs(one)),
        "cast": (lambda: tf.cast(x, tf.int32), lambda: one.astype(np.int32)),
        "reduce_sum": (lambda: tf.reduce_sum(x), lambda: one.sum()),
        "maximum": (lambda: tf.maximum(x, 0.0), lambda: np.maximum(one, np.float32(0))),
    }


def functions() -> dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]]:
    """What people pass to ``map``, with the names and with NumPy."""
    return {
        "x * 2 + 1": (lambda x: x * 2.0 + 1.0, lambda x: x * 2 + 1),
        "cast and scale": (
            lambda x: tf.cast(x, tf.float32) / 255.0,
            lambda x: x.astype(np.float32) / np.float32(255),
        ),
        "standardise": (
            lambda x: (x - tf.reduce_mean(x)) / (tf.math.reduce_std(x) + 1e-6),
            lambda x: (x - x.mean()) / (x.std() + np.float32(1e-6)),
        ),
    }


def rows_of(items: int, count: int) -> Any:
    return np.random.default_rng(1).random(count if items == 0 else (count, items), np.float32)


def seconds(call: Callable[[], Any], times: int) -> float:
    began = time.perf_counter()
    for _ in range(times):
        call()
    return (time.perf_counter() - began) / times


def compared(pair: Pair, rounds: int) -> tuple[float, float, float]:
    """Seconds of both sides, the least of the rounds, and the median ratio."""
    names, plain = pair
    times = max(1, int(0.01 / max(seconds(names, 3), 1e-7)))
    taken = [(seconds(names, times), seconds(plain, times)) for _ in range(rounds)]
    ratio = statistics.median(theirs / ours for ours, theirs in taken)
    return min(t[0] for t in taken), min(t[1] for t in taken), ratio


def exhaust(ds: Any) -> None:
    for _ in ds.as_numpy_iterator():
        pass


def mapped(items: int, count: int) -> dict[str, Pair]:
    rows = rows_of(items, count)
    theirs = tf.data.Dataset.from_tensor_slices(rows)
    plain = ks.Dataset.from_tensor_slices(rows)
    return {
        title: (partial(exhaust, theirs.map(names)), partial(exhaust, plain.map(function)))
        for title, (names, function) in functions().items()
    }


def print_row(title: str, size: str, found: tuple[float, float, float], unit: str) -> None:
    ours, theirs, ratio = found
    mark = "" if ratio >= GOALS[size] else f"  below {GOALS[size]}"
    print(f"{title:16} {size:>7} {ours:14,.2f} {theirs:14,.2f} {unit} {ratio:6.2f}{mark}")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rounds", type=int, default=15)
    options.add_argument("--quick", action="store_true", help="few rounds, to see that it runs")
    given = options.parse_args()
    rounds = 3 if given.quick else given.rounds
    print(f"{'':16} {'':>7} {'keepset.tf':>14} {'NumPy':>14}")
    for size, items in SIZES.items():
        for title, pair in operators(items).items():
            ours, theirs, ratio = compared(pair, rounds)
            print_row(title, size, (ours * 1e6, theirs * 1e6, ratio), "us")
    for size, items in SIZES.items():
        count = max(64, (1 << 24) // max(1, 4 * items)) if items else 20_000
        for title, pair in mapped(items, count).items():
            ours, theirs, ratio = compared(pair, rounds)
            print_row(f"map {title}"[:16], size, (count / ours, count / theirs, ratio), "/s")


if __name__ == "__main__":
    main()
