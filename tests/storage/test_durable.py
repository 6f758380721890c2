"""Temporary files: what was written is there, in order, however the system takes it."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepset.storage import durable
from keepset.storage.durable import TemporaryFile

LARGE = durable._SMALL_BYTES + 1


def content(file: TemporaryFile) -> bytes:
    return Path(file.path).read_bytes()


def check_all_arrive(folder: Path, pieces: list[bytes]) -> None:
    file = TemporaryFile(str(folder))
    for piece in pieces:
        file.write(piece)
    file.sync()
    assert content(file) == b"".join(pieces)


@given(sizes=st.lists(st.sampled_from([0, 1, 7, 4096, LARGE - 1, LARGE, 3 * LARGE]), max_size=12))
def test_pieces_of_all_sizes_come_in_their_order(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int]
) -> None:
    pieces = [bytes([i + 1]) * size for i, size in enumerate(sizes)]
    check_all_arrive(tmp_path_factory.mktemp("files"), pieces)


def test_memory_that_is_used_again_may_be_changed_at_once(tmp_path: Path) -> None:
    file = TemporaryFile(str(tmp_path))
    for size in (10, LARGE):
        memory = bytearray(b"a" * size)
        file.write(memory)
        memory[:] = b"b" * size
    file.close()
    assert content(file) == b"a" * (10 + LARGE)


def test_a_system_that_takes_a_part_gets_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def few(descriptor: int, pieces: list[memoryview]) -> int:
        return os.write(descriptor, b"".join(pieces)[:1000])

    monkeypatch.setattr(durable, "_write_together", few)
    check_all_arrive(tmp_path, [os.urandom(size) for size in (5, 999, 1000, LARGE, 3, LARGE)])


def test_small_pieces_do_not_pile_up(tmp_path: Path) -> None:
    file = TemporaryFile(str(tmp_path))
    piece = b"x" * 1000
    for _ in range(1000):
        file.write(piece)
    assert len(content(file)) > 1000 * len(piece) - 2 * durable._MOST_WAITING_BYTES
    file.close()
    assert content(file) == piece * 1000


def test_a_disk_that_is_full_is_noticed_before_the_file_is_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int, pieces: list[memoryview]) -> int:
        raise OSError(errno.ENOSPC, "no space")

    file = TemporaryFile(str(tmp_path))
    file.write(b"small")
    monkeypatch.setattr(durable, "_write_together", full)
    with pytest.raises(OSError, match="no space"):
        file.sync()
    file.discard()
    assert not list(tmp_path.iterdir())


def test_what_is_discarded_is_not_written(tmp_path: Path) -> None:
    file = TemporaryFile(str(tmp_path))
    file.write(b"small")
    file.discard()
    assert not list(tmp_path.iterdir())


def test_a_copy_in_the_place_of_the_file_is_not_named(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    file = TemporaryFile(str(folder))
    file.write(bytes(LARGE))
    shutil.copytree(folder.rename(tmp_path / "away"), folder)
    file.write(bytes(LARGE))
    with pytest.raises(FileNotFoundError, match="was moved or replaced"):
        file.sync()
    file.discard()
