"""RangeFile: reading and seeking in a bucket is as in a file, with few requests."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import keepset as ks
from keepset.exchange.files import range_file
from keepset.exchange.files.file_names import store_of
from keepset.exchange.files.range_file import BLOCK_BYTES, RangeFile, open_to_read
from keepset.exchange.files.row_file import Place
from keepset.storage import LocalStore


class CountingStore(LocalStore):
    """Remembers what was asked for."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.asked: list[tuple[int, int]] = []

    def read_ranges(self, name: str, ranges: Sequence[tuple[int, int]]) -> list[memoryview | bytes]:
        self.asked += ranges
        return super().read_ranges(name, ranges)


def stored(folder: Path, data: bytes) -> tuple[Place, CountingStore]:
    (folder / "some.bin").write_bytes(data)
    store = CountingStore(folder)
    return Place("some.bin", store, "some.bin"), store


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("read"), st.integers(-1, 80)),
        st.tuples(st.just("readinto"), st.integers(0, 80)),
        st.tuples(st.just("seek"), st.integers(0, 150)),
        st.tuples(st.just("back"), st.integers(0, 20)),
        st.tuples(st.just("end"), st.integers(0, 60)),
    )
)


@given(size=st.integers(0, 100), steps=STEPS, block=st.integers(1, 40))
def test_it_reads_as_a_file_in_memory_does(
    tmp_path_factory: pytest.TempPathFactory, size: int, steps: list[tuple[str, int]], block: int
) -> None:
    data = os.urandom(size)
    place, _ = stored(tmp_path_factory.getbasetemp(), data)
    with pytest.MonkeyPatch.context() as patch, RangeFile(place) as file:
        patch.setattr(range_file, "BLOCK_BYTES", block)
        file.most_blocks = 2
        model = io.BytesIO(data)
        for step, number in steps:
            if step == "read":
                assert file.read(number) == model.read(number)
            elif step == "readinto":
                ours, theirs = bytearray(number), bytearray(number)
                assert file.readinto(ours) == model.readinto(theirs)
                assert ours == theirs
            elif step == "seek":
                assert file.seek(number) == model.seek(number)
            elif step == "back" and model.tell() >= number:
                whence = os.SEEK_CUR
                assert file.seek(-number, whence) == model.seek(-number, whence)
            elif step == "end" and number <= size:
                assert file.seek(-number, os.SEEK_END) == model.seek(-number, os.SEEK_END)
            assert file.tell() == model.tell()


def test_blocks_are_fetched_once_and_not_beyond_the_end(tmp_path: Path) -> None:
    place, store = stored(tmp_path, bytes(BLOCK_BYTES * 3 + 7))
    with RangeFile(place) as file:
        for at in (0, 5, BLOCK_BYTES - 3, 3 * BLOCK_BYTES, 10):
            file.seek(at)
            assert len(file.read(6)) == 6
    assert store.asked == [
        (0, BLOCK_BYTES),
        (BLOCK_BYTES, BLOCK_BYTES),
        (3 * BLOCK_BYTES, 7),
    ]


def test_what_is_kept_is_bounded(tmp_path: Path) -> None:
    place, store = stored(tmp_path, bytes(BLOCK_BYTES * 20))
    with RangeFile(place) as file:
        for block in range(20):
            file.seek(block * BLOCK_BYTES)
            file.read(1)
        assert sum(map(len, file._blocks.values())) == 16 * BLOCK_BYTES
        file.seek(0)
        file.read(1)
    assert len(store.asked) == 21
    with RangeFile(place) as file:
        assert len(file.readall()) == 20 * BLOCK_BYTES
        assert not file._blocks
    assert store.asked[-1] == (0, 20 * BLOCK_BYTES)


def test_a_local_file_is_opened_itself(tmp_path: Path) -> None:
    place, store = stored(tmp_path, b"some bytes")
    with open_to_read(place) as file:
        assert isinstance(file, io.BufferedReader)
        assert file.read() == b"some bytes"
    assert not store.asked
    with pytest.raises(ks.ObjectMissingError, match="nothing"):
        open_to_read(Place("nothing", store, "nothing"))


def test_a_file_in_a_bucket_is_read_in_ranges() -> None:
    store, name = store_of("memory://range-file/folder/some.bin", None)
    store.put(name, b"0123456789")
    with open_to_read(Place("some.bin", store, name)) as file:
        assert isinstance(file, RangeFile)
        file.seek(-4, os.SEEK_END)
        assert file.read(3) == b"678"
    with pytest.raises(ks.ObjectMissingError):
        open_to_read(Place("nothing", store, "nothing"))


def test_it_cannot_be_used_in_other_ways(tmp_path: Path) -> None:
    place, _ = stored(tmp_path, b"some bytes")
    file = RangeFile(place)
    assert file.readable()
    assert file.seekable()
    assert not file.writable()
    with pytest.raises(ValueError, match="before the beginning"):
        file.seek(-1)
    with pytest.raises(ValueError, match="whence"):
        file.seek(0, 7)
    file.close()
    for use in (file.read, file.tell, lambda: file.seek(0), lambda: file.readinto(bytearray(1))):
        with pytest.raises(ValueError, match="closed"):
            use()
