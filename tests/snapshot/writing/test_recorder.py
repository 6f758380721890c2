"""The recorder: what it copies, what it writes from where it lies, and what it uses again."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keepset as ks
from keepset.core.chunk import Chunk
from keepset.snapshot.upkeep.checking import check_snapshot
from keepset.snapshot.writing import recorder as recorders
from keepset.snapshot.writing.recorder import Recorder
from keepset.snapshot.writing.segments import Segments
from keepset.storage import LocalStore, open_store


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., Recorder]]:
    made: list[Recorder] = []

    def recorder(**options: Any) -> Recorder:
        made.append(Recorder(LocalStore(tmp_path), "0" * 16, "NONE", **options))
        return made[-1]

    yield recorder
    for each in made:
        each.close()


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[Chunk]:
    """The chunks that are written, as they are then."""
    chunks: list[Chunk] = []
    write = Segments.write

    def note(self: Segments, shard: int, chunk: Chunk) -> None:
        chunks.append(chunk)
        write(self, shard, chunk)

    monkeypatch.setattr(Segments, "write", note)
    return chunks


def test_a_save_writes_arrays_from_where_they_lie(tmp_path: Path, written: list[Chunk]) -> None:
    x = np.arange(1 << 16)
    x.flags.writeable = False
    ds = ks.Dataset.from_tensor_slices({"x": x}).skip(3)
    ds.save(tmp_path, compression="LZ4", chunk_bytes=1 << 15)
    shared = [np.shares_memory(chunk.columns[0], x) for chunk in written]
    # The first element comes alone, to see how large it is, and is joined with others.
    assert shared == [False] + [True] * 15
    assert [int(e["x"]) for e in ks.load(tmp_path)] == list(range(3, 1 << 16))


def test_several_chunks_of_an_array_are_each_one_read(tmp_path: Path, written: list[Chunk]) -> None:
    x = np.arange(100_000).reshape(-1, 10)
    x.flags.writeable = False
    ks.Dataset.from_tensor_slices(x).save(tmp_path, chunk_bytes=10_000)
    assert [len(chunk) for chunk in written] == [128] * 78 + [16]
    assert sum(np.shares_memory(chunk.columns[0], x) for chunk in written) == 78
    loaded = np.concatenate(list(ks.load(tmp_path).batch(1000)))
    assert (loaded == x).all()


def test_a_pass_that_others_look_at_copies(tmp_path: Path, written: list[Chunk]) -> None:
    x = np.zeros((100, 1000))
    closed = x.view()
    closed.flags.writeable = False
    ds = ks.Dataset.from_tensor_slices(closed)
    for i, _ in enumerate(ds.snapshot(tmp_path, fingerprint="f", chunk_bytes=50_000)):
        x[i] = 5  # too late to reach what is kept
    assert not any(np.shares_memory(chunk.columns[0], x) for chunk in written)
    assert float(ks.load(tmp_path)[0].sum()) == 0


def test_elements_that_were_given_are_copies_of_what_is_kept(tmp_path: Path) -> None:
    """Some libraries write to arrays that are read-only."""
    ds = ks.Dataset.range(300).map(lambda i: np.full(2000, i))
    for row in ds.snapshot(tmp_path, fingerprint="f", chunk_bytes=100_000):
        base = row
        while not base.flags.writeable and isinstance(base.base, np.ndarray):
            base = base.base
        base.flags.writeable = True
        base[...] = -1
    assert [int(row[1999]) for row in ks.load(tmp_path)] == list(range(300))


def test_blocks_are_used_again(make: Callable[..., Recorder], written: list[Chunk]) -> None:
    recorder = make(chunk_bytes=8000)
    sums = []
    for i in range(200):
        recorder.add(Chunk.from_rows([np.full(100, 10 * i + j) for j in range(10)]))
        if i % 50 == 49:
            manifest = recorder.cut().result()
            sums.append(manifest.elements)
    assert sums == [500] * 4
    places = {chunk.columns[0].__array_interface__["data"][0] for chunk in written}  # type: ignore[union-attr]
    assert len(places) <= recorders._MOST_WAITING + 3 < len(written)


def test_large_blocks_are_let_go(
    make: Callable[..., Recorder], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorders, "_LARGEST_SPARE_BYTES", 7999)
    recorder = make(chunk_bytes=8000)
    for i in range(50):
        recorder.add(Chunk.from_rows([np.full(1000, i)]))
    recorder.cut().result()
    assert not recorder._spare


def test_rows_that_grow_do_not_take_a_block_of_the_old_number(tmp_path: Path) -> None:
    """A chunk of the first, tiny rows has a million of them."""

    def element(x: np.int64) -> Any:
        return np.zeros(1 if x < 100 else 100_000, np.uint8)

    ds = ks.Dataset.range(300).map(element)
    list(ds.snapshot(tmp_path, fingerprint="f", chunk_bytes=1_000_000))
    assert [len(row) for row in ks.load(tmp_path)] == [1] * 100 + [100_000] * 200
    report = check_snapshot(open_store(tmp_path).sub("f/"))
    assert report.is_sound
    assert report.manifest is not None
    assert max(chunk.entry.stored_bytes for chunk in report.manifest.chunks) < 3_000_000


KINDS: dict[str, Callable[[int], Any]] = {
    "numbers": np.int64,
    "arrays": lambda i: np.full((2, 3), i, np.float32),
    "large arrays": lambda i: np.full(2000, i),
    "texts": lambda i: str(i).encode(),
    "of any length": lambda i: np.arange(i % 7),
    "times": lambda i: np.datetime64(i, "s"),
    "empty": lambda i: np.zeros((0, 2)),
}


@pytest.mark.parametrize("save", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_leaf_comes_back(tmp_path: Path, kind: str, save: bool) -> None:
    def source() -> Iterator[Any]:
        for i in range(500):
            yield {"i": np.int64(i), "leaf": KINDS[kind](i)}

    ds = ks.Dataset.from_generator(source)
    if save:
        ds.save(tmp_path, chunk_bytes=3000)
    else:
        list(ds.snapshot(tmp_path, fingerprint="f", chunk_bytes=3000))
    got = list(ks.load(tmp_path))
    assert [int(e["i"]) for e in got] == list(range(500))
    for i, e in enumerate(got):
        np.testing.assert_array_equal(e["leaf"], KINDS[kind](i))


@pytest.mark.parametrize("how", ["snapshot", "save", "many chunks"])
def test_a_store_that_takes_nothing_for_long_is_named_once(
    tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client of a bucket tries for a minute in silence when its server is gone."""
    told: list[str] = []
    is_told = threading.Event()

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if "has not taken" in record.getMessage():
                told.append(record.getMessage())
                is_told.set()

    write = Segments.write

    def held_up(self: Segments, shard: int, chunk: Chunk) -> None:
        assert is_told.wait(60)
        write(self, shard, chunk)

    monkeypatch.setattr(Segments, "write", held_up)
    monkeypatch.setattr(recorders, "_LONG_WAIT_S", 0.01)
    handler = Handler()
    logging.getLogger("keepset").addHandler(handler)
    try:
        ds = ks.Dataset.range(20_000 if how == "many chunks" else 20)
        if how == "save":
            ds.save(tmp_path / "kept")
        else:
            chunk_bytes = 1024 if how == "many chunks" else 1 << 20
            assert len(list(ds.snapshot(tmp_path / "kept", chunk_bytes=chunk_bytes))) == len(ds)
    finally:
        logging.getLogger("keepset").removeHandler(handler)
    assert len(told) == 1
    assert str(tmp_path / "kept") in told[0]
