"""Interleave: TensorFlow's order, sequential and parallel alike."""

from __future__ import annotations

import json
import os
import threading
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import keepset as ks


def slept(seconds: float, value: np.int64) -> np.int64:
    time.sleep(seconds)
    return value


def by_hand(lengths: list[int], cycle: int, block: int) -> list[tuple[int, int]]:
    """TensorFlow's algorithm, element by element."""
    inputs = iter(enumerate(lengths))
    slots: list[list[tuple[int, int]] | None] = [None] * cycle
    out: list[tuple[int, int]] = []
    turn, ended = 0, False
    while not ended or any(slot is not None for slot in slots):
        slot = slots[turn]
        if slot is None:
            found = None if ended else next(inputs, None)
            if found is None:
                ended = True
                turn = (turn + 1) % cycle
            else:
                slots[turn] = [(found[0], i) for i in range(found[1])]
            continue
        taken, slots[turn] = slot[:block], slot[block:]
        out += taken
        if len(taken) < block:
            slots[turn] = None
        turn = (turn + 1) % cycle
    return out


@settings(max_examples=60)
@given(
    lengths=st.lists(st.integers(0, 7), max_size=8),
    cycle=st.integers(1, 5),
    block=st.integers(1, 4),
    workers=st.sampled_from([None, 1, 3]),
)
def test_the_order_is_tensorflows(
    lengths: list[int], cycle: int, block: int, workers: int | None
) -> None:
    def inner(i: np.int64, length: np.int64) -> ks.Dataset:
        return ks.Dataset.range(length).map(lambda j: (i, j))

    ds = ks.Dataset.from_tensor_slices(np.array(lengths, np.int64)).enumerate()
    ds = ds.interleave(inner, cycle, block, num_parallel_calls=workers)
    assert [(int(i), int(j)) for i, j in ds] == by_hand(lengths, cycle, block)


def test_pure_inputs_are_read_in_larger_pieces_with_the_same_result() -> None:
    ds = ks.Dataset.range(10).interleave(lambda x: ks.Dataset.range(100 * x, 100 * x + 50), 4)
    lengths = by_hand([50] * 10, 4, 1)
    assert [int(x) for x in ds] == [100 * i + j for i, j in lengths]


def test_slow_inputs_overlap_in_parallel() -> None:
    together = threading.Barrier(4)

    def slow(x: np.int64) -> ks.Dataset:
        # Passes only if four data sets are read at once.
        return ks.Dataset.range(1).map(lambda y: (together.wait(timeout=30), y))

    assert len(list(ks.Dataset.range(8).interleave(slow, 4, num_parallel_calls=4))) == 8


def test_where_order_is_free_a_slow_input_does_not_hold_up_the_others() -> None:
    def inner(x: np.int64) -> ks.Dataset:
        delay = 0.3 if x == 0 else 0.0
        return ks.Dataset.from_tensors(x).map(lambda y: slept(delay, y))

    ds = ks.Dataset.range(6).interleave(inner, 3, num_parallel_calls=3, deterministic=False)
    got = [int(x) for x in ds]
    assert sorted(got) == list(range(6))
    assert got[0] != 0


def until_error(ds: ks.Dataset, state: Any = None) -> tuple[list[int], Any, str]:
    """The elements before an error, the state behind them, and the error."""
    got: list[int] = []
    it = iter(ds) if state is None else ds.iterate(state)
    with pytest.raises(ValueError, match="not this") as caught, it:
        got.extend(map(int, it))  # which keeps those before the error
    return got, json.loads(json.dumps(it.state())), str(caught.value)


@pytest.mark.parametrize("fails", [0, 1, 3, 5])
@pytest.mark.parametrize("place", ["source", "function"])
@pytest.mark.parametrize(
    "workers", [{"num_parallel_calls": 3}, {"num_parallel_calls": 2, "executor": "process"}]
)
def test_an_input_that_cannot_be_opened_waits_for_its_turn(
    fails: int, place: str, workers: dict[str, Any]
) -> None:
    failing = fails

    def checked(here: str, x: np.int64) -> np.int64:
        if place == here and x == failing:
            raise ValueError(f"not this: {x}")
        return x

    def inner(x: np.int64) -> ks.Dataset:
        return ks.Dataset.range(10 * checked("function", x), 10 * x + 1 + x % 3)

    def pipeline(**workers: Any) -> ks.Dataset:
        ds = ks.Dataset.range(7).map(lambda x: checked("source", x))
        return ds.interleave(inner, cycle_length=3, **workers)

    plain, parallel = pipeline(), pipeline(**workers)
    expected, _, error = until_error(plain)
    got, state, same = until_error(parallel)
    assert (got, same) == (expected, error)
    assert until_error(parallel, state)[0] == []
    for k in range(len(expected)):
        with iter(parallel) as it:
            before = [int(next(it)) for _ in range(k)]
        assert [*before, *until_error(parallel, it.state())[0]] == expected
    assert list(parallel.ignore_errors()) == list(plain.ignore_errors())
    failing = -1
    assert [*expected, *map(int, parallel.iterate(state))] == list(plain)


