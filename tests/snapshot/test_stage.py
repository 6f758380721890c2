"""The snapshot stage: first pass, later passes, interruptions and other processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keepset as ks
from keepset.errors import InvalidArgumentError, PendingSnapshotError, SnapshotMissingError
from keepset.format.commit import Commit
from keepset.format.log import Log
from keepset.format.segment import ChunkReader
from keepset.snapshot.reading.opening import fingerprints_at
from keepset.storage import open_store
from keepset.testing.resources import nothing_left_behind


class Counted:
    """A function that knows how often it was called."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, x: np.int64) -> dict[str, Any]:
        self.calls += 1
        return {"x": x, "v": np.full(3, x, np.float32)}


def commits(path: Path | str) -> list[Commit]:
    """All commits of the only snapshot at a path, oldest first."""
    store = open_store(path)
    (fingerprint,) = fingerprints_at(store)
    return list(Log(store.sub(f"{fingerprint}/")).history())


def kinds(path: Path | str) -> list[str]:
    return [commit.kind for commit in commits(path)]


def snapshot(path: Path, function: Any, count: int = 50, **kwargs: Any) -> ks.Dataset:
    return ks.Dataset.range(count).map(function).snapshot(path, fingerprint="f", **kwargs)


def xs(elements: Any) -> list[int]:
    return [int(element["x"]) for element in elements]


def test_the_second_pass_computes_nothing(tmp_path: Path) -> None:
    count = Counted()
    ds = snapshot(tmp_path, count)
    assert xs(ds) == list(range(50))
    assert count.calls == 50
    assert xs(ds) == list(range(50))
    assert xs(snapshot(tmp_path, count)) == list(range(50))
    assert count.calls == 50
    assert kinds(tmp_path) == ["complete"]
    assert xs(ks.Dataset.load(tmp_path)) == list(range(50))


@pytest.mark.parametrize("stop", [1, 2, 17, 49, 50])
def test_a_pass_that_stopped_early_goes_on(tmp_path: Path, stop: int) -> None:
    count = Counted()
    ds = snapshot(tmp_path, count)
    assert xs(ds.take(stop)) == list(range(stop))
    computed = count.calls
    # A pass that has given all elements is complete, though the end was not asked for.
    first = "complete" if stop == 50 else "append"
    assert kinds(tmp_path) == [first]
    assert xs(ds) == list(range(50))
    # The last element that was kept is computed once more, to see that it comes out the same.
    assert count.calls <= computed + 50 - stop + (stop < 50)
    assert kinds(tmp_path) == [first, "complete"][: 1 + (stop < 50)]
    assert xs(ds) == list(range(50))


def test_any_number_of_interruptions_gives_the_same(tmp_path: Path) -> None:
    ds = (
        ks.Dataset.range(40).shuffle(10).map(lambda x: {"x": x}).snapshot(tmp_path, fingerprint="f")
    )
    seen: list[int] = []
    for stop in (3, 3, 9, 20, 33, 40):
        again = xs(ds.take(stop))
        assert again[: len(seen)] == seen[: len(again)]
        seen = max(again, seen, key=len)
    whole = xs(ds)
    assert whole[: len(seen)] == seen
    assert sorted(whole) == list(range(40))
    assert xs(ds) == whole


def test_a_pipeline_that_is_not_reproducible_starts_over(tmp_path: Path) -> None:
    rng = np.random.default_rng()

    def random(x: np.int64) -> dict[str, Any]:
        return {"x": x, "r": rng.random()}

    ds = snapshot(tmp_path, random, 20)
    list(ds.take(7))
    with pytest.warns(UserWarning, match="starts over"):
        second = [float(e["r"]) for e in ds]
    assert kinds(tmp_path) == ["append", "reset", "complete"]
    assert [float(e["r"]) for e in ds] == second


def test_an_error_keeps_what_came_before_it(tmp_path: Path) -> None:
    broken = [True]
    calls: list[int] = []

    def fails(x: np.int64) -> dict[str, Any]:
        calls.append(int(x))
        if x == 30 and broken:
            raise ValueError("broken")
        return {"x": x}

    ds = snapshot(tmp_path, fails)
    with pytest.raises(ValueError, match="broken"):
        list(ds)
    broken.clear()
    calls.clear()
    assert xs(ds) == list(range(50))
    assert calls == list(range(29, 50))


