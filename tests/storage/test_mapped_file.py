"""Mapped files: their bytes, without a descriptor, for as long as anything looks at them."""

from __future__ import annotations

import errno
import gc
import os
import weakref
from pathlib import Path

import numpy as np
import pytest

from keepset.core.arrays import MappedFile
from keepset.storage import mapped_file as module
from keepset.storage.mapped_file import mapped_file


def mapped(path: Path) -> MappedFile:
    with path.open("rb") as file:
        return mapped_file(file.fileno())


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.parametrize("size", [1, 4095, 4096, 4097, 1 << 20])
def test_the_bytes_are_those_of_the_file(tmp_path: Path, size: int) -> None:
    data = np.random.default_rng(size).bytes(size)
    (tmp_path / "a").write_bytes(data)
    found = mapped(tmp_path / "a")
    (tmp_path / "a").unlink()
    assert len(found) == size
    assert bytes(found) == data
    assert memoryview(found).readonly


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="descriptors as Linux lists them")
def test_no_descriptor_is_held(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"a" * 5000)
    before = open_descriptors()
    maps = [mapped(tmp_path / "a") for _ in range(50)]
    assert open_descriptors() == before
    assert all(bytes(each[:2]) == b"aa" for each in maps)


@pytest.mark.skipif(not os.path.exists("/proc/self/maps"), reason="maps as Linux lists them")
def test_what_nobody_looks_at_is_unmapped(tmp_path: Path) -> None:
    path = tmp_path / "looked-at"
    path.write_bytes(b"a" * 9000)
    array = np.frombuffer(mapped(path), np.uint8)
    gone = weakref.ref(array.base.obj if isinstance(array.base, memoryview) else array.base)
    assert str(path) in Path("/proc/self/maps").read_text()
    part = array[4096:4098]
    del array
    assert part.tolist() == [97, 97]
    del part
    gc.collect()
    assert gone() is None
    assert str(path) not in Path("/proc/self/maps").read_text()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_fork_reads_it_as_well(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc" * 3000)
    found = mapped(tmp_path / "a")
    pid = os.fork()
    if not pid:
        os._exit(0 if bytes(found[-3:]) == b"abc" else 1)
    assert os.waitpid(pid, 0)[1] == 0
    assert bytes(found[-3:]) == b"abc"


def test_where_the_system_refuses_it_is_an_error_of_the_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if module._HAS_TRACKFD:
        pytest.skip("Python maps files by itself")
    (tmp_path / "a").write_bytes(b"a")
    folder = os.open(tmp_path, os.O_RDONLY)  # which cannot be mapped
    try:
        with pytest.raises(OSError, match="No such device") as caught:
            mapped_file(folder)
    finally:
        os.close(folder)
    assert caught.value.errno == errno.ENODEV


def test_where_the_call_is_not_known_python_maps_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    monkeypatch.setattr(module, "_system_call", lambda: None)
    assert bytes(mapped(tmp_path / "a")) == b"abc"