def test_errors_come_after_the_elements_before_them() -> None:
    def inner(x: np.int64) -> ks.Dataset:
        if x == 2:
            raise ValueError("no such file")
        return ks.Dataset.range(2)

    ds = ks.Dataset.range(4).interleave(inner, cycle_length=1)
    seen: list[int] = []
    with pytest.raises(ValueError, match="no such file") as caught:
        seen.extend(int(x) for x in ds)
    assert seen == [0, 1, 0, 1]
    assert caught.value.__notes__ == ["in interleave(inner, 1), at element 2"]
    assert len(list(ds.ignore_errors())) == 6


def test_a_function_that_returns_no_data_set_is_told_so() -> None:
    with pytest.raises(ks.ElementError, match="must return a Dataset"):
        list(ks.Dataset.range(2).interleave(lambda x: x))


@pytest.mark.parametrize("kwargs", [{"cycle_length": 0}, {"block_length": 0}])
def test_bad_arguments_are_refused(kwargs: dict[str, Any]) -> None:
    with pytest.raises(ks.InvalidArgumentError, match="at least 1"):
        ks.Dataset.range(2).interleave(lambda x: ks.Dataset.range(x), **kwargs)


def in_worker(x: np.int64) -> ks.Dataset:
    first = int(x) * 10
    return ks.Dataset.range(first, first + 7).shuffle(3, seed=1).map(lambda y: (y, os.getpid()))


def test_processes_give_the_same_order_from_elsewhere() -> None:
    def build(executor: str) -> ks.Dataset:
        return ks.Dataset.range(6).interleave(
            in_worker, 3, 2, num_parallel_calls=2, executor=executor
        )

    there, here = list(build("process")), list(build("thread"))
    assert [int(x) for x, _ in there] == [int(x) for x, _ in here]
    assert os.getpid() not in {int(pid) for _, pid in there}
    assert len({int(pid) for _, pid in there}) == 2
    it, taken = iter(build("process")), 0
    for k in (0, 5, 17, 42):
        for _ in range(k - taken):
            next(it)
        taken = k
        rest = build("process").iterate(json.loads(json.dumps(it.state())))
        assert [int(x) for x, _ in rest] == [int(x) for x, _ in there][k:]


def test_errors_and_deaths_of_processes_are_reported() -> None:
    def fails(x: np.int64) -> ks.Dataset:
        return ks.Dataset.range(4).map(lambda y: 1 // (2 - int(y)) if x == 1 else y)

    ds = ks.Dataset.range(2).interleave(fails, 1, num_parallel_calls=1, executor="process")
    seen: list[int] = []
    with pytest.raises(ZeroDivisionError) as caught:
        seen.extend(int(x) for x in ds)
    assert seen == [0, 1, 2, 3, 0, 1]
    assert "at element 2" in "\n".join(caught.value.__notes__)

    def dies(x: np.int64) -> ks.Dataset:
        return ks.Dataset.range(4).map(lambda y: os._exit(5) if x == 1 else y)

    ds = ks.Dataset.range(2).interleave(dies, 1, num_parallel_calls=1, executor="process")
    with pytest.raises(ks.WorkerDiedError, match="exit code 5 at element 1"):
        list(ds)


def test_closing_does_not_wait_for_a_slow_data_set_in_a_process() -> None:
    def endless(x: np.int64) -> ks.Dataset:
        return ks.Dataset.range(100).map(lambda y: slept(60 * int(y), y))

    it = iter(ks.Dataset.range(2).interleave(endless, 2, num_parallel_calls=2, executor="process"))
    next(it)
    began = time.perf_counter()
    it.close()
    assert time.perf_counter() - began < 50  # less than the function sleeps


@pytest.mark.parametrize(
    ("available", "workers", "order"),
    [
        (2, {}, [0, 10, 1, 11, 20, 30, 21, 31]),
        (1, {"num_parallel_calls": ks.AUTOTUNE}, [0, 1, 10, 11, 20, 21, 30, 31]),
        (2, {"num_parallel_calls": ks.AUTOTUNE}, [0, 10, 1, 11, 20, 30, 21, 31]),
        (3, {"cycle_length": -3}, [0, 1, 10, 11, 20, 21, 30, 31]),
        (4, {"cycle_length": -3}, [0, 10, 1, 11, 20, 30, 21, 31]),
        (1, {"num_parallel_calls": 2}, [0, 10, 1, 11, 20, 30, 21, 31]),
        (1, {"num_parallel_calls": 2, "cycle_length": -1}, [0, 10, 1, 11, 20, 30, 21, 31]),
    ],
)
def test_without_a_cycle_length_the_cores_say_how_many_take_turns(
    monkeypatch: pytest.MonkeyPatch, available: int, workers: Any, order: list[int]
) -> None:
    monkeypatch.setattr("keepset.nodes.interleave.cores", lambda: available)
    ds = ks.Dataset.range(4).interleave(lambda x: ks.Dataset.range(10 * x, 10 * x + 2), **workers)
    assert [int(x) for x in ds] == order
