"""The iterator: states at every element, and nothing left behind."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keepset as ks
from keepset.core.structure import structure_of
from keepset.nodes.from_sequence import FromSequence


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


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("draws", 1), ("draws", {".0": -0.0}), ("draws", {".0": ["x", 0]}), ("cursor", None)),
        *(
            ("next", "x"),
            ("next", -(2**63) - 1),
            ("next", {}),
            ("given", float("inf")),
            ("skip", [1]),
        ),
    ],
)
def test_a_state_that_was_changed_is_refused(name: str, value: object) -> None:
    ds = ks.Dataset.range(30).shuffle(4, seed=1).batch(4)
    ds = ds.repeat(2) if name == "given" else ds
    it = iter(ds)
    for _ in range(5):
        next(it)
    state = it.state()
    assert _put(state, name, value)
    with pytest.raises(ks.StateError, match="state"):
        list(ds.iterate(state))


def _put(state: object, name: str, value: object) -> bool:
    """Replace each value of this name; whether there are any."""
    inner = state.items() if isinstance(state, dict) else enumerate(state)  # type: ignore[arg-type]
    found = [_put(each, name, value) for _, each in inner if isinstance(each, dict | list)]
    if isinstance(state, dict) and name in state:
        state[name] = value
        return True
    return any(found)


def test_a_state_is_let_go_once_elements_were_read_behind_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class State(dict[str, Any]):
        pass

    def broken(read: Any) -> Any:
        """As if the library itself raised it."""
        values: dict[str, Any] = {}
        text = "def read(*arguments):\n    raise ValueError('of the library')"
        exec(compile(text, read.__code__.co_filename, "exec"), values)
        return values["read"]

    ds = ks.Dataset.range(100_000).batch(2)
    it = iter(ds)
    next(it)
    state = State(it.state())
    held = weakref.ref(state)
    early, late = ds.iterate(state), ds.iterate(state)
    for _ in range(40_000):
        next(late)
    next(early)
    tap = type(early._feed._tap)
    monkeypatch.setattr(tap, "read", broken(tap.read))
    with pytest.raises(ValueError, match="of the library") as caught:
        list(late)
    assert not isinstance(caught.value, ks.StateError)
    with pytest.raises(ks.StateError, match="does not fit the pipeline"):
        list(early)
    del state, early, caught
    gc.collect()
    assert held() is None


WORKERS: list[dict[str, Any]] = [
    {},
    {"num_parallel_calls": 2},
    {"num_parallel_calls": 2, "deterministic": False},
]


@pytest.mark.parametrize("second", WORKERS)
@pytest.mark.parametrize("first", WORKERS)
def test_a_state_taken_with_workers_and_restored_without_says_so(
    first: dict[str, Any], second: dict[str, Any]
) -> None:
    def same(x: np.int64) -> np.int64:
        return x

    # The stages around one that has workers share a loop where it has none.
    pipelines: list[Callable[..., ks.Dataset]] = [
        lambda ds, workers: ds.map(same, **workers),
        lambda ds, workers: ds.map(same, **workers).map(same),
        lambda ds, workers: ds.filter(lambda x: x >= 0).map(same, **workers).batch(2).unbatch(),
        lambda ds, workers: ds.map_batches(same, 4, **workers),
    ]
    for pipeline in pipelines:
        it = iter(pipeline(ks.Dataset.range(20), first))
        given = [int(next(it)) for _ in range(5)]
        with it:
            state = json.loads(json.dumps(it.state()))
        ds = pipeline(ks.Dataset.range(20), second)
        if first == second:
            assert sorted([*given, *map(int, ds.iterate(state))]) == list(range(20))
        else:
            with pytest.raises(ks.StateError, match=r"with workers .* leave it out where it was"):
                list(ds.iterate(state))


def test_a_damaged_state_of_other_workers_says_what_was_raised() -> None:
    ds = ks.Dataset.range(20).map_batches(lambda x: x, 4)
    with iter(ds) as it:
        next(it)
        state = json.loads(json.dumps(it.state()).replace("parent", "damaged"))
    other = ks.Dataset.range(20).map_batches(lambda x: x, 4, num_parallel_calls=2)
    with pytest.raises(ks.StateError, match=r"with workers .* \(KeyError: 'parent'\)"):
        list(other.iterate(state))


def test_a_state_of_interleave_goes_on_with_workers_that_keep_its_order_alone() -> None:
    def pipeline(**workers: Any) -> ks.Dataset:
        ds = ks.Dataset.range(4)
        return ds.interleave(lambda x: ks.Dataset.range(x, x + 3), cycle_length=2, **workers)

    it = iter(pipeline())
    given = [next(it) for _ in range(5)]
    state = it.state()
    assert [*given, *pipeline(num_parallel_calls=2).iterate(state)] == list(pipeline())
    with pytest.raises(ks.StateError, match="deterministic=False"):
        pipeline(num_parallel_calls=2, deterministic=False).iterate(state)


def test_errors_of_functions_stay_as_they_are_behind_a_state() -> None:
    fails = False

    def double(x: int) -> int:
        if fails:
            raise TypeError("not today")
        return 2 * x

    for ds in (ks.Dataset.range(9).map(double), ks.Dataset.range(9).map(double).batch(2)):
        fails = False
        it = iter(ds)
        next(it)
        state, fails = it.state(), True
        with pytest.raises(TypeError, match="not today"):
            list(ds.iterate(state))


def test_errors_of_sources_stay_as_they_are_behind_a_state() -> None:
    class Source:
        fails = False

        def __len__(self) -> int:
            return 9

        def __getitem__(self, i: int) -> int:
            if self.fails:
                raise ValueError("the source is gone")
            return i

    source = Source()
    ds = ks.Dataset(FromSequence(sequence=source)).batch(2)
    it = iter(ds)
    next(it)
    source.fails = True
    with pytest.raises(ValueError, match="the source is gone") as caught:
        list(ds.iterate(it.state()))
    assert not isinstance(caught.value, ks.StateError)


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


LATE = """
import contextlib, io, sys, tempfile, threading
import numpy as np
import keepset as ks
from keepset.cli.main import main

