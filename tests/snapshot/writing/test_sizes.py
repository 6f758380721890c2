"""Very many elements, very large ones, none at all, and paths with any characters."""

from __future__ import annotations

import glob
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.snapshot.leftovers import only_the_removal_is_left

import keepset as ks
from keepset.format.log import Log
from keepset.snapshot.upkeep.checking import check_snapshot
from keepset.snapshot.upkeep.collecting import collect, plan_collection
from keepset.snapshot.upkeep.removing import remove_snapshot
from keepset.snapshot.upkeep.repairing import repair_snapshot
from keepset.storage import open_store


def gc(path: Any) -> int:
    root = open_store(path)
    return collect(root, plan_collection(root, grace_s=0.0))


def flip(path: Path, place: int) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)


def test_a_hundred_thousand_tiny_elements(tmp_path: Path) -> None:
    count = 100_000
    ds = ks.Dataset.range(count).snapshot(tmp_path, fingerprint="f", chunk_bytes=80_000)
    assert [int(x) for x in ds.take(40_000)] == list(range(40_000))
    assert [int(x) for x in ds] == list(range(count))
    loaded = ks.load(tmp_path)
    assert len(loaded) == count
    assert [int(x) for x in loaded] == list(range(count))
    assert int(loaded[77_777]) == 77_777
    store = open_store(tmp_path).sub("f/")
    assert check_snapshot(store).is_sound
    # 800 kB of numbers take little more than that.
    assert sum(info.size_bytes for info in store.list("")) < 900_000


def test_a_thousand_shards(tmp_path: Path) -> None:
    count = 3000
    ds = ks.Dataset.range(count)
    ds = ds.snapshot(tmp_path, fingerprint="f", shard_func=lambda x: x * x % 1000)
    assert [int(x) for x in ds.take(1100)] == list(range(1100))
    assert [int(x) for x in ds] == list(range(count))
    assert [int(x) for x in ks.load(tmp_path)] == list(range(count))
    store = open_store(tmp_path).sub("f/")
    assert check_snapshot(store).is_sound
    segment = min((tmp_path / "f" / "segments").iterdir())
    flip(segment, segment.stat().st_size // 2)
    report = check_snapshot(store)
    assert len(report.damages) == 1
    repair_snapshot(store, report)
    assert [int(x) for x in ds] == list(range(count))
    assert [int(x) for x in ks.load(tmp_path)] == list(range(count))


LARGE = """
    import resource, sys
    import numpy as np
    import keepset as ks
    from keepset.snapshot.upkeep.checking import check_snapshot
    from keepset.storage import open_store

    def anonymous():
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("RssAnon:"))

    path, size = sys.argv[1], int(sys.argv[2])

    def element(x):
        return {"x": x, "large": np.full(size if x == 1 else 3, x, np.uint8), "text": b"t" * 9}

    before = anonymous()
    for e in ks.Dataset.range(3).map(element).snapshot(path, compression=None, fingerprint="f"):
        if e["x"] == 1:
            assert len(e["large"]) == size
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print("at most while writing:", (most - before) // 1024)
    del e
    before, most = anonymous(), 0
    for e in ks.load(path):
        x = int(e["x"])
        assert len(e["large"]) == (size if x == 1 else 3)
        assert (e["large"][:: 1 << 16] == x).all()
        most = max(most, anonymous() - before)
    assert check_snapshot(open_store(path + "/f")).is_sound
    print("of its own while reading:", most // 1024)
"""


@pytest.mark.parametrize(
    "mebibytes", [64, pytest.param(1024, marks=[pytest.mark.slow, pytest.mark.timeout(600)])]
)
def test_one_large_element(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], mebibytes: int
) -> None:
    """What is read is the mapped file, so that it takes no memory of its own."""
    program = textwrap.dedent(LARGE)
    command = [sys.executable, "-c", program, str(tmp_path), str(mebibytes << 20)]
    told = subprocess.check_output(command, text=True).split()
    if mebibytes > 100:
        with capsys.disabled():
            print(f"\nan element of {mebibytes} MiB takes, in MiB,", *told)
    assert int(told[-1]) < 50


ODD_PATHS = ["with space", "[brackets]", "star*", "what?", "#hash", "100%25", "ünïcode", "a\nb"]