def test_what_a_consumer_does_changes_nothing(tmp_path: Path) -> None:
    ds = snapshot(tmp_path, Counted(), 10)
    for element in ds:
        with pytest.raises(ValueError, match="read-only"):
            element["v"] -= element["v"].mean()
    assert [element["v"].tolist() for element in ds] == [[float(i)] * 3 for i in range(10)]


def test_a_source_that_is_changed_meanwhile_is_computed_anew(tmp_path: Path) -> None:
    """Arrays are not copied. Old and new elements are not mixed if somebody changes them."""
    data = np.arange(12, dtype=np.float32).reshape(4, 3)
    ds = ks.Dataset.from_tensor_slices(data).snapshot(tmp_path, fingerprint="f")
    it = iter(ds)
    first = next(it).copy()
    data[:] = -1
    assert first.tolist() == [0, 1, 2]
    it.close()
    with pytest.warns(UserWarning, match="starts over"):
        found = list(ds)
    assert np.array(found).tolist() == np.full((4, 3), -1).tolist()


@pytest.mark.parametrize("compression", [None, "GZIP", "SNAPPY", "LZ4", "ZSTD", "AUTO"])
def test_every_codec(tmp_path: Path, compression: str | None) -> None:
    ds = snapshot(tmp_path, Counted(), compression=compression)
    assert xs(ds) == xs(ds) == list(range(50))


def test_shards_keep_the_order_also_when_interrupted(tmp_path: Path) -> None:
    ds = snapshot(tmp_path, Counted(), shard_func=lambda element: element["x"] % 3)
    assert xs(ds.take(17)) == list(range(17))
    assert xs(ds) == xs(ds) == list(range(50))


def test_two_branches_and_nested_snapshots(tmp_path: Path) -> None:
    inner = snapshot(tmp_path / "inner", Counted())
    pairs = list(ks.Dataset.zip(inner, inner.map(lambda e: e["x"] * 2)))
    assert [(int(a["x"]), int(b)) for a, b in pairs] == [(i, 2 * i) for i in range(50)]
    outer = inner.map(lambda e: {"x": e["x"] + 1}).snapshot(tmp_path / "outer", fingerprint="o")
    assert xs(outer) == xs(outer) == list(range(1, 51))


def test_a_snapshot_inside_flat_map(tmp_path: Path) -> None:
    def files(i: np.int64) -> ks.Dataset:
        return ks.Dataset.range(i, i + 3).snapshot(tmp_path, fingerprint=f"part-{i}")

    ds = ks.Dataset.range(0, 9, 3).flat_map(files)
    for _ in range(2):
        assert [int(x) for x in ds] == list(range(9))
    assert len(list(tmp_path.iterdir())) == 3


def test_states_hold_across_writing_and_reading(tmp_path: Path) -> None:
    ds = snapshot(tmp_path, Counted())
    it = iter(ds)
    for _ in range(20):
        next(it)
    state = json.loads(json.dumps(it.state()))
    it.close()
    assert xs(ds.iterate(state)) == list(range(20, 50))  # goes on with the first pass
    assert xs(ds.iterate(state)) == list(range(20, 50))  # reads what was kept
    assert xs(snapshot(tmp_path, Counted(), mode="passthrough").iterate(state)) == list(
        range(20, 50)
    )


def test_modes(tmp_path: Path) -> None:
    count = Counted()
    with pytest.raises(SnapshotMissingError, match="mode='read' computes nothing"):
        list(snapshot(tmp_path, count, mode="read"))
    assert xs(snapshot(tmp_path, count, mode="passthrough")) == list(range(50))
    assert not (tmp_path / "f" / "commits").exists()
    assert xs(snapshot(tmp_path, count)) == list(range(50))
    assert xs(snapshot(tmp_path, count, mode="read")) == list(range(50))
    assert count.calls == 100
    with pytest.warns(UserWarning, match="starts over"):
        assert xs(snapshot(tmp_path, count, mode="write")) == list(range(50))
    assert count.calls == 150
    with pytest.raises(InvalidArgumentError, match="mode must be one of"):
        snapshot(tmp_path, count, mode="append")
    with pytest.raises(InvalidArgumentError, match="on_pending must be one of"):
        snapshot(tmp_path, count, on_pending="panic")
    for seconds in (-1, float("nan"), "x", None):
        with pytest.raises(InvalidArgumentError, match="pending_snapshot_expiry_seconds must be"):
            snapshot(tmp_path, count, pending_snapshot_expiry_seconds=seconds)
    for ignore in ([3], "global SCALE", 3, None):
        with pytest.raises(InvalidArgumentError, match="ignore is a list of names such as"):
            ks.Dataset.range(3).snapshot(tmp_path, ignore=ignore)  # type: ignore[arg-type]