def double(x):
    return 2 * x

def picture(x):
    return np.zeros((2, 2, 3), np.uint8)

def with_csv(ds, path):
    ds.write_csv(path + "/x.csv")
    return ds.map(double)

def with_images(ds, path):
    ds.map(picture).write_images(path)
    return ds.map(double)

def with_commands(ds, path):
    ds.map(double).save(path)
    with contextlib.redirect_stdout(io.StringIO()):
        for command in ("ls", "verify"):
            assert not main([command, path], standalone_mode=False)
    return ds.map(double)

def train():
    threading.main_thread().join()
    pipelines = {
        "map": lambda ds: ds.map(double),
        "workers": lambda ds: ds.map(double, num_parallel_calls=2).prefetch(2),
        "snapshot": lambda ds: ds.map(double).snapshot(sys.argv[2]),
        "csv": lambda ds: with_csv(ds, tempfile.mkdtemp(dir=sys.argv[2])),
        "images": lambda ds: with_images(ds, tempfile.mkdtemp(dir=sys.argv[2])),
        "commands": lambda ds: with_commands(ds, tempfile.mkdtemp(dir=sys.argv[2])),
        "load": lambda ds: ks.load(ds.map(double).save(sys.argv[2]) or sys.argv[2]),
    }
    for _ in range(2):
        print(list(map(int, pipelines[sys.argv[1]](ks.Dataset.range(3)))))

