"""Rows of mapped files by their addresses: the same as by decoding, from any places."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import keepset as ks
from keepset.snapshot.reading.kept import Kept
from keepset.testing.equality import assert_elements_equal

COLUMNS = {
    "tiny": np.arange(600, dtype=np.int8),
    "half": np.arange(600, dtype=np.float16),
    "odd": np.arange(1800, dtype=np.uint8).reshape(600, 3),
    "wide": np.arange(600 * 700, dtype=np.float32).reshape(600, 700),
    "brain": np.arange(1200).reshape(600, 2).astype(ml_dtypes.bfloat16),
    "flag": np.arange(600) % 3 == 0,
    "when": np.arange(600).astype("datetime64[s]"),
    "complex": np.arange(600) * (1 + 2j),
    "nested": (np.arange(600), np.arange(600.0)),
}
STRINGS = {
    **COLUMNS,
    "text": np.array([f"{i}" * (i % 5) for i in range(600)], object),
    "tokens": ks.Ragged(np.arange(3000), np.arange(0, 3001, 5)),
}


def kept_of(ds: ks.Dataset) -> Kept:
    found: Kept = ds._node.kept  # type: ignore[attr-defined]
    return found


def _row_bytes(columns: dict[str, Any]) -> int:
    arrays = [np.asarray(column) for column in columns.values()]
    return 8 + sum(array.nbytes // 600 for array in arrays)


def is_plain(ds: ks.Dataset) -> bool:
    return kept_of(ds).source.plain_rows.unknown(np.arange(1)) is not None


@settings(max_examples=12, deadline=None)
@given(st.data())
def test_any_rows_from_any_columns_and_files(data: st.DataObject) -> None:
    names = data.draw(st.lists(st.sampled_from(sorted(STRINGS)), min_size=1, unique=True))
    columns: dict[str, Any] = {name: STRINGS[name] for name in names}
    shards = data.draw(st.sampled_from([None, 2, 7]))
    ds = ks.Dataset.from_tensor_slices(columns)
    with TemporaryDirectory() as folder:
        numbered = ds.enumerate()
        chunk_bytes = data.draw(st.sampled_from([30, 100])) * _row_bytes(columns)
        numbered.save(
            folder,
            shard_func=None if shards is None else lambda i, _: i % shards,
            chunk_bytes=chunk_bytes,
            segment_bytes=data.draw(st.sampled_from([2, 9])) * chunk_bytes,
        )
        loaded = ks.load(folder)
        for _ in range(3):
            wanted = data.draw(st.lists(st.integers(0, 599), min_size=1, max_size=50))
            found = loaded.gather(wanted)
            expected = numbered.gather(wanted)
            for one, other in zip(found, expected, strict=True):
                assert_elements_equal(one, other)
            assert_elements_equal(loaded[wanted[0]], expected[0])
        assert is_plain(loaded)


def test_the_rows_are_read_only_copies(tmp_path: Path) -> None:
    ks.Dataset.from_tensor_slices(COLUMNS).save(tmp_path, chunk_bytes=5000)
    one, other = ks.load(tmp_path).gather([3, 400])
    for element in (one, other):
        with pytest.raises(ValueError, match="read-only"):
            element["wide"][0] = 1


def test_a_damaged_chunk_is_found_before_its_rows_are_given(tmp_path: Path) -> None:
    ks.Dataset.from_tensor_slices(COLUMNS).save(tmp_path, chunk_bytes=50_000)
    (segment,) = (tmp_path / "segments").iterdir()
    data = bytearray(segment.read_bytes())
    data[len(data) // 2] ^= 1
    segment.write_bytes(data)
    loaded = ks.load(tmp_path)
    with pytest.raises(ks.CorruptSnapshotError):
        loaded.gather(list(range(600)))
    with pytest.raises(ks.CorruptSnapshotError):
        [loaded[i] for i in range(600)]


def test_many_threads_at_once(tmp_path: Path) -> None:
    x = np.arange(20_000).reshape(10_000, 2)
    ks.Dataset.from_tensor_slices(x).save(tmp_path, chunk_bytes=1000, segment_bytes=8000)
    loaded = ks.load(tmp_path)
    orders = [np.random.default_rng(seed).permutation(10_000) for seed in range(8)]

    def check(order: Any) -> bool:
        parts: list[Any] = [kept_of(loaded).gather(part).columns[0] for part in np.split(order, 50)]
        return bool((np.concatenate(parts) == x[order]).all())

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(check, orders))


@pytest.mark.parametrize("rows", [1, 5, 40, 500])
def test_chunks_of_few_rows_come_together(tmp_path: Path, rows: int) -> None:
    x = np.arange(600 * 100).reshape(600, 100)
    ds = ks.Dataset.from_tensor_slices({"x": x, "n": np.arange(600)})
    ds.save(tmp_path, chunk_bytes=rows * 808)
    ks.assert_equal(ks.load(tmp_path), ds)
    ks.assert_equal(ks.load(tmp_path).batch(70), ds.batch(70))
    ks.assert_equal(ks.load(tmp_path).skip(77).take(300), ds.skip(77).take(300))


def test_damage_comes_behind_the_rows_before_it(tmp_path: Path) -> None:
    x = np.arange(600 * 100).reshape(600, 100)
    ks.Dataset.from_tensor_slices(x).save(tmp_path, chunk_bytes=8000)
    (segment,) = (tmp_path / "segments").iterdir()
    data = bytearray(segment.read_bytes())
    data[len(data) // 2] ^= 1
    segment.write_bytes(data)
    seen: list[Any] = []
    with pytest.raises(ks.CorruptSnapshotError):
        seen.extend(ks.load(tmp_path))
    assert 200 < len(seen) < 400
    assert (np.stack(seen) == x[: len(seen)]).all()