@pytest.mark.filterwarnings("ignore:another iterator of this process")
def test_while_another_iterator_writes(tmp_path: Path) -> None:
    count = Counted()
    writing = iter(snapshot(tmp_path, count))
    next(writing)
    assert xs(snapshot(tmp_path, count)) == list(range(50))  # passes through
    with pytest.raises(PendingSnapshotError, match=f"process {os.getpid()} on"):
        list(snapshot(tmp_path, count, on_pending="error"))
    assert xs(writing) == list(range(1, 50))
    assert kinds(tmp_path) == ["complete"]


PROGRAM = """
    import os, sys, time
    import numpy as np
    import keepset as ks

    def slow(x):
        time.sleep(0.002)
        return {"x": x}

    path, stop, pending = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    ds = ks.Dataset.range(1500).shuffle(50).map(slow)
    ds = ds.snapshot(path, fingerprint="f", on_pending=pending)
    seen = []
    for element in ds:
        seen.append(int(element["x"]))
        if len(seen) == stop:
            os.kill(os.getpid(), 9)
    print(*seen)
"""


def start(path: Path | str, stop: int = -1, pending: str = "passthrough") -> subprocess.Popen[str]:
    program = textwrap.dedent(PROGRAM)
    command = [sys.executable, "-c", program, str(path), str(stop), pending]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@pytest.fixture(params=["local", "s3"])
def place(request: pytest.FixtureRequest) -> Any:
    """Where several processes meet."""
    return request.getfixturevalue("tmp_path" if request.param == "local" else "s3_url")


def test_a_killed_writer_loses_about_a_second(place: Path | str) -> None:
    killed = start(place, stop=1000)
    killed.communicate()
    assert killed.returncode == -signal.SIGKILL
    # Two milliseconds each, and slack for a busy machine.
    assert commits(place)[-1].body["stop"] >= 1000 - 600
    second = start(place)
    seen = [int(x) for x in second.communicate()[0].split()]
    assert sorted(seen) == list(range(1500))
    assert kinds(place)[-1] == "complete"
    assert "reset" not in kinds(place)
    replayed = [int(x) for x in start(place).communicate()[0].split()]
    assert replayed == seen


@pytest.mark.parametrize("pending", ["passthrough", "wait", "follow"])
def test_several_processes_at_once(place: Path | str, pending: str) -> None:
    running = [start(place, pending=pending) for _ in range(3)]
    outputs = [[int(x) for x in process.communicate()[0].split()] for process in running]
    assert all(process.returncode == 0 for process in running)
    assert all(sorted(output) == list(range(1500)) for output in outputs)
    assert kinds(place)[-1] == "complete"
    kept = xs(ks.Dataset.load(place))
    assert sorted(kept) == list(range(1500))
    if pending != "passthrough":
        # Those that did not write gave what the one that did had shuffled.
        assert outputs.count(kept) == 3


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with nothing_left_behind():
            for _ in range(5):
                list(snapshot(tmp_path, Counted()).take(10))
        assert list((tmp_path / "f" / "leases").iterdir()) == []


