"""Hashes of files, computed aside."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
import xxhash

from keepset.storage.file_hashes import FileHashes
from keepset.testing.resources import nothing_left_behind


@pytest.fixture
def paths(tmp_path: Path) -> list[str]:
    contents = [b"", b"a", b"b" * (1 << 20), b"c" * ((3 << 20) + 1)]
    for i, content in enumerate(contents):
        (tmp_path / str(i)).write_bytes(content)
    return [os.fspath(tmp_path / str(i)) for i in range(len(contents))]


def test_hashes_are_those_of_the_content(paths: list[str]) -> None:
    with nothing_left_behind():
        found = FileHashes(4, paths.__getitem__)
        found.compute(range(4))
    assert found.known.all()
    for path, digest in zip(paths, found.hashes, strict=True):
        assert digest.tobytes() == xxhash.xxh3_128_digest(Path(path).read_bytes())


def test_only_what_is_asked_for_is_read_and_only_once(paths: list[str]) -> None:
    found = FileHashes(4, paths.__getitem__)
    found.compute([1, 3])
    assert found.known.tolist() == [False, True, False, True]
    before = found.hashes[1].tobytes()
    Path(paths[1]).write_bytes(b"z")
    found.compute([1, 2])
    assert found.hashes[1].tobytes() == before
    assert found.known.tolist() == [False, True, True, True]


def test_a_file_that_cannot_be_read_stays_unknown(paths: list[str], tmp_path: Path) -> None:
    Path(paths[0]).unlink()
    found = FileHashes(5, [*paths, os.fspath(tmp_path)].__getitem__)
    found.compute(range(5))
    assert found.known.tolist() == [False, True, True, True, False]


def test_hashing_ends_when_the_answer_is_known(paths: list[str]) -> None:
    found = FileHashes(400, (paths * 100).__getitem__)
    tried = []

    def go_on(number: int) -> bool:
        tried.append(number)
        return number < 3

    found.compute(range(400), go_on)
    assert 3 in tried
    assert len(tried) < 20
    assert found.known.sum() <= len(tried)


def test_hashing_stops_in_the_middle_of_a_file(tmp_path: Path) -> None:
    endless = tmp_path / "endless"
    with endless.open("wb") as file:
        file.truncate(1 << 42)  # takes hours to read and no room on the disk
    with nothing_left_behind():
        found = FileHashes(1, lambda _: os.fspath(endless))
        found.start([0])
        found.wait(0.05)
        found.stop()
        found.stop()
    assert not found.known.any()


class Rests(threading.Event):
    """Knows for how long it was waited for."""

    def __init__(self) -> None:
        super().__init__()
        self.waits_s: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.waits_s.append(timeout or 0.0)
        return super().wait(timeout)


def test_gentle_hashing_rests_until_it_is_told_to_hurry(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"x" * (32 << 20))  # some milliseconds of work
    found = FileHashes(3, lambda _: os.fspath(tmp_path / "x"))
    found._hurries = rests = Rests()
    found.compute([0])
    assert rests.waits_s == []
    found.start([1], gently=True)
    found.wait()
    (rest_s,) = rests.waits_s
    assert rest_s > 0.004
    found.start([2], gently=True)
    found.hurry()
    found.wait()
    assert found.known.all()