threading.Thread(target=train).start()
"""


@pytest.mark.parametrize(
    "pipeline", ["map", "workers", "snapshot", "load", "csv", "images", "commands"]
)
def test_a_first_pass_may_begin_when_the_main_thread_has_ended(
    pipeline: str, tmp_path: Path
) -> None:
    command = [sys.executable, "-c", LATE, pipeline, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("[0, 2, 4]\n" * 2, "")


PIPELINES = {
    "range": lambda: ks.Dataset.range(20_000),
    "dicts": lambda: ks.Dataset.from_tensor_slices(
        {"a": np.arange(20_000), "b": np.arange(20_000)}
    ),
    "nested": lambda: ks.Dataset.from_tensor_slices(
        {"a": {"c": np.arange(20_000)}, "b": np.arange(20_000)}
    ),
    "map": lambda: ks.Dataset.range(20_000).map(lambda x: x + 1),
    "filter": lambda: ks.Dataset.range(20_000).filter(lambda x: x % 3 == 0).map(lambda x: x * 2),
    "shuffle": lambda: ks.Dataset.range(20_000).shuffle(100, seed=1),
    "prefetch": lambda: ks.Dataset.range(20_000).prefetch(4),
    "scan": lambda: ks.Dataset.range(20_000).scan(0, lambda s, x: (s + x, s)),
}


def number(element: object) -> int:
    """The one number of which all leaves are made."""
    structure = structure_of(element)
    found = {int(leaf) for leaf in structure.leaves(element)}
    assert len(found) == 1, f"leaves of two elements were mixed: {element}"
    return found.pop()


@pytest.mark.parametrize("begun", [0, 5, 500])
@pytest.mark.parametrize("name", PIPELINES)
def test_threads_share_an_iterator(name: str, begun: int) -> None:
    ds = PIPELINES[name]()
    expected = sorted(map(number, ds.iterate(iter(ds).state())))
    it = ds.iterate(iter(ds).state())
    taken = [[number(next(it)) for _ in range(begun)]]
    states: list[Any] = []

    def take() -> None:
        mine: list[int] = []
        taken.append(mine)
        while (element := next(it, None)) is not None:
            mine.append(number(element))
            if len(mine) % 1000 == 0:
                states.append(it.state())

    run_all([take] * 4)
    assert sorted(x for each in taken for x in each) == expected
    json.dumps(states)


def run_all(functions: list[Callable[[], None]]) -> None:
    """Run functions in threads of their own; none may hang or fail."""
    failures: list[BaseException] = []

    def guarded(function: Callable[[], None]) -> None:
        try:
            function()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(f,), daemon=True) for f in functions]
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    finally:
        sys.setswitchinterval(usual)
    assert not any(thread.is_alive() for thread in threads)
    if failures:
        raise failures[0]


def test_a_function_is_called_by_one_thread_at_a_time() -> None:
    inside: list[int] = []

    def slow(x: np.int64) -> np.int64:
        inside.append(1)
        assert len(inside) == 1
        time.sleep(0.0002)
        inside.pop()
        return x

    it = iter(ks.Dataset.range(200).map(slow))
    taken: list[int] = []
    run_all([lambda: taken.extend(int(x) for x in it)] * 4)
    assert sorted(taken) == list(range(200))


def test_a_state_of_another_thread_is_exact() -> None:
    def slow(x: np.int64) -> np.int64:
        time.sleep(0.0005)
        return x

    ds = (
        ks.Dataset.range(300).filter(lambda x: x % 3 > 0).random_map(lambda x, rng: slow(x), seed=1)
    )
    it = iter(ds)
    taken: list[int] = []
    states: list[tuple[int, Any, int]] = []
    was_watched = threading.Semaphore(0)

    def take() -> None:
        for x in it:
            taken.append(int(x))
            if len(taken) % 20 == 0 and len(taken) < 150:
                assert was_watched.acquire(timeout=60)  # however busy the machine is

    def watch() -> None:
        while len(taken) < 150:
            before, state, after = len(taken), it.state(), len(taken)
            states.append((before, state, after))
            was_watched.release()

    run_all([take, watch])
    assert len(states) > 3
    for before, state, after in states[:: max(1, len(states) // 10)]:
        rest = [int(x) for x in ds.iterate(state)]
        # The consumer may have been handed an element that it had not noted yet.
        assert taken[len(taken) - len(rest) :] == rest
        assert before <= len(taken) - len(rest) <= after + 1


def slowly(x: np.int64) -> np.int64:
    time.sleep(0.0002)
    return x


@pytest.mark.parametrize("stage", ["map", "threads", "prefetch", "range"])
def test_an_iterator_is_closed_while_other_threads_read(stage: str) -> None:
    ds = ks.Dataset.range(10**9)
    if stage != "range":
        ds = ds.map(slowly, 2 if stage == "threads" else None)
    if stage == "prefetch":
        ds = ds.prefetch(2)
    it = iter(ds)
    begun = threading.Barrier(4)

    def take() -> None:
        next(it)
        begun.wait()
        for _ in it:
            pass

    def close() -> None:
        begun.wait()
        it.close()

    run_all([take, take, take, close])
    assert list(it) == []


def test_a_waiting_thread_is_woken_by_close(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("keepset.core.iterate._PATIENCE_S", 0.05)
    monkeypatch.setattr("keepset.nodes.prefetch._PATIENCE_S", 0.05)
    going_on = threading.Event()

    def stuck(x: np.int64) -> np.int64:
        if x == 3:
            going_on.wait()
        return x

    it = iter(ks.Dataset.range(9).map(stuck).prefetch(1))
    assert [int(next(it)) for _ in range(3)] == [0, 1, 2]
    taken: list[int] = []
    reader = threading.Thread(target=lambda: taken.extend(it), daemon=True)
    reader.start()
    it.close()
    reader.join(60)
    assert not reader.is_alive()
    assert taken == []
    going_on.set()


def test_a_function_that_reads_its_own_iterator_gets_an_error() -> None:
    it = iter(ks.Dataset.range(9).map(lambda x: next(it)))
    with pytest.raises(RuntimeError, match="very iterator"):
        next(it)
    source = iter(ks.Dataset.from_generator(lambda: iter(lambda: next(source), None)))
    with pytest.raises(RuntimeError, match="very iterator"):
        next(source)


def test_a_thread_that_meets_an_error_ends_the_iteration_for_all() -> None:
    def bad(x: np.int64) -> np.int64:
        if x == 500:
            raise OSError("broken")
        return x

    it = iter(ks.Dataset.range(10_000).map(bad))
    taken: list[int] = []
    errors: list[str] = []

    def take() -> None:
        try:
            taken.extend(int(x) for x in it)
        except OSError as error:
            errors.append(str(error))

    run_all([take] * 4)
    assert sorted(taken) == list(range(500))
    assert errors == ["broken"]


FORKED = """
import os, sys
import keepset as ks

