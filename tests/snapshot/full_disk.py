"""A program that runs out of room while it keeps something. Run by test_full_disk.

    python full_disk.py KIND FOLDER JOB...

KIND is "tmpfs", where FOLDER is a small file system of its own that this process may make larger,
or "rlimit", where files may not be larger than a limit that it sets itself.
"""

import errno
import os
import re
import resource
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keepset as ks
from keepset.format.log import Log
from keepset.snapshot import beginning
from keepset.snapshot.upkeep.checking import check_snapshot
from keepset.snapshot.upkeep.collecting import collect, plan_collection
from keepset.snapshot.upkeep.removing import remove_snapshot
from keepset.snapshot.upkeep.repairing import repair_snapshot
from keepset.snapshot.writing import first_pass
from keepset.storage import open_store

COUNT = 400
MOST_BYTES = 60_000  # in one file


class Disk:
    """A place where there is little room, or none at all, or enough."""

    def __init__(self, kind: str, folder: Path) -> None:
        self._is_tmpfs, self._folder = kind == "tmpfs", folder

    def is_due(self, first: first_pass.FirstPass) -> bool:
        """A commit after a few elements, and after too many for the limit later on."""
        return first._added >= (5 if first._start < 100 or self._is_tmpfs else 50)

    def give_room(self) -> None:
        self._set_size(16 << 20, resource.RLIM_INFINITY)

    def take_room(self) -> None:
        self._set_size(1 << 20, MOST_BYTES)

    def _set_size(self, disk_bytes: int, file_bytes: int) -> None:
        if self._is_tmpfs:
            command = ["mount", "-o", f"remount,size={disk_bytes}", str(self._folder)]
            subprocess.run(command, check=True)
        else:
            hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
            resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, hard))

    @contextmanager
    def full(self) -> Iterator[None]:
        """Not one block is free, until the end."""
        ballast = self._folder / "ballast"
        with (
            open(ballast, "wb", buffering=0) as file,
            pytest.raises(OSError, match=os.strerror(errno.ENOSPC)),
        ):
            file.writelines(repeat(bytes(4096)))
        yield
        ballast.unlink()

    @contextmanager
    def refused(self, path: Path) -> Iterator[None]:
        """What is done here must fail for want of room, and say where."""
        with pytest.raises(ks.StorageError, match=re.escape(str(path))) as caught:
            yield
        assert caught.value.errno == (errno.ENOSPC if self._is_tmpfs else errno.EFBIG)


