"""Functions see their variables as they were when they were given to ``map``, as in TensorFlow."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import keepset as ks
import keepset.tf as tf
from keepset.tf.data.frozen import frozen

range_ = tf.data.Dataset.range


def values(ds: Any) -> list[int]:
    return [int(x) for x in ds.as_numpy_iterator()]


def program(text: str) -> SimpleNamespace:
    """What a program of the user's defines at its top."""
    names: dict[str, Any] = {"tf": tf, "__name__": "program"}
    exec(compile(text, "<program>", "exec"), names)
    return SimpleNamespace(**names)


PIPELINES: dict[str, tuple[Callable[[int], Any], list[list[int]]]] = {
    "map": (lambda i: range_(2).map(lambda x: x * 10 + i), [[0, 10], [1, 11], [2, 12]]),
    "filter": (lambda i: range_(3).filter(lambda x: x == i), [[0], [1], [2]]),
    "flat_map": (lambda i: range_(1).flat_map(lambda x: range_(i)), [[], [0], [0, 1]]),
    "interleave": (lambda i: range_(1).interleave(lambda x: range_(i)), [[], [0], [0, 1]]),
    "scan": (lambda i: range_(2).scan(tf.constant(0, tf.int64), lambda s, x: (s, x + i)),
             [[0, 1], [1, 2], [2, 3]]),
    "take_while": (lambda i: range_(3).take_while(lambda x: x < i), [[], [0], [0, 1]]),
}  # fmt: skip


@pytest.mark.parametrize("stage", PIPELINES)
def test_a_loop_over_a_variable_gives_each_pipeline_its_value(stage: str) -> None:
    make, expected = PIPELINES[stage]
    assert [values(ds) for ds in [make(i) for i in range(3)]] == expected


def test_a_loop_at_the_top_of_a_program() -> None:
    made = program(
        "made = []\n"
        "for i in range(3):\n"
        "    made.append(tf.data.Dataset.range(2).map(lambda x: x * 10 + i))\n"
        "ds = tf.data.Dataset.range(2)\n"
        "for i in range(3):\n"
        "    ds = ds.map(lambda x: x + i)\n"
    )
    assert [values(ds) for ds in made.made] == [[0, 10], [1, 11], [2, 12]]
    assert values(made.ds) == [3, 4]


def test_a_function_that_is_defined_again_is_another_one() -> None:
    made = program(
        "SIZE = 4\n"
        "def scaled(x): return x * SIZE\n"
        "def twice(x): return scaled(scaled(x))\n"
        "a = tf.data.Dataset.range(3).map(twice)\n"
        "SIZE = 2\n"
        "b = tf.data.Dataset.range(3).map(twice)\n"
        "def scaled(x): return x\n"
    )
    assert values(made.a) == [0, 16, 32]
    assert values(made.b) == [0, 4, 8]


def test_functions_in_decorators_partials_and_methods() -> None:
    made = program(
        "import functools\n"
        "K = 2\n"
        "@tf.function\n"
        "def decorated(x): return x * K\n"
        "def of_two(k, x): return x * k * K\n"
        "class Scaler:\n"
        "    def scaled(self, x): return x * K\n"
        "ds = tf.data.Dataset.range(3)\n"
        "functions = [decorated, functools.partial(of_two, 1), Scaler().scaled]\n"
        "made = [ds.map(each) for each in functions]\n"
        "K = 9\n"
    )
    assert [values(ds) for ds in made.made] == [[0, 2, 4]] * 3


def test_functions_that_call_themselves_and_each_other() -> None:
    made = program(
        "K = 2\n"
        "def down(n): return n if n < 1 else up(n - 1) + K\n"
        "def up(n): return n if n < 1 else down(n - 1) + K\n"
        "frozen_down = down\n"
    )
    found = frozen(made.down)
    made.down.__globals__["K"] = 100
    assert (found(4), made.down(4)) == (8, 400)


def test_what_a_function_sets_itself_is_not_frozen() -> None:
    made = program(
        "count = 0\n"
        "def counted(x):\n"
        "    global count\n"
        "    count += 1\n"
        "    return x + count\n"
        "ds = tf.data.Dataset.range(3).map(counted)\n"
    )
    assert values(made.ds) == [1, 3, 5]
    assert made.counted.__globals__["count"] == 3


def test_a_variable_that_is_not_there_yet_is_found_later() -> None:
    made = program("def f(x): return x + LATER\nds = tf.data.Dataset.range(2).map(f)\nLATER = 5\n")
    assert values(made.ds) == [5, 6]


def test_what_needs_no_copy_is_what_it_was() -> None:
    def plain(x: Any) -> Any:
        return tf.cast(x, tf.int32) + 1

    for function in (plain, len, functools.partial(plain), "".join):
        assert frozen(function) is function


def test_frozen_functions_are_known_again(tmp_path: Path) -> None:
    text = "K = {}\ndef f(x): return x * K\nds = tf.data.Dataset.range(3).map(f)\nK = 77\n"
    hits = []
    for k in (2, 2, 3):
        ds = program(text.format(k)).ds
        hits.append(ks.explain(ds, tmp_path).hit)
        assert values(ds.snapshot(tmp_path)) == [0, k, 2 * k]
    assert hits == [False, True, False]


def test_frozen_functions_run_in_worker_processes() -> None:
    made = program("K = 3\ndef f(x): return x * K\nds = tf.data.Dataset.range(3)\n")
    ds = made.ds.map(made.f, num_parallel_calls=2, executor="process")
    made.f.__globals__["K"] = 50
    assert values(ds) == [0, 3, 6]
