"""What stands around a snapshot, before it or behind it, does not change what it stores."""

from __future__ import annotations

import contextlib
import functools
import gc
import itertools
import json
import os
import shutil
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keepset as ks
from keepset.errors import StateError
from keepset.format.log import Log
from keepset.snapshot.reading.opening import fingerprints_at
from keepset.storage import open_store

COUNT = 12


@pytest.fixture(params=["local", "memory"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], str]:
    def path(name: str) -> str:
        return str(tmp_path / name) if request.param == "local" else f"memory://{tmp_path}/{name}"

    return path


def values(ds: Any) -> list[int]:
    return [int(x) for x in ds]


def jitter(x: Any, rng: np.random.Generator) -> int:
    return int(x) * 1000 + int(rng.integers(1000))


RANDOM: dict[str, Callable[[], ks.Dataset]] = {
    "shuffle": lambda: ks.Dataset.range(COUNT).shuffle(COUNT, seed=3),
    "small shuffle": lambda: ks.Dataset.range(COUNT).shuffle(4, seed=3),
    "global shuffle": lambda: ks.Dataset.range(COUNT).shuffle(ks.GLOBAL, seed=3),
    "random_map": lambda: ks.Dataset.range(COUNT).map(lambda x: x).random_map(jitter, seed=5),
    "one stage twice": lambda: _twice(ks.Dataset.range(COUNT).shuffle(COUNT, seed=3)),
    "shuffle in flat_map": lambda: ks.Dataset.range(3).flat_map(
        lambda i: ks.Dataset.range(4).map(lambda x: x + 4 * i).shuffle(4, seed=1)
    ),
}


def _twice(ds: ks.Dataset) -> ks.Dataset:
    return ks.Dataset.zip((ds, ds)).map(lambda a, b: a * 100 + b)


BEHIND: dict[str, Callable[[ks.Dataset], ks.Dataset]] = {
    "repeat": lambda ds: ds.repeat(2),
    "repeat twice": lambda ds: ds.repeat(2).repeat(2),
    "flat_map": lambda ds: ks.Dataset.range(3).flat_map(lambda _: ds),
    "interleave": lambda ds: ks.Dataset.range(2).interleave(lambda _: ds, cycle_length=2),
    "zip": lambda ds: ks.Dataset.zip((ks.Dataset.range(COUNT), ds)),
    "concatenate": lambda ds: ks.Dataset.range(0).concatenate(ds),
    "shuffle": lambda ds: ds.shuffle(5, seed=9),
}


@pytest.mark.parametrize("behind", BEHIND.values(), ids=BEHIND)
@pytest.mark.parametrize("make", RANDOM.values(), ids=RANDOM)
def test_what_stands_behind_does_not_change_what_is_stored(
    make: Callable[[], ks.Dataset],
    behind: Callable[[ks.Dataset], ks.Dataset],
    place: Callable[[str], str],
) -> None:
    alone = values(make().snapshot(place("alone")))
    list(behind(make().snapshot(place("behind"))))
    assert values(make().snapshot(place("behind"))) == alone


@pytest.mark.parametrize("make", RANDOM.values(), ids=RANDOM)
def test_a_first_pass_is_that_of_the_pipeline_without_a_snapshot(
    make: Callable[[], ks.Dataset], place: Callable[[str], str]
) -> None:
    assert values(make().snapshot(place("a"))) == values(make())


@pytest.mark.parametrize("make", RANDOM.values(), ids=RANDOM)
@pytest.mark.parametrize("stop", [1, 5, COUNT - 1])
def test_an_interrupted_repetition_goes_on(
    make: Callable[[], ks.Dataset], place: Callable[[str], str], stop: int
) -> None:
    expected = values(make())
    path = place("a")
    assert values(make().snapshot(path).repeat(2).take(stop)) == expected[:stop]
    assert values(make().snapshot(path).repeat(2)) == 2 * expected


def test_a_state_of_one_repetition_goes_on_in_another_place(place: Callable[[str], str]) -> None:
    make = RANDOM["shuffle"]
    expected = values(make().snapshot(place("stored")))
    iterator = iter(make().snapshot(place("other")).repeat(1))
    seen = [int(next(iterator)) for _ in range(3)]
    state = json.loads(json.dumps(iterator.state()))
    iterator.close()
    assert seen + values(make().snapshot(place("stored")).repeat(1).iterate(state)) == expected