place = sys.argv[1]
ds = {
    "prefetch": lambda: ks.Dataset.range(5000).map(lambda x: x).prefetch(4),
    "threads": lambda: ks.Dataset.range(5000).map(lambda x: x, 2),
    "processes": lambda: ks.Dataset.range(5000).map(lambda x: x, 1, executor="process"),
    "interleave": lambda: ks.Dataset.range(5).interleave(lambda x: ks.Dataset.range(1000), 2, 1, 2),
    "cache": lambda: ks.Dataset.range(5000).map(lambda x: x).cache(place),
    "snapshot": lambda: ks.Dataset.range(5000).map(lambda x: x).snapshot(place, fingerprint="f"),
}[sys.argv[2]]()
it = iter(ds)
given = [int(next(it)) for _ in range(2000)]
child = os.fork()
if child == 0:
    try:
        next(it)
    except ks.StateError:
        sys.exit(7)  # with all that the interpreter does at its end
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
whole = given + [int(x) for x in it]
assert sorted(whole) == sorted(int(x) for x in ds), "the parent was disturbed"
"""


@pytest.mark.parametrize(
    "stage", ["prefetch", "threads", "processes", "interleave", "cache", "snapshot"]
)
def test_a_child_that_ends_leaves_its_parent_alone(tmp_path: Path, stage: str) -> None:
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKED]
    subprocess.run([*command, str(tmp_path / "place"), stage], timeout=60, check=True)


def test_an_iterator_that_is_over_needs_no_lock() -> None:
    """In a forked process, a thread that was about to release it may hold it for ever."""
    iterator = iter(ks.Dataset.range(3).map(lambda x: x))
    list(iterator)
    end = iterator.state()
    held, over = threading.Event(), threading.Event()

    def hold() -> None:
        with iterator._feed._lock:
            held.set()
            over.wait(20)

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        assert held.wait(20)
        assert next(iterator, None) is None
        assert iterator.state() == end
        assert not over.is_set()
    finally:
        over.set()
        thread.join()
