"""SizeWatch: a file that is cut while it is read is an error, and does not end the process."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keepset as ks
from keepset.exchange.files import size_watch

ROWS, WIDTH = 4_000, 256  # eight megabytes: several chunks
READERS: dict[str, tuple[Callable[[str], Any], Callable[..., Any]]] = {
    "npy": (ks.read_npy, lambda path: np.save(path, table()["x"])),
    "npz": (ks.read_npz, lambda path: np.savez(path, **table())),
    "arrow": (ks.read_arrow, lambda path: ks.Dataset.from_tensor_slices(table()).write_arrow(path)),
    "parquet": (
        ks.read_parquet,
        lambda path: ks.Dataset.from_tensor_slices(table()).write_parquet(
            path, compression="none", row_group_bytes=1 << 20
        ),
    ),
}


def table() -> dict[str, Any]:
    rng = np.random.default_rng(1)
    return {"x": rng.integers(0, 1 << 60, (ROWS, WIDTH))}


@pytest.fixture(params=READERS)
def file(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, ks.Dataset]:
    read, write = READERS[request.param]
    path = tmp_path / f"data.{request.param}"
    write(str(path))
    return path, read(str(path))


def copied(row: dict[str, Any]) -> dict[str, Any]:
    return {"x": row["x"].copy()}


def pause() -> None:
    """Until the file is looked at again."""
    time.sleep(2 * size_watch._INTERVAL_S)


def test_a_file_that_is_cut_in_the_middle_of_a_pass_is_an_error(
    file: tuple[Path, ks.Dataset],
) -> None:
    path, ds = file
    size = path.stat().st_size
    it = iter(ds)
    next(it)
    os.truncate(path, size // 2)
    pause()
    given: list[None] = []
    with pytest.raises(ks.CorruptRecordError, match="was cut or rewritten") as caught:
        given.extend(None for _ in it)
    assert len(given) < ROWS // 2
    text = str(caught.value)
    assert str(path) in text
    assert f"had {size} bytes and has {size // 2}" in text
    assert "rename it over the old one" in text


def test_a_row_of_a_file_that_was_cut_is_an_error(file: tuple[Path, ks.Dataset]) -> None:
    path, ds = file
    ds[ROWS - 1]
    os.truncate(path, path.stat().st_size // 2)
    pause()
    with pytest.raises(ks.CorruptRecordError, match="was cut or rewritten"):
        ds[0]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("is_shuffled", [False, True])
def test_a_pass_that_ignores_errors_goes_on_without_the_rest_of_a_cut_file(
    file: tuple[Path, ks.Dataset], is_shuffled: bool
) -> None:
    path, ds = file
    order = ds.shuffle(ks.GLOBAL, seed=1) if is_shuffled else ds
    # Copies: elements may lie where the file is mapped.
    it = iter(order.batch(1).map(np.copy if path.suffix == ".npy" else copied).ignore_errors())
    next(it)
    os.truncate(path, path.stat().st_size // 2)
    pause()
    assert len(list(it)) < ROWS // 2


def test_a_file_that_another_one_is_renamed_over_is_read_to_its_end(
    file: tuple[Path, ks.Dataset],
) -> None:
    path, ds = file
    expected = [x["x"] if isinstance(x, dict) else x for x in ds]
    found: list[Any] = []
    for x in ds:
        if not found:
            (path.parent / "new").write_bytes(b"short")
            os.replace(path.parent / "new", path)
            pause()
        found.append(x["x"] if isinstance(x, dict) else x)
    np.testing.assert_array_equal(found, expected)


def test_a_file_that_grows_or_is_removed_is_read_to_its_end(file: tuple[Path, ks.Dataset]) -> None:
    path, ds = file
    given = 0
    for _ in ds:
        if not given:
            with path.open("ab") as end:
                end.write(b"more")
            path.unlink()
            pause()
        given += 1
    assert given == ROWS