def test_a_reader_gets_the_shards_of_what_was_kept(tmp_path: Path) -> None:
    def reader(datasets: ks.Dataset) -> ks.Dataset:
        return datasets.shuffle(4, seed=2).interleave(
            lambda x: x, num_parallel_calls=ks.AUTOTUNE, deterministic=True
        )

    def make() -> ks.Dataset:
        return snapshot(
            tmp_path, Counted(), reader_func=reader, shard_func=lambda element: element["x"] % 4
        )

    assert xs(make()) == list(range(50))
    read = xs(make())
    assert sorted(read) == list(range(50))
    assert read != sorted(read)
    it = iter(make())
    for _ in range(20):
        next(it)
    rest = xs(make().iterate(it.state()))
    assert rest == xs(it)
    assert len(rest) == 30


def test_loading_may_wait_for_a_writer(tmp_path: Path) -> None:
    ds = snapshot(tmp_path, Counted())
    list(ds.take(5))
    with pytest.raises(PendingSnapshotError, match="5 elements are kept so far"):
        ks.load(tmp_path)
    found: list[int] = []
    waiting = threading.Thread(target=lambda: found.extend(xs(ks.load(tmp_path, wait=True))))
    waiting.start()
    list(ds)
    waiting.join(30)
    assert found == list(range(50))


def test_a_name_that_another_pipeline_has_is_noticed(tmp_path: Path) -> None:
    assert len(list(ks.Dataset.range(10).snapshot(tmp_path, fingerprint="f"))) == 10
    words = ks.Dataset.from_tensor_slices([b"a", b"b"])
    with pytest.raises(ks.SnapshotMismatchError, match="choose another name"):
        next(iter(words.snapshot(tmp_path, fingerprint="f")))
    assert list(words.snapshot(tmp_path, fingerprint="g")) == [b"a", b"b"]
    with pytest.warns(UserWarning, match="starts over"):
        assert list(words.snapshot(tmp_path, fingerprint="f", mode="write")) == [b"a", b"b"]


def test_a_beginning_of_another_pipeline_is_noticed(tmp_path: Path) -> None:
    it = iter(ks.Dataset.range(1000).snapshot(tmp_path, fingerprint="f"))
    next(it)
    it.close()
    words = ks.Dataset.from_tensor_slices([b"a", b"b"])
    with pytest.raises(ks.SnapshotMismatchError, match="another one was given the fingerprint 'f'"):
        next(iter(words.snapshot(tmp_path, fingerprint="f")))


def test_a_missing_file_says_what_to_do(tmp_path: Path) -> None:
    ks.Dataset.range(10).save(tmp_path)
    (segment,) = (tmp_path / "segments").iterdir()
    segment.unlink()
    with pytest.raises(ks.ObjectMissingError, match="keepset verify --repair") as caught:
        list(ks.load(tmp_path))
    assert caught.value.url == str(segment)


def test_usual_mistakes_are_told_at_once(tmp_path: Path) -> None:
    ds = ks.Dataset.range(3)
    with pytest.raises(
        InvalidArgumentError,
        match=r"snapshot\(\) has no argument 'compresion'; did you mean compression=",
    ):
        ds.snapshot(tmp_path, compresion="LZ4")
    ds.save(tmp_path)
    with pytest.raises(InvalidArgumentError, match="reader_func must return a Dataset"):
        ks.load(tmp_path, reader_func=lambda datasets: None)
    with pytest.raises(ks.ElementError, match="select needs elements that are dicts"):
        ks.load(tmp_path).select("x")
    ds.map(lambda x: {"x": x}).save(tmp_path)
    with pytest.raises(ks.ElementError, match="elements have no 'y'; there are 'x'"):
        ks.load(tmp_path).select("y")


def test_later_passes_check_nothing_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checked = []
    check = ChunkReader.check

    def counted(self: ChunkReader, *args: Any) -> None:
        checked.append(args)
        check(self, *args)

    monkeypatch.setattr(ChunkReader, "check", counted)
    ds = snapshot(tmp_path, Counted(), count=1000, chunk_bytes=1000)
    assert xs(ds) == list(range(1000))
    assert xs(ds) == list(range(1000))
    once = len(checked)
    assert once > 5
    assert xs(ds) == list(range(1000))
    assert len(checked) == once
    # What is written anew is another version, and is checked.
    with pytest.warns(UserWarning, match="starts over"):
        list(snapshot(tmp_path, Counted(), count=1000, chunk_bytes=1000, mode="write"))
    assert xs(ds) == list(range(1000))
    assert len(checked) == 2 * once
