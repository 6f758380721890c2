"""Shortages: which errors say something about the data, and which about this process."""

from __future__ import annotations

import errno
import os
from contextlib import suppress

import cramjam
import pyarrow as pa
import pytest

from keepset.errors import KeepsetError, OutOfMemoryError, StorageError
from keepset.storage.failures import reading
from keepset.storage.shortage import raise_shortage, shortages_of


@pytest.mark.parametrize(
    ("error", "wanted"),
    [
        (MemoryError(), None),
        (pa.ArrowMemoryError("malloc of size 30000000 failed"), 30_000_000),
        (pa.ArrowException("realloc of size 100 failed"), 100),
        (pa.ArrowInvalid("Could not read: malloc of size 100 failed"), 100),
        (OSError("ZSTD decompression failed: Allocation error : not enough memory"), None),
        (OSError("LZ4 init failed: ERROR_allocation_failed"), None),
        (OSError("out of memory error when reading image file"), None),
        (RuntimeError("can't start new thread"), None),
        (OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)), None),
    ],
    ids=repr,
)
def test_a_lack_of_memory_is_recognised(error: Exception, wanted: int | None) -> None:
    with pytest.raises(OutOfMemoryError, match="memory ran out while /a/b was read") as caught:
        raise_shortage(error, "/a/b")
    assert (caught.value.path, caught.value.wanted_bytes) == ("/a/b", wanted)
    assert caught.value.__cause__ is error
    assert isinstance(caught.value, MemoryError)
    assert isinstance(caught.value, KeepsetError)


def test_how_much_numpy_wanted_is_said() -> None:
    said = r": 3\.9 GB could not be had; .*`ulimit -v`"
    with pytest.raises(OutOfMemoryError, match=said), shortages_of("/a/b"):
        raise MemoryError("Unable to allocate 3.64 GiB for an array with shape (3910000000,)")


@pytest.mark.parametrize(
    "number", [errno.EIO, errno.EMFILE, errno.ENFILE, errno.EINTR, errno.ESTALE, errno.EACCES]
)
def test_what_the_system_says_is_not_about_the_data(number: int) -> None:
    with pytest.raises(StorageError, match="cannot read /a/b: ") as caught:
        raise_shortage(OSError(number, os.strerror(number)), "/a/b")
    assert caught.value.errno == number


@pytest.mark.parametrize(
    "error",
    [
        ValueError("'out of memory' is no number"),
        pa.ArrowInvalid("CSV conversion error to int64: invalid value 'out of memory'"),
        OSError("Corrupt snappy compressed data."),
        OSError(errno.EINVAL, "Invalid argument"),
        EOFError("it ends"),
        pa.ArrowMemoryError(f"malloc of size {1 << 60} failed"),  # a length that is damaged
    ],
    ids=repr,
)
def test_what_may_be_damage_is_left_to_the_caller(error: Exception) -> None:
    raise_shortage(error, "/a/b")


def test_causes_are_looked_at() -> None:
    error = ValueError("the gzip member is damaged")
    error.__cause__ = MemoryError()
    with pytest.raises(OutOfMemoryError):
        raise_shortage(error, "/a/b")


def test_an_error_that_was_raised_before_is_the_same() -> None:
    first = OutOfMemoryError("no memory", path="/c")
    with suppress(OutOfMemoryError):
        raise first
    error = ValueError("the file is damaged")
    error.__cause__ = first
    with pytest.raises(OutOfMemoryError) as caught:
        raise_shortage(error, "/a/b")
    assert caught.value is first


def test_damage_that_a_codec_reports_is_no_shortage() -> None:
    with pytest.raises(cramjam.DecompressionError), shortages_of("/a/b"):
        cramjam.snappy.decompress(b"no snappy")


@pytest.mark.parametrize("error", [MemoryError(), OSError(errno.ENOMEM, "no memory")])
def test_a_store_says_that_memory_ran_out(error: Exception) -> None:
    with pytest.raises(OutOfMemoryError, match="while /a was read"), reading("/a"):
        raise error