@pytest.mark.filterwarnings("ignore:shuffle.* has no seed")
def test_a_state_of_another_draw_is_refused(place: Callable[[str], str]) -> None:
    path = place("a")

    def dataset(**settings: Any) -> ks.Dataset:
        return ks.Dataset.range(30).shuffle(30).snapshot(path, **settings)

    iterator = iter(dataset())
    for _ in range(10):
        next(iterator)
    state = iterator.state()
    iterator.close()
    with pytest.warns(UserWarning, match="starts over"):
        list(dataset(mode="write"))
    with pytest.raises(StateError, match="drawn another seed"):
        next(dataset().iterate(state))


@pytest.mark.filterwarnings("ignore:shuffle.* has no seed")
def test_who_passes_through_draws_what_is_stored(place: Callable[[str], str]) -> None:
    """So that workers of a loader, of which one writes, agree on the order."""
    path = place("a")

    def dataset() -> ks.Dataset:
        return ks.Dataset.range(30).shuffle(30).snapshot(path)

    first = values(dataset().take(10))
    writer = iter(dataset())
    assert [int(next(writer)) for _ in range(12)][:10] == first
    found: list[list[int]] = []
    thread = threading.Thread(target=lambda: found.append(values(dataset())))
    thread.start()
    thread.join()
    writer.close()
    assert found == [values(dataset())]
    assert sorted(found[0]) == list(range(30))


# Elements that fail


def fails_at_3(x: Any) -> Any:
    if x == 3:
        raise ValueError("bad record")
    return x


def test_a_pass_that_goes_on_behind_an_error_is_not_stored_as_a_whole(
    place: Callable[[str], str],
) -> None:
    ds = ks.Dataset.range(6).map(fails_at_3).snapshot(place("a"))
    with pytest.warns(UserWarning, match=r"element 3 failed.*put ignore_errors\(\) before"):
        assert values(ds.ignore_errors()) == [0, 1, 2, 4, 5]
    with pytest.raises(ValueError, match="bad record"):
        values(ds)
    before = ks.Dataset.range(6).map(fails_at_3).ignore_errors().snapshot(place("b"))
    assert values(before) == values(before) == [0, 1, 2, 4, 5]


def test_an_element_that_failed_once_is_stored_the_next_time(place: Callable[[str], str]) -> None:
    down = [True]

    def fetched(x: Any) -> Any:
        if x == 3 and down[0]:
            raise OSError("server busy")
        return x

    ds = ks.Dataset.range(6).map(fetched).snapshot(place("a"), ignore=["captured down"])
    with pytest.warns(UserWarning, match="element 3 failed"):
        assert values(ds.ignore_errors()) == [0, 1, 2, 4, 5]
    down[0] = False
    assert values(ds) == values(ds) == list(range(6))


def test_an_error_of_a_generator_is_not_stored_as_its_end(place: Callable[[str], str]) -> None:
    def rows() -> Iterator[int]:
        yield from range(4)
        raise OSError("connection lost")

    ds = ks.Dataset.from_generator(rows).snapshot(place("a"))
    for _ in range(2):
        with (
            pytest.warns(UserWarning, match="element 4 failed"),
            pytest.warns(UserWarning, match="the generator has ended"),
        ):
            assert values(ds.ignore_errors()) == [0, 1, 2, 3]
        with pytest.raises(OSError, match="connection lost"):
            list(ds)


# What is remembered before a snapshot

SCALE = 1


def scaled(x: Any) -> Any:
    return x * SCALE


