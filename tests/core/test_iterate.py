"""The iterator: states at every element, and nothing left behind."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest

import keepset as ks


def test_a_state_is_taken_and_used_at_every_element_and_at_the_end() -> None:
    ds = ks.Dataset.range(20).batch(3)
    expected = [batch.tolist() for batch in ds]
    it = iter(ds)
    for k in range(len(expected) + 1):
        state = json.loads(json.dumps(it.state()))
        assert [batch.tolist() for batch in ds.iterate(state)] == expected[k:]
        next(it, None)
    assert list(ds.iterate(it.state())) == []


def test_taking_states_does_not_disturb_the_iterator() -> None:
    it = iter(ks.Dataset.range(500).map(lambda x: x).shuffle(50, seed=1).batch(3))
    plain = [
        b.tolist() for b in ks.Dataset.range(500).map(lambda x: x).shuffle(50, seed=1).batch(3)
    ]
    seen = []
    for batch in it:
        it.state()
        seen.append(batch.tolist())
    assert seen == plain


def test_the_state_of_an_addressable_pipeline_is_small_at_any_size() -> None:
    ds = ks.Dataset.range(10**12).map(lambda x: x + 1).shard(7, 3).shuffle(ks.GLOBAL, seed=1)
    it = iter(ds.batch(8).repeat().prefetch(2))
    for _ in range(100):
        next(it)
    assert len(json.dumps(it.state())) < 1024


def test_a_state_of_another_pipeline_is_refused() -> None:
    state = iter(ks.Dataset.range(5).batch(2)).state()
    with pytest.raises(ks.StateError, match="another pipeline"):
        ks.Dataset.range(5).map(lambda x: x).iterate(state)
    with pytest.raises(ks.StateError, match="not an iterator state"):
        ks.Dataset.range(5).iterate({"nonsense": 1})


def test_after_an_error_the_state_points_to_the_element_that_failed() -> None:
    broken = [True]

    def fragile(x: np.int64) -> np.int64:
        if x == 13 and broken[0]:
            raise OSError("try again")
        return x

    ds = ks.Dataset.range(20).map(fragile).batch(2)
    it = iter(ds)
    seen: list[int] = []
    with pytest.raises(OSError, match="try again"):
        seen.extend(int(x) for batch in it for x in batch)
    broken[0] = False
    seen.extend(int(x) for batch in ds.iterate(it.state()) for x in batch)
    assert seen == list(range(20))


def test_closing_ends_the_iteration_and_keeps_the_state() -> None:
    it = iter(ks.Dataset.range(100).prefetch(5))
    next(it)
    it.close()
    assert list(it) == []
    assert next(ks.Dataset.range(100).prefetch(5).iterate(it.state())) == 1
    with iter(ks.Dataset.range(3)) as inside:
        next(inside)
    assert list(inside) == []


def test_a_dropped_iterator_is_gone_with_its_threads() -> None:
    gc.collect()
    before = threading.active_count()
    it = iter(ks.Dataset.range(10**6).map(lambda x: x, num_parallel_calls=2).prefetch(2))
    next(it)
    gone = weakref.ref(it)
    del it
    assert gone() is None
    assert threading.active_count() == before


def test_many_threads_iterate_over_one_data_set() -> None:
    ds = ks.Dataset.range(2000).map(lambda x: x * 2).batch(10)
    sums: list[int] = []
    threads = [
        threading.Thread(target=lambda: sums.append(sum(int(b.sum()) for b in ds)))
        for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sums == [2 * sum(range(2000))] * 6


def test_the_program_ends_although_iterators_are_still_open() -> None:
    program = """
import keepset as ks

slow = ks.Dataset.range(10**9).map(lambda x: x, num_parallel_calls=2).prefetch(4)
apart = ks.Dataset.range(99).map(lambda x: x, num_parallel_calls=2, executor="process")
iterators = [iter(slow), iter(apart)]
print([int(next(it)) for it in iterators])
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "[0, 0]\n"), done.stderr