class Noise:
    """Elements that no codec makes smaller."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, x: np.int64) -> Any:
        self.calls += 1
        return np.random.default_rng(int(x)).integers(0, 256, 4000, np.uint8)


def dataset(function: Any = None) -> ks.Dataset:
    return ks.Dataset.range(COUNT).map(function or Noise())


def kept(path: Path, function: Any = None) -> ks.Dataset:
    return dataset(function).snapshot(
        path, fingerprint="f", chunk_bytes=8000, on_write_error="raise"
    )


def check(elements: Any, count: int = COUNT) -> None:
    rows = list(elements)
    assert len(rows) == count
    for x, row in enumerate(rows):
        assert row.tobytes() == Noise()(np.int64(x)).tobytes()


def check_tidy(path: Path) -> None:
    """Nothing is left to be cleaned up by hand."""
    assert not list(path.rglob(".tmp-*"))
    assert not [file for file in path.rglob("leases/*") if file.is_file()]


# The jobs:


def a_pass(path: Path, disk: Disk) -> None:
    with disk.refused(path):
        list(kept(path))
    state = Log(open_store(path).sub("f/")).state()
    committed = state.appends[-1].stop
    assert 0 < committed < COUNT
    check_tidy(path)
    disk.give_room()
    again = Noise()
    check(kept(path, again))
    # The last one is computed again, to be compared.
    assert again.calls == COUNT - committed + 1
    check(ks.load(path))


def a_pass_that_goes_on(path: Path, disk: Disk) -> None:
    """The disk is full from some element on: all of them come, and one warning."""

    def going_on(function: Any = None) -> ks.Dataset:
        return dataset(function).snapshot(path, fingerprint="f", chunk_bytes=8000)

    for _ in range(2):
        with pytest.warns(UserWarning, match="not stored") as caught:
            check(going_on())
        assert len(caught) == 1
    committed = Log(open_store(path).sub("f/")).state().appends[-1].stop
    assert 0 < committed < COUNT
    assert f"its first {committed:,} elements are" in str(caught[0].message)
    check_tidy(path)
    disk.give_room()
    again = Noise()
    check(going_on(again))
    assert again.calls == COUNT - committed + 1
    check(ks.load(path))


def a_pass_that_waits(path: Path, disk: Disk) -> None:
    """There is room again before patience is over: nothing is said, and everything is stored."""
    beginning._PATIENCE_S = 60.0
    giving = threading.Timer(0.7, disk.give_room)
    giving.start()
    check(kept(path))
    giving.join()
    beginning._PATIENCE_S = 0.0
    check(ks.load(path))


def a_save(path: Path, disk: Disk) -> None:
    dataset().take(10).save(path)
    with disk.refused(path):
        dataset().save(path)
    check(ks.load(path), 10)
    check_tidy(path)
    disk.give_room()
    dataset().save(path)
    check(ks.load(path))


def a_repair(path: Path, disk: Disk) -> None:
    disk.give_room()
    list(kept(path))
    store = open_store(path).sub("f/")
    segment = check_snapshot(store).manifest.segments[3].entry.name
    data = bytearray((path / "f" / segment).read_bytes())
    data[len(data) // 2] ^= 1
    (path / "f" / segment).write_bytes(data)
    report = check_snapshot(store)
    with disk.full(), disk.refused(path):
        repair_snapshot(store, report)
    assert check_snapshot(store).damages == report.damages
    repair_snapshot(store, report)
    with disk.full(), disk.refused(path):
        list(kept(path))
    check_tidy(path)
    check(kept(path))
    check(ks.load(path))


def a_collection(path: Path, disk: Disk) -> None:
    disk.give_room()
    for count in (50, 60, 10):
        dataset().take(count).save(path)
    with disk.full():
        root = open_store(path)
        assert collect(root, plan_collection(root, grace_s=0.0)) > 100 * 4000
        assert len(list((path / "segments").iterdir())) == 1
    check(ks.load(path), 10)


def a_collection_after_a_kill(path: Path, disk: Disk) -> None:
    """Only what a dead writer left is there to go, and its run is to be fenced first."""
    disk.give_room()
    dataset().take(10).save(path)
    with open_store(path).writer("segments/0123456789abcdef-0.arrow") as orphan:
        orphan.write(bytes(100_000))
    (path / "leases" / "0123456789abcdef.json").write_text(
        '{"run":"0123456789abcdef","host":"x","boot":"","pid":1,"started":"","since":0,"beat":0}'
    )
    os.utime(path / "leases" / "0123456789abcdef.json", (0, 0))
    with disk.full():
        root = open_store(path)
        assert collect(root, plan_collection(root, grace_s=0.0)) == 100_000
        assert len(list((path / "segments").iterdir())) == 1
    check_tidy(path)
    check(ks.load(path), 10)


def a_removal(path: Path, disk: Disk) -> None:
    disk.give_room()
    for count in (5, 10):
        dataset().take(count).save(path)
    list(kept(path / "pass").take(20))
    with disk.full():
        remove_snapshot(open_store(path))
        remove_snapshot(open_store(path / "pass" / "f"))
    # One each, which says that the snapshot was removed.
    files = [file.parent for file in path.rglob("*") if file.is_file()]
    assert sorted(files) == [path / "commits", path / "pass" / "f" / "commits"]
    assert all(Log(open_store(file.parent)).state().removal for file in files)


JOBS = [
    a_pass,
    a_pass_that_goes_on,
    a_pass_that_waits,
    a_save,
    a_repair,
    a_collection,
    a_collection_after_a_kill,
    a_removal,
]


def main() -> None:
    folder = Path(sys.argv[2])
    beginning._PATIENCE_S = 0.0
    disk = Disk(sys.argv[1], folder)
    first_pass.FirstPass.is_due = property(disk.is_due)  # type: ignore[method-assign,assignment]
    for job in JOBS:
        if job.__name__ in sys.argv[3:]:
            disk.take_room()
            path = folder / job.__name__
            job(path, disk)
            subprocess.run(["rm", "-r", path], check=True)
            print(job.__name__, "is right", flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
