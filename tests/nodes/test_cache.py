"""Cache: computed once, replayed exactly, and never half there."""

import json
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepset.core.cursor import Cursor
from keepset.core.iterate import iterate
from keepset.core.node import Node
from keepset.core.ragged import Ragged
from keepset.core.random import Randomness
from keepset.core.run import look, start
from keepset.core.spec import TensorSpec
from keepset.core.structure import LEAF, tuple_of
from keepset.errors import (
    CorruptCacheError,
    InvalidArgumentError,
    NotAddressableError,
    StorageError,
)
from keepset.format.chunk_file import ChunkFileReader, ChunkFileWriter
from keepset.nodes import cache_store
from keepset.nodes.batch import Batch
from keepset.nodes.cache import Cache
from keepset.nodes.filter import Filter
from keepset.nodes.from_generator import FromGenerator
from keepset.nodes.from_tensor_slices import FromTensorSlices
from keepset.nodes.map import Map
from keepset.nodes.range import Range
from keepset.nodes.repeat import Repeat
from keepset.nodes.shard import Shard
from keepset.nodes.shuffle import Shuffle
from keepset.nodes.take import Skip, Take
from keepset.nodes.zip import Zip


@pytest.fixture(params=["memory", "file"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., Cache]:
    """Makes caches of one kind; those in files all use the same one."""

    def make(parent: Node) -> Cache:
        filename = str(tmp_path / "deep" / "cache") if request.param == "file" else ""
        return Cache(parent=parent, filename=filename)

    return make


def numbers(count: int) -> Node:
    return Range(start=0, stop=count, dtype=np.dtype(np.int64))


class Counted:
    """A function that counts its calls."""

    def __init__(self, function: Callable[[Any], Any] = lambda x: x * 10) -> None:
        self.calls = 0
        self._function = function

    def __call__(self, value: Any) -> Any:
        self.calls += 1
        return self._function(value)


def shuffled(count: int, seed: int | None = None) -> Node:
    return Shuffle(parent=numbers(count), buffer_size=max(count, 1), source=Randomness(seed))


def elements(node: Node, state: Any = None) -> list[Any]:
    return [plain(x) for x in iterate(node, state)]


def plain(element: Any) -> Any:
    if isinstance(element, tuple):
        return tuple(map(plain, element))
    if isinstance(element, dict):
        return {key: plain(value) for key, value in element.items()}
    return element.tolist() if isinstance(element, np.ndarray | np.generic) else element


# Passes.


def test_functions_are_called_once_over_two_passes(place: Callable[..., Cache]) -> None:
    function = Counted()
    kept = place(Map(parent=numbers(1000), function=function))
    first = elements(kept)
    assert first == elements(kept) == [x * 10 for x in range(1000)]
    assert elements(Batch(parent=kept, batch_size=999))[1] == [9990]
    assert function.calls == 1000


@pytest.mark.filterwarnings("ignore:.*passed none of its")
def test_an_empty_data_set_is_kept_too(place: Callable[..., Cache]) -> None:
    function = Counted(lambda x: False)
    kept = place(Filter(parent=numbers(10), predicate=function))
    assert elements(kept) == elements(kept) == []
    assert function.calls == 10


def test_shuffling_before_a_cache_is_frozen(place: Callable[..., Cache]) -> None:
    kept = place(shuffled(50))
    assert elements(kept) == elements(kept)
    first, second, third = np.array(elements(Repeat(parent=kept, count=3))).reshape(3, 50)
    assert first.tolist() == second.tolist() == third.tolist()


def test_a_pass_that_stops_early_keeps_nothing(place: Callable[..., Cache]) -> None:
    function = Counted()
    kept = place(Map(parent=numbers(10), function=function))
    it = iterate(kept)
    assert [next(it), next(it)] == [0, 10]
    it.close()
    calls = function.calls
    assert calls < 10
    assert elements(Take(parent=kept, count=3)) == [0, 10, 20]
    assert elements(kept) == elements(kept) == [x * 10 for x in range(10)]
    assert function.calls == calls + 3 + 10


def test_a_dropped_iterator_leaves_no_file(tmp_path: Path) -> None:
    kept = Cache(parent=numbers(10_000), filename=str(tmp_path / "c"))
    it = iterate(kept)
    next(it)
    del it
    assert os.listdir(tmp_path) == []


def test_reading_every_element_is_enough_though_nobody_asks_for_the_end(
    place: Callable[..., Cache],
) -> None:
    function = Counted()
    kept = place(Map(parent=numbers(8), function=function))
    assert elements(Take(parent=kept, count=8)) == elements(kept)
    assert function.calls == 8


def test_skipped_elements_are_kept(place: Callable[..., Cache]) -> None:
    function = Counted()
    kept = place(Map(parent=numbers(100), function=function))
    assert elements(Skip(parent=kept, count=90)) == elements(kept)[90:]
    assert function.calls == 100


def test_a_pass_with_a_failed_element_is_not_kept(place: Callable[..., Cache]) -> None:
    broken = [True]

    def function(x: Any) -> Any:
        if x == 3 and broken:
            broken.pop()
            raise OSError("the network is down")
        return x

    kept = place(Map(parent=numbers(6), function=function))
    cursor = kept.cursor(start(kept))
    got = cursor.read(2).rows + cursor.read(1).rows
    with pytest.raises(OSError, match="network"):
        cursor.read(2)
    while chunk := cursor.read(2):
        got += chunk.rows
    assert got == [0, 1, 2, 4, 5]
    assert elements(kept) == [0, 1, 2, 3, 4, 5]


def test_rows_of_several_structures_and_shapes(place: Callable[..., Cache]) -> None:
    def function(x: Any) -> Any:
        return [np.arange(x), b"text", None, {"a": x}, (x, x), Ragged([x], [0, 1])][int(x) % 6]

    kept = place(Map(parent=numbers(40), function=function))
    first, second = list(iterate(kept)), list(iterate(kept))
    assert repr(first) == repr(second) == repr([function(np.int64(x)) for x in range(40)])


def test_large_elements_are_read_a_few_at_a_time(place: Callable[..., Cache]) -> None:
    images = np.arange(64 << 15, dtype=np.int32).reshape(64, 1 << 15)
    kept = place(FromTensorSlices(tensors=images))
    cursor = kept.cursor(start(kept))
    sizes = [len(cursor.read(1000)), len(cursor.read(1000))]
    assert sizes == [16, 32]  # 4 MiB
    for _ in range(2):
        assert (np.stack(list(iterate(kept))) == images).all()


def test_small_chunks_are_kept_in_groups(tmp_path: Path) -> None:
    kept = Cache(
        parent=FromTensorSlices(tensors=np.zeros((300, 1024))), filename=str(tmp_path / "c")
    )
    run = start(kept)
    cursor = kept.cursor(run)
    while cursor.read(1):
        pass
    reader = ChunkFileReader(str(tmp_path / "c"))
    assert reader.first_rows == [0, 128, 256, 300]


# What is kept cannot be changed.


def test_what_a_consumer_does_in_place_does_not_alter_what_is_kept(
    place: Callable[..., Cache],
) -> None:
    made: list[Any] = []

    def function(x: Any) -> Any:
        made.append(
            {"a": np.full(3, x), "b": {"c": np.full(int(x) + 1, x)}, "r": Ragged([1], [0, 1])}
        )
        return made[-1]

    kept = place(Map(parent=numbers(5), function=function))
    expected = [plain(function(np.int64(x))) | {"r": [[1]]} for x in range(5)]
    made.clear()
    for _ in range(3):
        for element, want in zip(iterate(kept), expected, strict=True):
            got = plain(element) | {"r": element["r"].to_list()}
            assert got == want
            for array in (element["a"], element["b"]["c"], element["r"].flat_values):
                with pytest.raises(ValueError, match="read-only"):
                    array[...] = 7
            element["a"] = element["b"]["c"] = None
            element["new"] = 1
        for element in made:
            element["a"][...] = 9


def test_batches_of_cached_rows_do_not_alter_what_is_kept(place: Callable[..., Cache]) -> None:
    kept = place(numbers(8))
    for _ in range(3):
        for batch in iterate(Batch(parent=kept, batch_size=4)):
            if batch.flags.writeable:
                batch[...] = -1
    assert elements(kept) == list(range(8))


# Several at once.


def test_two_threads_fill_at_the_same_time(place: Callable[..., Cache]) -> None:
    kept = place(shuffled(2000))
    results: dict[int, list[Any]] = {}
    barrier = threading.Barrier(4)

    def work(number: int) -> None:
        barrier.wait()
        results[number] = elements(kept)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(sorted(result) == list(range(2000)) for result in results.values())
    assert elements(kept) == elements(kept)
    assert elements(kept) in results.values()


def test_a_zip_of_two_branches_over_one_cache(place: Callable[..., Cache]) -> None:
    kept = place(numbers(300))
    double = Map(parent=kept, function=lambda x: x * 2)
    both = Zip(parents=(kept, double), layout=tuple_of(LEAF, LEAF))
    for _ in range(3):
        assert elements(both) == [(x, 2 * x) for x in range(300)]
    late = Zip(parents=(kept, Skip(parent=kept, count=1)), layout=tuple_of(LEAF, LEAF))
    assert elements(late) == [(x, x + 1) for x in range(299)]


def test_a_pass_that_began_before_the_cache_was_full_ends_as_it_began(
    place: Callable[..., Cache],
) -> None:
    kept = place(shuffled(100))
    early = iterate(kept)
    began = [plain(next(early)) for _ in range(5)]
    first = elements(kept)
    rest = [plain(x) for x in early]
    assert sorted(began + rest) == list(range(100))
    assert elements(kept) == first


# States.


def rounds(place: Callable[..., Cache], seed: int | None = None) -> Node:
    """Two or three passes over a cache behind a shuffle, with a stage on either side."""
    tripled = Map(parent=shuffled(7, seed), function=lambda x: x * 3)
    return Batch(parent=Repeat(parent=place(tripled), count=3), batch_size=2)


def forget(node: Node) -> Node:
    """The same pipeline in a process that knows nothing, as far as functions allow."""
    for part in node.walk():
        if isinstance(part, Cache):
            if part.filename:
                Path(part.filename).unlink(missing_ok=True)
            part.__post_init__()
    return node


@pytest.mark.parametrize("lost", [False, True])
def test_restoring_anywhere_gives_the_rest(place: Callable[..., Cache], lost: bool) -> None:
    node = rounds(place)
    it = iterate(node)
    states, got = [it.state()], []
    for element in it:
        got.append(plain(element))
        states.append(json.loads(json.dumps(it.state())))
    flat = [x for batch in got for x in batch]
    assert flat[:7] == flat[7:14] == flat[14:]
    for count, state in enumerate(states):
        if lost:
            forget(node)
        assert elements(node, state) == got[count:], count


@pytest.mark.parametrize("seed", [None, 5])
def test_restoring_again_and_again_with_the_cache_lost(
    place: Callable[..., Cache], seed: int | None
) -> None:
    node = Repeat(parent=place(shuffled(5, seed)), count=3)
    got = elements(node)
    forget(node)
    it = iterate(node)
    want = [plain(next(it)) for _ in range(8)]
    state = it.state()
    want += [plain(x) for x in it]
    assert want[:5] == want[5:10] == want[10:]
    rest = []
    for _ in range(7):
        forget(node)
        it = iterate(node, json.loads(json.dumps(state)))
        rest.append(plain(next(it)))
        state = it.state()
        it.close()
    assert rest == want[8:]
    assert len(got) == 15


@pytest.mark.parametrize("lost", [False, True])
@pytest.mark.parametrize("skipped", [0, 1])
def test_restoring_two_branches_over_one_cache(
    place: Callable[..., Cache], lost: bool, skipped: int
) -> None:
    kept = place(shuffled(5))
    late = Skip(parent=kept, count=skipped)
    node = Repeat(parent=Zip(parents=(late, kept), layout=tuple_of(LEAF, LEAF)), count=3)
    forget(node)
    cursor = node.cursor(run := start(node))
    states, got = [], []
    while True:
        states.append(json.loads(json.dumps([cursor.state(), run.session.draws])))
        if not (chunk := cursor.read(1)):
            break
        got += [plain(row) for row in chunk.rows]
    length = 5 - skipped
    assert got[length : 2 * length] == got[2 * length :]
    # Before the first element, nothing is decided yet: a cache that is full by now is replayed.
    for count, (state, draws) in list(enumerate(states))[1:]:
        if lost:
            forget(node)
        again = node.cursor(start(node, draws))
        again.restore(state)
        rest = []
        while chunk := again.read(3):
            rest += [plain(row) for row in chunk.rows]
        assert rest == got[count:], count


def test_a_state_behind_a_failed_element_does_not_count_as_filling() -> None:
    def function(x: Any) -> Any:
        if x == 3 and not failed:
            failed.append(x)
            raise OSError("the network is down")
        return x

    def rest(cursor: Cursor) -> list[Any]:
        got = []
        while chunk := cursor.read(1):
            got += chunk.rows
        return got

    failed: list[Any] = []
    node = Repeat(parent=Cache(parent=Map(parent=shuffled(6), function=function)), count=3)
    cursor = node.cursor(run := start(node))
    with pytest.raises(OSError, match="network"):
        rest(cursor)
    state, draws = json.loads(json.dumps([cursor.state(), run.session.draws]))
    want = rest(cursor)
    again = forget(node).cursor(start(node, draws))
    again.restore(state)
    assert rest(again) == want


@given(take=st.integers(1, 6), cut=st.integers(0, 12))
def test_passes_that_never_complete_are_shuffled_anew_also_after_a_restore(
    take: int, cut: int
) -> None:
    # Taking all seven would fill the cache.
    kept = Cache(parent=shuffled(7))
    node = Take(parent=Repeat(parent=Take(parent=kept, count=take)), count=13)
    it = iterate(node)
    for _ in range(cut):
        next(it)
    state = it.state()
    want = [plain(x) for x in it]
    assert elements(forget(node), state) == want


def test_a_restored_first_pass_does_not_fill_but_the_next_one_does(
    place: Callable[..., Cache],
) -> None:
    function = Counted()
    kept = place(Map(parent=numbers(10), function=function))
    it = iterate(kept)
    next(it)
    state = it.state()
    it.close()
    forget(kept)
    function.calls = 0
    assert elements(kept, state) == [x * 10 for x in range(1, 10)]
    assert function.calls == 9
    assert elements(kept) == elements(kept)
    assert function.calls == 19


def test_a_replay_restored_without_its_cache_fills_it_again(place: Callable[..., Cache]) -> None:
    function = Counted()
    kept = place(Map(parent=numbers(10), function=function))
    elements(kept)
    it = iterate(kept)
    next(it)
    state = it.state()
    forget(kept)
    function.calls = 0
    assert elements(kept, state) == [x * 10 for x in range(1, 10)]
    assert elements(kept) == [x * 10 for x in range(10)]
    assert function.calls == 10


def test_a_state_in_a_large_replay_is_small_and_quick(place: Callable[..., Cache]) -> None:
    kept = place(numbers(100_000))
    elements(kept)
    cursor = kept.cursor(start(kept))
    assert cursor.skip(99_999) == 99_999
    assert len(json.dumps(cursor.state())) < 200
    assert cursor.read(10).rows == [99_999]
    assert cursor.skip(5) == 0


# Addressing, description, pickling.


def test_a_cache_only_goes_forward_also_when_it_is_full(place: Callable[..., Cache]) -> None:
    kept = place(numbers(10))
    hand = Repeat(parent=Shard(parent=kept, num_shards=5, index=1), count=2)
    for _ in range(2):
        assert (kept.obstacle() or "").startswith(f"{kept.title} is filled from the front")
        assert elements(hand) == [1, 6, 1, 6]
    with pytest.raises(NotAddressableError, match="filled from the front"):
        kept.gather(np.array([0]), look(kept))


def test_a_complete_cache_may_run_ahead_of_a_live_source(place: Callable[..., Cache]) -> None:
    kept = place(FromGenerator(generator=lambda: range(3)))
    assert not kept.may_run_ahead
    elements(kept)
    assert kept.may_run_ahead
    assert not forget(kept).may_run_ahead


def test_what_the_node_says_of_itself(place: Callable[..., Cache]) -> None:
    kept = place(numbers(3))
    assert kept.cardinality() == 3
    assert kept.spec() == TensorSpec((), np.int64)
    assert kept.title == (f"cache({kept.filename!r:.40})" if kept.filename else "cache()")
    assert set(kept.parameters) == ({"filename"} if kept.filename else set())


def test_a_pickled_cache_begins_empty_or_with_its_file(place: Callable[..., Cache]) -> None:
    kept = place(shuffled(20))
    first = elements(kept)
    copy = pickle.loads(pickle.dumps(kept))
    assert (copy.store.find(copy.parent) is None) == (not kept.filename)
    assert not kept.filename or elements(copy) == first
    assert len(pickle.dumps(kept)) < 2000


# Files.


def test_a_deleted_file_is_computed_again(tmp_path: Path) -> None:
    path = tmp_path / "c"
    function = Counted()
    kept = Cache(parent=Map(parent=numbers(5), function=function), filename=str(path))
    for calls in (5, 10):
        assert elements(kept) == elements(kept) == [0, 10, 20, 30, 40]
        assert function.calls == calls
        path.unlink()


def test_a_damaged_file_says_so(tmp_path: Path) -> None:
    path = tmp_path / "c"
    kept = Cache(parent=numbers(5), filename=str(path))
    elements(kept)
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(content[:-1])
    with pytest.raises(CorruptCacheError, match="delete the file to compute it again"):
        elements(kept)


def test_a_directory_that_cannot_be_written_to(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    function = Counted()
    parent = Map(parent=numbers(5), function=function)
    below_a_file = Cache(parent=parent, filename=str(tmp_path / "file" / "c"))
    with pytest.raises(InvalidArgumentError, match=r"cannot write the cache file .*file/c"):
        elements(below_a_file)
    a_directory = Cache(parent=parent, filename=str(tmp_path))
    with pytest.raises(InvalidArgumentError, match="cannot read the cache file"):
        elements(a_directory)
    assert function.calls == 0


def test_a_file_of_another_type_is_refused(tmp_path: Path) -> None:
    filename = str(tmp_path / "c")
    elements(Cache(parent=numbers(5), filename=filename))
    other = Cache(parent=FromTensorSlices(tensors=np.zeros((2, 3), np.float32)), filename=filename)
    with pytest.raises(InvalidArgumentError) as caught:
        elements(other)
    for part in (filename, "dtype=int64", "dtype=float32", "delete it"):
        assert part in str(caught.value)
    # What only running would tell is not compared, as in TensorFlow.
    unknown = Cache(parent=Map(parent=numbers(2), function=float), filename=filename)
    assert elements(unknown) == [0, 1, 2, 3, 4]


def test_a_full_disk_loses_no_element(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: Any) -> None:
        raise OSError(28, "No space left on device")

    kept = Cache(parent=FromGenerator(generator=lambda: range(6)), filename=str(tmp_path / "c"))
    monkeypatch.setattr(cache_store, "_GROUP_ROWS", 3)
    monkeypatch.setattr(ChunkFileWriter, "append", full)
    it = iterate(kept)
    with pytest.raises(StorageError, match=f"cannot write {tmp_path}/c: No space.*free") as caught:
        list(it)
    assert "nothing is kept" in caught.value.__notes__[0]
    assert os.listdir(tmp_path) == []
    state = it.state()
    monkeypatch.undo()
    assert elements(kept, state) == [3, 4, 5]


class Point(NamedTuple):
    x: Any

    def double(self) -> Any:
        return self.x * 2


@dataclass
class Pixel:
    at: Point


@dataclass
class Even:
    half: Any

    def __post_init__(self) -> None:
        self.half = self.half + 0  # a spec could not do this


def test_records_keep_their_class_where_the_process_knows_it(place: Callable[..., Cache]) -> None:
    kept = place(Map(parent=numbers(3), function=lambda x: Pixel(Point(x))))
    for _ in range(2):
        assert [pixel.at.double() for pixel in iterate(kept)] == [0, 2, 4]
    known = place(FromTensorSlices(tensors=Point(np.arange(3))))
    if known.filename:
        os.unlink(known.filename)
        elements(place(FromTensorSlices(tensors=Point(np.arange(3)))))
    assert [type(point) for point in iterate(known)] == [Point] * 3


def test_each_of_several_classes_is_kept(place: Callable[..., Cache]) -> None:
    kept = place(Map(parent=numbers(6), function=lambda x: Point(x) if x % 2 else Even(x // 2)))
    for _ in range(2):
        assert [type(element) for element in iterate(kept)] == [Even, Point] * 3


SCRIPT = """
import os, signal, sys
import numpy as np
from keepset.core.iterate import iterate
from keepset.core.random import Randomness
from keepset.nodes.cache import Cache
from keepset.nodes.map import Map
from keepset.nodes.range import Range
from keepset.nodes.shuffle import Shuffle

def function(x):
    calls.append(x)
    if len(calls) == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
    return np.full(4096, x)

calls = []
numbers = Range(start=0, stop=200, dtype=np.dtype(np.int64))
source = Shuffle(parent=numbers, buffer_size=200, source=Randomness(None))
kept = Cache(parent=Map(parent=source, function=function), filename=sys.argv[1])
print([int(row[0]) for row in iterate(kept)], len(calls))
"""


def run_script(path: Path, kill_at: int = 0) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", SCRIPT, str(path), str(kill_at)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="needs files without a name")
def test_a_killed_process_leaves_nothing_and_the_next_one_fills(tmp_path: Path) -> None:
    path = tmp_path / "c"
    assert run_script(path, kill_at=150).returncode == -9
    assert os.listdir(tmp_path) == []
    first, second = run_script(path), run_script(path)
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert os.listdir(tmp_path) == ["c"]
    order, _, calls = first.stdout.strip().rpartition(" ")
    assert sorted(json.loads(order)) == list(range(200))
    assert calls == "200"
    assert second.stdout.strip() == f"{order} 0"