@pytest.mark.parametrize("name", ODD_PATHS)
def test_any_path_will_do_for_everything(tmp_path: Path, name: str) -> None:
    folder, files = tmp_path / name, tmp_path / f"{name} files"
    files.mkdir()
    for number in range(3):
        (files / f"{number} {name}.txt").write_text(str(number))

    def read(path: bytes) -> int:
        return int(Path(path.decode()).read_text())

    def pipeline() -> ks.Dataset:
        pattern = f"{glob.escape(str(files))}/*.txt"
        return ks.Dataset.list_files(pattern, shuffle=False).map(read).snapshot(folder)

    assert [int(x) for x in pipeline().take(2)] == [0, 1]
    assert [int(x) for x in pipeline()] == [0, 1, 2]
    assert [int(x) for x in ks.load(folder)] == [0, 1, 2]
    assert ks.explain(pipeline(), folder).hit
    (fingerprint,) = (path.name for path in folder.iterdir())
    store = open_store(folder).sub(f"{fingerprint}/")
    segment = min((folder / fingerprint / "segments").iterdir())
    flip(segment, segment.stat().st_size // 2)
    repair_snapshot(store, check_snapshot(store))
    assert [int(x) for x in pipeline()] == [0, 1, 2]
    gc(folder)
    assert check_snapshot(store).is_sound
    assert [int(x) for x in pipeline()] == [0, 1, 2]
    remove_snapshot(store)
    assert only_the_removal_is_left(Path(store.url))


@pytest.mark.parametrize("compression", [None, "LZ4", "GZIP"])
def test_arrays_without_items(tmp_path: Path, compression: str | None) -> None:
    def element(x: np.int64) -> Any:
        return {
            "none": np.zeros((0, 3), np.float32),
            "some": np.zeros((int(x) % 2, 2), np.int8),
            "text": b"",
            "ragged": ks.Ragged(np.zeros(0), [0, 0]),
        }

    def check(elements: Any) -> None:
        rows = list(elements)
        assert len(rows) == 20
        for x, row in enumerate(rows):
            assert row["none"].shape == (0, 3)
            assert row["some"].shape == (x % 2, 2)
            assert row["text"] == b""
            assert len(row["ragged"]) == 1

    ds = ks.Dataset.range(20).map(element)
    ds = ds.snapshot(tmp_path, compression, fingerprint="f", chunk_bytes=8)
    list(ds.take(7))
    check(ds)
    check(ds)
    check(ks.load(tmp_path))
    store = open_store(tmp_path).sub("f/")
    assert check_snapshot(store).is_sound
    segment = max((tmp_path / "f" / "segments").iterdir(), key=lambda path: path.stat().st_size)
    flip(segment, segment.stat().st_size // 2)
    repair_snapshot(store, check_snapshot(store))
    check(ds)


@pytest.mark.filterwarnings("ignore:.* is a complete snapshot of no elements")
def test_no_element_at_all(tmp_path: Path) -> None:
    ds = ks.Dataset.range(0).map(lambda x: {"x": x}).snapshot(tmp_path, fingerprint="f")
    for _ in range(2):
        assert list(ds) == []
    assert list(ks.load(tmp_path)) == []
    assert len(ks.load(tmp_path)) == 0
    store = open_store(tmp_path).sub("f/")
    assert [commit.kind for commit in Log(store).history()] == ["complete"]
    report = check_snapshot(store)
    assert report.is_sound
    assert (report.elements, report.chunks) == (0, 0)
    assert repair_snapshot(store, report).dropped == ()
    assert gc(tmp_path) == 0
    assert list(ds) == []
    flip(tmp_path / "f" / "commits" / "00000000.json", 9)
    with pytest.raises(ks.CorruptSnapshotError):
        list(ds)
    repair_snapshot(store, check_snapshot(store))
    assert list(ds) == []
    assert remove_snapshot(store) > 0
    with pytest.raises(ks.SnapshotMissingError):
        ks.load(tmp_path)


def test_an_empty_data_set_over_a_full_one(tmp_path: Path) -> None:
    ks.Dataset.range(5).save(tmp_path)
    ks.Dataset.range(0).save(tmp_path)
    assert list(ks.load(tmp_path)) == []
    assert check_snapshot(open_store(tmp_path)).is_sound
    assert gc(tmp_path) > 0
    assert list((tmp_path / "segments").iterdir()) == []
    assert list(ks.load(tmp_path)) == []
