"""CachedStore: fewer reads from afar, never other bytes, and no more disk than allowed."""

import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keepset.errors import InvalidArgumentError, ObjectMissingError
from keepset.storage import LocalStore, Store, disk_cache
from keepset.storage.disk_cache import CachedStore

BLOCK = 64
HEADER = 16
DATA = bytes(n * 7 % 251 for n in range(1000))


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_cache, "BLOCK_BYTES", BLOCK)


class Counted(LocalStore):
    """A store that pretends to be far away, and writes down what is fetched from it."""

    is_remote = True

    def __init__(self, path: Any) -> None:
        super().__init__(path)
        self.fetched: list[tuple[str, int, int]] = []

    def read_ranges(self, name: str, ranges: Sequence[tuple[int, int]]) -> list[memoryview | bytes]:
        self.fetched += [(name, offset, length) for offset, length in ranges]
        return super().read_ranges(name, ranges)


@pytest.fixture
def far(tmp_path: Path) -> Counted:
    store = Counted(tmp_path / "far")
    store.put("segments/x", DATA)
    store.put("commits/0", DATA)
    return store


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def disk_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


def test_a_block_is_fetched_once(far: Counted, folder: Path) -> None:
    cached = CachedStore(far, folder, 1 << 20)
    assert cached.read_range("segments/x", 70, 100) == DATA[70:170]
    assert far.fetched == [("segments/x", 64, 64), ("segments/x", 128, 64)]
    far.fetched.clear()
    assert cached.read_range("segments/x", 64, 128) == DATA[64:192]
    # Another process finds it as well.
    assert CachedStore(far, folder, 1 << 20).read_range("segments/x", 190, 1) == DATA[190:191]
    assert far.fetched == []


def test_the_last_block_is_as_short_as_it_is(far: Counted, folder: Path) -> None:
    cached = CachedStore(far, folder, 1 << 20)
    for _ in range(2):
        assert cached.read_range("segments/x", 950, 50) == DATA[950:]
    assert far.fetched == [("segments/x", 896, 64), ("segments/x", 960, 40)]


def test_what_may_change_is_never_kept(far: Counted, folder: Path) -> None:
    cached = CachedStore(far, folder, 1 << 20)
    assert cached.read_range("commits/0", 0, 10) == DATA[:10]
    far.put("commits/0", b"other bytes")
    assert cached.read_range("commits/0", 0, 5) == b"other"
    assert not folder.exists()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    cap=st.sampled_from([0, 100, 500, 1 << 20]),
    ranges=st.lists(
        st.tuples(st.integers(0, 999), st.integers(0, 300)).map(
            lambda pick: (pick[0], min(pick[1], 1000 - pick[0]))
        )
    ),
    at_once=st.integers(1, 4),
)
def test_what_is_read_is_what_is_there(
    far: Counted, tmp_path: Path, cap: int, ranges: list[tuple[int, int]], at_once: int
) -> None:
    cached = CachedStore(far, tmp_path / uuid4().hex, cap)
    for start in range(0, len(ranges), at_once):
        some = ranges[start : start + at_once]
        found = cached.read_ranges("segments/x", some)
        assert [bytes(part) for part in found] == [DATA[o : o + n] for o, n in some]


@pytest.mark.parametrize("at", [0, 4, 8, HEADER, HEADER + 30, HEADER + BLOCK - 1])
@pytest.mark.parametrize("damage", ["flip", "cut", "grow"])
def test_a_damaged_block_is_fetched_again(far: Counted, folder: Path, damage: str, at: int) -> None:
    cached = CachedStore(far, folder, 1 << 20)
    cached.read_range("segments/x", 0, 10)
    [file] = folder.iterdir()
    data = bytearray(file.read_bytes())
    if damage == "flip":
        data[at] ^= 1
    elif damage == "cut":
        del data[at:]
    else:
        data += bytes(at + 1)
    file.write_bytes(data)
    assert cached.read_range("segments/x", 0, BLOCK) == DATA[:BLOCK]
    far.fetched.clear()
    assert cached.read_range("segments/x", 0, BLOCK) == DATA[:BLOCK]
    assert far.fetched == []


def test_the_disk_holds_no_more_than_allowed(far: Counted, folder: Path) -> None:
    cap = 5 * (BLOCK + HEADER)
    cached = CachedStore(far, folder, cap)
    for offset in range(0, 1000, BLOCK):
        cached.read_range("segments/x", offset, 1)
        assert disk_bytes(folder) <= cap
    assert disk_bytes(folder) > 0


def test_what_was_used_last_stays(far: Counted, folder: Path) -> None:
    cached = CachedStore(far, folder, 4 * (BLOCK + HEADER))
    for number in (0, 1, 2, 3):
        cached.read_range("segments/x", number * BLOCK, 1)
    for age, file in enumerate(sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime_ns)):
        os.utime(file, (1000 + age, 1000 + age))
    cached.read_range("segments/x", 0, 1)  # the oldest becomes the newest
    cached.read_range("segments/x", 4 * BLOCK, 1)
    far.fetched.clear()
    cached.read_range("segments/x", 0, 1)
    assert far.fetched == []
    cached.read_range("segments/x", BLOCK, 1)
    assert far.fetched != []


def test_what_earlier_processes_left_counts(far: Counted, folder: Path) -> None:
    cap = 4 * (BLOCK + HEADER)
    for offset in range(0, 1000, BLOCK):
        CachedStore(far, folder, cap).read_range("segments/x", offset, 1)
        assert disk_bytes(folder) <= cap


def test_files_of_others_are_not_removed(far: Counted, folder: Path) -> None:
    folder.mkdir()
    (folder / "diary.txt").write_bytes(bytes(10_000))
    cached = CachedStore(far, folder, 200)
    for offset in range(0, 1000, BLOCK):
        cached.read_range("segments/x", offset, 1)
    assert (folder / "diary.txt").exists()


def test_a_disk_that_fails_does_no_harm(
    far: Counted, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    cached = CachedStore(far, folder, 1 << 20)
    with monkeypatch.context() as patch:
        patch.setattr(os, "writev", fail)
        assert cached.read_range("segments/x", 0, 200) == DATA[:200]
    assert list(folder.iterdir()) == []
    (folder.parent / "file").write_bytes(b"")
    blocked = CachedStore(far, folder.parent / "file", 1 << 20)
    assert blocked.read_range("segments/x", 0, 200) == DATA[:200]


def test_many_threads_share_a_small_cache(far: Counted, folder: Path) -> None:
    stores: list[Store] = [CachedStore(far, folder, 300) for _ in range(2)]
    barrier = threading.Barrier(4)

    def read(number: int) -> bool:
        barrier.wait()
        return all(
            stores[number % 2].read_range("segments/x", at, 90) == DATA[at : at + 90]
            for at in range(0, 900, 13)
        )

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(read, range(4)))


def test_sub_stores_share_the_room_and_not_the_blocks(far: Counted, folder: Path) -> None:
    far.put("run/segments/x", DATA[::-1])
    cached = CachedStore(far, folder, 1 << 20)
    assert cached.read_range("segments/x", 0, 10) == DATA[:10]
    assert cached.sub("run").read_range("segments/x", 0, 10) == DATA[::-1][:10]


def test_a_missing_segment_is_missing(far: Counted, folder: Path) -> None:
    with pytest.raises(ObjectMissingError):
        CachedStore(far, folder, 1 << 20).read_range("segments/y", 0, 1)


def test_a_negative_size_is_refused(far: Counted, folder: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="max_bytes"):
        CachedStore(far, folder, -1)