@pytest.mark.parametrize("filename", [False, True])
def test_a_cache_before_a_snapshot_gives_nothing_old(
    place: Callable[[str], str], tmp_path: Path, filename: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = str(tmp_path / "cache") if filename else ""

    def dataset() -> ks.Dataset:
        return ks.Dataset.range(5).map(scaled).cache(file)

    cached = dataset()
    assert values(cached) == [0, 1, 2, 3, 4]
    ds = cached.snapshot(place("a"))
    assert values(ds) == [0, 1, 2, 3, 4]
    monkeypatch.setitem(globals(), "SCALE", 2)
    assert values(ds) == [0, 2, 4, 6, 8]
    assert values(dataset().snapshot(place("a"))) == [0, 2, 4, 6, 8]
    assert values(cached) == [0, 1, 2, 3, 4]  # as without a snapshot


def test_a_cache_of_a_nested_pipeline_gives_nothing_old(
    place: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = ks.Dataset.range(3).map(scaled).cache()
    ds = ks.Dataset.range(2).flat_map(lambda _: inner).snapshot(place("a"))
    assert values(ds) == [0, 1, 2] * 2
    monkeypatch.setitem(globals(), "SCALE", 2)
    assert values(ds) == [0, 2, 4] * 2


class Counter:
    """A function with state of its own."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, x: Any) -> int:
        self.calls += 1
        return self.calls


# Pipelines that read a cache more than once, which gives the same each time.
READ_AGAIN: dict[str, Callable[[Callable[..., ks.Dataset]], ks.Dataset]] = {
    "shuffle": lambda cache: cache(ks.Dataset.range(9).shuffle(4, seed=3)).repeat(3),
    "nested repeat": lambda cache: (
        cache(ks.Dataset.range(9).shuffle(4, seed=3)).repeat(2).repeat(2)
    ),
    "random_map": lambda cache: cache(ks.Dataset.range(9).random_map(jitter, seed=1)).repeat(2),
    "part of it": lambda cache: cache(ks.Dataset.range(9).shuffle(4, seed=3)).take(5).repeat(3),
    "counter": lambda cache: cache(ks.Dataset.range(9).map(Counter())).repeat(2),
    "two ways": lambda cache: (lambda ds: ds.concatenate(ds))(
        cache(ks.Dataset.range(9).shuffle(4, seed=3, reshuffle_each_iteration=True))
    ),
    "flat_map": lambda cache: (lambda ds: ks.Dataset.range(3).flat_map(lambda _: ds))(
        cache(ks.Dataset.range(9).random_map(jitter, seed=1))
    ),
}


# An interrupted pass of a counter starts over, with a warning.
@pytest.mark.filterwarnings("ignore:.*starts over.*state of their own")
@pytest.mark.parametrize("filename", [False, True])
@pytest.mark.parametrize("make", READ_AGAIN.values(), ids=READ_AGAIN)
def test_a_cache_that_is_read_again_gives_the_same_as_without_a_snapshot(
    place: Callable[[str], str],
    tmp_path: Path,
    make: Callable[[Callable[..., ks.Dataset]], ks.Dataset],
    filename: bool,
) -> None:
    numbers = itertools.count()

    def pipeline() -> ks.Dataset:
        file = str(tmp_path / f"cache-{next(numbers)}") if filename else ""
        return make(lambda ds: ds.cache(file))

    expected = values(pipeline())
    for stop in range(0, len(expected) + 1, 4):
        path = place(f"stopped at {stop}")
        assert values(pipeline().snapshot(path).take(stop)) == expected[:stop]
        assert values(pipeline().snapshot(path)) == expected
        assert values(pipeline().snapshot(path, mode="read")) == expected
    gc.collect()
    assert {each.name for each in tmp_path.glob("cache-*")} <= {"cache-0"}


def test_a_cache_counts_where_it_is_read_again(place: Callable[[str], str]) -> None:
    shuffled = ks.Dataset.range(9).shuffle(4, seed=3)
    values(shuffled.snapshot(place("once")))
    assert ks.explain(shuffled.cache(), place("once")).hit
    values(shuffled.repeat(2).snapshot(place("again")))
    assert not ks.explain(shuffled.cache().repeat(2), place("again")).hit
    assert ks.explain(shuffled.repeat(2).cache(), place("again")).hit


# Consumers that count


@pytest.mark.parametrize(
    "consume",
    [
        lambda ds: list(ks.Dataset.zip((ks.Dataset.range(COUNT), ds))),
        lambda ds: list(ds.take(COUNT)),
        lambda ds: [next(it) for it in [iter(ds)] for _ in range(COUNT)],
    ],
    ids=["zip", "take", "a loop of steps"],
)
def test_a_pass_that_gave_everything_is_complete(
    place: Callable[[str], str], consume: Callable[[ks.Dataset], Any]
) -> None:
    ds = ks.Dataset.range(COUNT).map(lambda x: x + 1).snapshot(place("a"))
    consume(ds)
    assert ks.explain(ds, place("a")).is_complete


def test_a_pass_that_failed_at_its_last_element_is_not_complete(
    place: Callable[[str], str],
) -> None:
    ds = ks.Dataset.range(4).map(fails_at_3).snapshot(place("a"))
    with pytest.raises(ValueError, match="bad record"):
        list(ds)
    assert not ks.explain(ds, place("a")).is_complete


def test_a_promised_number_of_elements_makes_no_pass_complete(place: Callable[[str], str]) -> None:
    ds = ks.Dataset.range(5).map(lambda x: x + 1).assert_cardinality(3).snapshot(place("a"))
    list(ds.take(3))
    for each in (ds, ds, ds.ignore_errors()):  # a promise of the pipeline, not of an element
        with pytest.raises(ks.CardinalityError, match="3 elements were promised"):
            list(each)
    assert not ks.explain(ds, place("a")).is_complete


def test_repetitions_use_the_same_workers(place: Callable[[str], str]) -> None:
    path = place("a")
    ds = ks.Dataset.range(6).map(lambda x: x + 1, num_parallel_calls=2, executor="process")
    counts = []
    for i, _ in enumerate(ds.snapshot(path, mode="passthrough").repeat(6)):
        if i % 6 == 5:
            counts.append(len(_children()))
    assert len(set(counts)) == 1, counts


def _children() -> list[int]:
    found, todo = [], [os.getpid()]
    while todo:
        task = Path(f"/proc/{todo.pop()}/task")
        for thread in task.iterdir() if task.exists() else ():
            inner = [int(each) for each in (thread / "children").read_text().split()]
            found += inner
            todo += inner
    return found


# Iterators of one process


@pytest.mark.parametrize("pending", ["passthrough", "wait", "follow"])
def test_no_pass_waits_for_an_iterator_of_its_own_loop(
    place: Callable[[str], str], pending: str
) -> None:
    ds = ks.Dataset.range(6).map(lambda x: x + 1).snapshot(place("a"), on_pending=pending)
    pairs = ks.Dataset.zip((ds, ds.skip(1)))
    assert [(int(a), int(b)) for a, b in pairs] == [(i, i + 1) for i in range(1, 6)]
    held = ks.Dataset.range(6).map(lambda x: x + 2).snapshot(place("b"), on_pending=pending)
    iterator = iter(held)
    next(iterator)
    with pytest.warns(UserWarning, match="another iterator of this process is still open"):
        assert values(held) == list(range(2, 8))
    iterator.close()
    assert values(held) == values(held) == list(range(2, 8))
    assert ks.explain(held, place("b")).is_complete


def test_an_interrupt_while_a_pass_begins_leaves_no_writer_behind(
    place: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ds = ks.Dataset.range(50).map(lambda x: x + 1).snapshot(place("a"))
    start = threading.Thread.start

    def interrupted(thread: threading.Thread) -> None:
        start(thread)
        if thread.name == "keepset-lease":
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", interrupted)
        with pytest.raises(KeyboardInterrupt):
            list(ds)
    list(ds)
    assert ks.explain(ds, place("a")).is_complete


# What explain says


def memo_of(seen: dict[int, int]) -> Callable[[Any], int]:
    def remembered(x: Any) -> int:
        return seen.setdefault(int(x), len(seen))

    return remembered


def test_explain_says_what_a_pass_does(place: Callable[[str], str]) -> None:
    path = place("a")

    def dataset(**settings: Any) -> ks.Dataset:
        return ks.Dataset.range(9).map(memo_of({})).snapshot(path, **settings)

    list(dataset().take(4))
    explained = ks.explain(dataset(), path)
    assert (explained.hit, explained.kept_elements) == (False, 4)
    assert "state of their own" in str(explained)
    with pytest.warns(UserWarning, match="starts over"):
        list(dataset())
    assert ks.explain(dataset(), path).hit
    for mode in ("write", "passthrough"):
        again = ks.explain(dataset(mode=mode), path)
        assert (again.hit, str(again)) == (
            False,
            f"miss: 9 elements are kept in {again.url}; mode={mode!r} computes all of them again",
        )


def test_explain_says_that_mode_read_raises(place: Callable[[str], str]) -> None:
    path = place("a")

    def dataset(mode: str, count: int = 9) -> ks.Dataset:
        return ks.Dataset.range(count).snapshot(path, mode=mode)

    def explained() -> str:
        reading = dataset("read")
        with pytest.raises(ks.SnapshotMissingError):
            list(reading)
        why = ks.explain(reading, path)
        assert not why.hit
        assert "mode='read' computes nothing, so that a pass raises SnapshotMissing" in str(why)
        return str(why)

    assert explained().startswith("miss: nothing is kept")
    list(dataset("auto", 8))
    assert "range > stop: 8 -> 9" in explained()
    list(dataset("auto").take(4))
    assert explained().startswith("miss: 4 elements are kept")
    list(dataset("auto"))
    assert ks.explain(dataset("read"), path).hit
    assert len(list(dataset("read"))) == 9


VOCABULARY: dict[int, int] = {}
written = 0


def number_of(x: Any) -> int:
    return VOCABULARY.setdefault(int(x) % 3, len(VOCABULARY))


def counted(x: Any) -> Any:
    global written
    written += 1
    return x


@pytest.mark.parametrize("executor", ["thread", "process"])
def test_state_that_workers_share_is_warned_of(
    place: Callable[[str], str], executor: str, recwarn: pytest.WarningsRecorder
) -> None:
    ds = ks.Dataset.range(6)
    how: dict[str, Any] = {"num_parallel_calls": 2, "executor": executor}
    ds.map(number_of).snapshot(place("a"))
    ds.map(counted, **how).snapshot(place("a"))
    ds.map(number_of, **how).snapshot(place("a"), ignore=["global VOCABULARY"])
    assert not recwarn.list
    workers = {"thread": "threads", "process": "processes"}[executor]
    with pytest.warns(UserWarning, match=rf"global VOCABULARY is written and .* {workers} at once"):
        ds.map(number_of, **how).snapshot(place("a"))


WORKERS: dict[str, dict[str, Any]] = {
    "none": {},
    "two": {"num_parallel_calls": 2},
    "four": {"num_parallel_calls": 4},
    "unordered": {"num_parallel_calls": 2, "deterministic": False},
    "prefetched": {"prefetch": 3},
}


@pytest.mark.parametrize("second", WORKERS)
@pytest.mark.parametrize("first", WORKERS)
def test_an_interrupted_pass_goes_on_with_other_workers(
    tmp_path: Path, first: str, second: str
) -> None:
    seen: list[int] = []

    def double(x: np.int64) -> np.int64:
        seen.append(int(x))
        return x * 2

    def pipeline(prefetch: int = 0, **workers: Any) -> ks.Dataset:
        ds = ks.Dataset.range(100).map(double, **workers)
        return (ds.prefetch(prefetch) if prefetch else ds).snapshot(tmp_path)

    it = iter(pipeline(**WORKERS[first]))
    for _ in range(60):
        next(it)
    it.close()
    [name] = fingerprints_at(open_store(tmp_path))
    state = Log(open_store(tmp_path).sub(f"{name}/")).state()
    stored = 100 if state.version else state.appends[-1].stop
    seen.clear()
    assert [int(x) for x in pipeline(**WORKERS[second])] == [2 * i for i in range(100)]
    assert sorted(seen) == list(range(stored - 1, 100)) * (stored < 100)


@pytest.mark.parametrize("second", WORKERS)
@pytest.mark.parametrize("first", WORKERS)
def test_a_state_goes_on_at_the_right_element_or_is_refused(first: str, second: str) -> None:
    def pipeline(prefetch: int = 0, **workers: Any) -> ks.Dataset:
        ds = ks.Dataset.range(20).map(lambda x: x * 2, **workers)
        return ds.prefetch(prefetch) if prefetch else ds

    it = iter(pipeline(**WORKERS[first]))
    given = [int(next(it)) for _ in range(5)]
    state = it.state()
    it.close()
    try:
        given += [int(x) for x in pipeline(**WORKERS[second]).iterate(state)]
    except StateError:
        assert first != second
    else:
        assert sorted(given) == [2 * i for i in range(20)]


def test_an_outer_snapshot_starts_over_if_an_inner_one_was_drawn_anew(tmp_path: Path) -> None:
    def outer() -> ks.Dataset:
        inner = ks.Dataset.range(100).shuffle(50).snapshot(tmp_path / "inner", fingerprint="i")
        return inner.map(lambda x: x + 1).snapshot(tmp_path / "outer", fingerprint="o")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        it = iter(outer())
        for _ in range(60):
            next(it)
        it.close()
        shutil.rmtree(tmp_path / "inner")
        list(ks.Dataset.range(100).shuffle(50).snapshot(tmp_path / "inner", fingerprint="i"))
        for _ in range(2):
            assert sorted(int(x) for x in outer()) == list(range(1, 101))


@pytest.mark.parametrize("classes", [2, 60])
@pytest.mark.parametrize(("first", "second"), [(3, 0), (0, 3), (3, 3), (0, 0)])
def test_two_orders_that_chance_has_drawn_are_not_mixed(
    tmp_path: Path, first: int, second: int, classes: int
) -> None:
    """A prefetch was added or removed since: the shuffle goes on with the seed that is stored."""

    def pipeline(number: int, prefetch: int) -> ks.Dataset:
        ds = ks.Dataset.range(60).shuffle(6).map(lambda x: x % classes * 100 + x // 30)
        ds = ds.prefetch(prefetch) if prefetch else ds
        return ds.snapshot(tmp_path / str(number), fingerprint="f", chunk_bytes=64)

    expected = sorted(i % classes * 100 + i // 30 for i in range(60))
    for number in range(6):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            it = iter(pipeline(number, first))
            for _ in range(40):
                next(it)
            it.close()
            for _ in range(2):
                assert sorted(int(x) for x in pipeline(number, second)) == expected


def one_each(x: Any) -> ks.Dataset:
    return ks.Dataset.from_tensors(x)


RANDOM_STAGES: dict[str, Callable[[ks.Dataset], ks.Dataset]] = {
    "flat_map": lambda ds: ds.flat_map(one_each),
    "interleave": lambda ds: ds.interleave(one_each, cycle_length=3),
    "random_map": lambda ds: ds.random_map(jitter, seed=3),
    "random_map, unseeded": lambda ds: ds.random_map(jitter),
    "shuffle": lambda ds: ds.shuffle(10, seed=5),
    "shuffle, unseeded": lambda ds: ds.shuffle(10),
    "two shuffles": lambda ds: ds.shuffle(10).map(lambda x: x).shuffle(7),
}
PHYSICAL: dict[str, Callable[[ks.Dataset], ks.Dataset]] = {
    "none": lambda ds: ds,
    "prefetch": lambda ds: ds.prefetch(2),
    "two": lambda ds: ds.prefetch(2).prefetch(3),
    "cache": lambda ds: ds.cache(),
    "cache and prefetch": lambda ds: ds.cache().prefetch(2),
    "options": lambda ds: ds.with_options(ks.Options(deterministic=True)),
}


@pytest.mark.parametrize("second", PHYSICAL)
@pytest.mark.parametrize("first", ["none", "prefetch"])
@pytest.mark.parametrize("name", RANDOM_STAGES)
def test_an_interrupted_pass_goes_on_with_other_physical_stages(
    tmp_path: Path, name: str, first: str, second: str
) -> None:
    def pipeline(physical: str) -> ks.Dataset:
        ds = RANDOM_STAGES[name](ks.Dataset.range(100).map(lambda x: x))
        return PHYSICAL[physical](ds).snapshot(tmp_path)

    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        with contextlib.closing(iter(pipeline(first))) as it:
            beginning = [int(next(it)) for _ in range(60)]
        given = values(pipeline(second))
        again = values(pipeline("none"))
    assert not [w for w in warned if "starts over" in str(w.message)]
    assert given[:60] == beginning
    assert again == given
    plain = [x // 1000 for x in given] if "random_map" in name else given
    assert sorted(plain) == list(range(100))


def test_a_prefetch_at_the_end_does_not_call_functions_again(tmp_path: Path) -> None:
    seen: list[int] = []

    def noted(x: np.int64) -> np.int64:
        time.sleep(0.002)  # so that the place of each element is noted
        seen.append(int(x))
        return x

    def pipeline(prefetch: int) -> ks.Dataset:
        ds = ks.Dataset.range(50).map(noted).flat_map(one_each)
        ds = ds.prefetch(prefetch) if prefetch else ds
        return ds.snapshot(tmp_path, fingerprint="f")

    with contextlib.closing(iter(pipeline(0))) as it:
        for _ in range(30):
            next(it)
    seen.clear()
    assert values(pipeline(2)) == list(range(50))
    assert 25 <= min(seen) <= 29  # a place is noted now and then
    assert sorted(seen) == list(range(min(seen), 50))


@pytest.mark.parametrize(("first", "second"), [(2, 0), (0, 2), (2, 3)])
@pytest.mark.parametrize("seed", [5, None])
def test_a_state_holds_when_the_snapshot_was_completed_with_another_prefetch(
    tmp_path: Path, first: int, second: int, seed: int | None
) -> None:
    def pipeline(prefetch: int) -> ks.Dataset:
        ds = ks.Dataset.range(40).shuffle(10, seed=seed)
        return (ds.prefetch(prefetch) if prefetch else ds).snapshot(tmp_path, fingerprint="f")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the shuffle without a seed
        with contextlib.closing(iter(pipeline(first))) as it:
            given = [int(next(it)) for _ in range(7)]
            state = it.state()
        whole = values(pipeline(second))
        assert given + values(pipeline(first).iterate(state)) == whole
    assert sorted(whole) == list(range(40))


def test_a_snapshot_that_is_removed_before_another_leaves_no_mixed_order(tmp_path: Path) -> None:
    """The inner one replays an order that the draws of the outer pass do not know."""

    def outer(number: int, has_inner: bool) -> ks.Dataset:
        ds = ks.Dataset.range(60).shuffle(60)
        ds = ds.snapshot(tmp_path / "inner", fingerprint="i") if has_inner else ds
        return ds.map(lambda x: x % 2).snapshot(tmp_path / str(number), fingerprint="o")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(8):
            with contextlib.closing(iter(outer(number, True))) as it:
                for _ in range(40):
                    next(it)
            assert sum(values(outer(number, False))) == 30


# State that functions before a snapshot fill, and functions behind it read. It is there from the
# first element on, because stages hand over several elements at once.


def _by_dict() -> tuple[Callable[[Any], int], Callable[[Any], int]]:
    known: dict[str, int] = {}

    def fill(x: Any) -> int:
        return int(x) + known.setdefault("first", 7)

    return fill, lambda x: int(x) * 100 + known.get("first", 0)


def _by_list() -> tuple[Callable[[Any], int], Callable[[Any], int]]:
    seen: list[int] = []

    def note(x: Any) -> int:
        seen.append(int(x))  # which no function before the snapshot reads
        return int(x)

    return note, lambda x: int(x) * 100 + bool(seen)


def _by_object() -> tuple[Callable[[Any], int], Callable[[Any], int]]:
    counter = Counter()

    def count(x: Any) -> int:
        counter(x)
        return int(x)

    return count, lambda x: int(x) * 100 + (counter.calls > 0)


def _by_cache() -> tuple[Callable[[Any], int], Callable[[Any], int]]:
    @functools.cache
    def known() -> dict[str, int]:
        return {}

    def fill(x: Any) -> int:
        known()["first"] = 7
        return int(x)

    return fill, lambda x: int(x) * 100 + known().get("first", 0)


@pytest.mark.parametrize("make", [_by_dict, _by_list, _by_object, _by_cache])
@pytest.mark.parametrize("stored", [0, 3, 6])
def test_functions_run_again_for_those_behind_a_snapshot_that_read_their_state(
    place: Callable[[str], str],
    make: Callable[[], tuple[Callable[[Any], int], Callable[[Any], int]]],
    stored: int,
) -> None:
    first, second = make()
    expected = values(ks.Dataset.range(6).map(first).map(second))
    first, _ = make()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        values(ks.Dataset.range(6).map(first).snapshot(place("inner")).take(stored))
    for _ in range(2):
        first, second = make()
        inner = ks.Dataset.range(6).map(first).snapshot(place("inner"))
        assert values(inner.map(second).snapshot(place("outer"))) == expected


def test_a_memo_that_no_later_stage_reads_lets_an_inner_snapshot_replay(
    place: Callable[[str], str],
) -> None:
    def dataset() -> ks.Dataset:
        seen: dict[int, int] = {}
        calls.clear()
        return ks.Dataset.range(6).map(memo_of(seen)).map(noted).snapshot(place("inner"))

    calls: list[int] = []

    def noted(x: Any) -> int:
        calls.append(int(x))
        return int(x)

    values(dataset())
    assert len(calls) == 6
    values(dataset().map(lambda x: x + 1).snapshot(place("outer")))
    assert not calls
