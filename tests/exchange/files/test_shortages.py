"""Files of others where memory runs out: they are not called damaged, and not left out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet
import pytest

import keepset as ks
from keepset.errors import CorruptRecordError, OutOfMemoryError
from keepset.exchange.arrays import npy_header, npz_members
from keepset.exchange.arrow import own
from keepset.exchange.files.row_file import Place
from keepset.exchange.images.pictures import PixelFormat
from keepset.exchange.tables.parquet import _ParquetRows
from keepset.storage import open_store


def no_memory(*arguments: Any, **options: Any) -> Any:
    raise pa.ArrowMemoryError("realloc of size 30000000 failed")


def raises(error: Exception) -> Callable[..., Any]:
    def call(*arguments: Any, **options: Any) -> Any:
        raise error

    return call


def parquet(path: Path) -> ks.Dataset:
    pa.parquet.write_table(pa.table({"x": [1, 2, 3]}), path)
    return ks.read_parquet(path)


def test_a_parquet_file_is_not_called_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ds = parquet(tmp_path / "a.parquet")
    monkeypatch.setattr(_ParquetRows, "_check", no_memory)
    with pytest.raises(OutOfMemoryError, match=r"a\.parquet was read: 30\.0 MB could not be had"):
        list(ds)


def test_a_picture_is_not_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.png").write_bytes(b"some bytes")
    ds = ks.read_images(tmp_path / "a.png", on_corrupt="skip")
    error = OSError("out of memory error when reading image file")
    monkeypatch.setattr(PixelFormat, "_decoded", raises(error))
    with pytest.raises(OutOfMemoryError):
        list(ds)


def test_a_zip_file_of_arrays_is_not_called_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.savez_compressed(tmp_path / "a.npz", x=np.arange(10))
    ds = ks.read_npz(tmp_path / "a.npz")
    monkeypatch.setattr(npz_members.OpenNpz, "stream", raises(MemoryError()))
    with pytest.raises(OutOfMemoryError, match=r"a\.npz"):
        list(ds)


def test_a_header_of_numpy_is_not_called_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.save(tmp_path / "a.npy", np.arange(10))
    monkeypatch.setattr(npy_header, "_facts", raises(MemoryError()))
    with pytest.raises(OutOfMemoryError, match=r"a\.npy"):
        list(ks.read_npy(tmp_path / "a.npy"))


def test_a_table_of_ours_is_not_called_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ks.Dataset.range(5).map(lambda i: {"x": i}).write_arrow(tmp_path / "a.arrow")
    monkeypatch.setattr(own, "array_of", no_memory)
    with pytest.raises(OutOfMemoryError):
        list(ks.read_arrow(tmp_path / "a.arrow"))


@pytest.mark.parametrize(
    "error", [MemoryError(), OSError("out of memory error when reading image file")]
)
def test_a_picture_is_not_called_damaged(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    pixels = PixelFormat(channels=3)
    monkeypatch.setattr(PixelFormat, "_decoded", raises(error))
    with pytest.raises(MemoryError):
        pixels.decode(b"some bytes")


def test_a_length_that_no_memory_holds_is_damage() -> None:
    place = Place("a", open_store("memory://a"), "a")
    place.raise_shortage(pa.ArrowMemoryError(f"malloc of size {1 << 60} failed"))
    assert isinstance(place.damaged("its length"), CorruptRecordError)
