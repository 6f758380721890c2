"""Lists that share one array of values are batched as lists by themselves are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import keepset as ks
from keepset.testing import assert_elements_equal as assert_same
from keepset.testing import check_dataset

LENGTHS = st.lists(st.integers(0, 4), min_size=1, max_size=20)
HOW: dict[str, dict[str, Any]] = {
    "ragged_batch": {},
    "ragged_batch with int32": {"row_splits_dtype": np.int32},
    "padded_batch": {"padding_values": {"x": -1, "y": None}},
    "padded_batch to a shape": {"padded_shapes": {"x": [4], "y": []}},
}


def apart(lengths: list[int], dtype: Any) -> list[Any]:
    return [{"x": np.arange(n).astype(dtype), "y": np.int64(n)} for n in lengths]


def together(lengths: list[int], dtype: Any) -> ks.Dataset:
    rows = apart(lengths, dtype)
    splits = np.cumsum([0, *lengths])
    values = np.concatenate([row["x"] for row in rows])
    return ks.Dataset.from_tensor_slices(
        {"x": ks.Ragged(values, splits), "y": np.array(lengths, np.int64)}
    )


def batched(ds: ks.Dataset, how: str, size: int) -> ks.Dataset:
    return getattr(ds, how.split()[0])(size, **HOW[how])


@pytest.mark.parametrize("how", HOW)
@given(lengths=LENGTHS, size=st.integers(1, 5), shuffled=st.booleans())
def test_batches_are_the_same(how: str, lengths: list[int], size: int, shuffled: bool) -> None:
    ds = together(lengths, np.int32)
    rows = apart(lengths, np.int32)
    if shuffled:
        ds = ds.shuffle(ks.GLOBAL, seed=3, reshuffle_each_iteration=False)
        rows = list(ds)
    spec = {"x": ks.TensorSpec([None], np.int32), "y": ks.TensorSpec([], np.int64)}
    expected = ks.Dataset.from_generator(lambda: iter(rows), output_signature=spec)
    assert_same(list(batched(ds, how, size)), list(batched(expected, how, size)))


@pytest.mark.parametrize("how", HOW)
def test_they_keep_the_contract(how: str) -> None:
    check_dataset(lambda: batched(together([3, 0, 1, 4, 2, 2, 0], np.int64), how, 3))


def test_batches_are_views_and_cannot_be_written_to() -> None:
    values = np.arange(10)
    ds = ks.Dataset.from_tensor_slices(ks.Ragged(values, [0, 3, 4, 10]))
    [batch] = ds.ragged_batch(3)
    assert np.shares_memory(batch.values, values)
    assert not batch.values.flags.writeable
    assert all(not row.flags.writeable for row in ds)


def test_unbatch_and_rebatch_and_snapshots_give_the_lists_back(tmp_path: Any) -> None:
    lengths = [3, 0, 1, 4, 2, 2, 0]
    ds = together(lengths, np.float32)
    rows = apart(lengths, np.float32)
    assert_same(list(ds), rows)
    assert_same(list(ds.ragged_batch(3).unbatch()), rows)
    assert_same(list(ds.ragged_batch(3).rebatch(2)), list(ds.ragged_batch(2)))
    assert_same(list(ds.cache().repeat(2)), rows * 2)
    flat = ds.map(lambda e: e["x"]).unbatch()
    assert [float(x) for x in flat] == [float(x) for row in rows for x in row["x"]]
    for chunk_bytes in (1, 16, 1 << 20):
        path = tmp_path / str(chunk_bytes)
        ds.save(path, chunk_bytes=chunk_bytes)
        loaded = ks.load(path)
        assert_same(list(loaded), rows)
        assert_same(list(loaded.gather([6, 0, 3, 3])), [rows[i] for i in (6, 0, 3, 3)])
        assert_same([loaded[i] for i in range(7)], rows)
        assert_same(list(loaded.ragged_batch(3)), list(ds.ragged_batch(3)))
        assert_same(list(loaded.shuffle(4, seed=1)), list(ds.shuffle(4, seed=1)))
        writable = ks.load(path, writable=True)
        for row in writable:
            row["x"] += 1
        assert_same(list(ks.load(path)), rows)
