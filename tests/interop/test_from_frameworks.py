"""Data sets that PyTorch, grain and TensorFlow made themselves, as pipelines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import keepset as ks
from keepset.testing import assert_elements_equal, check_dataset

pytestmark = pytest.mark.interop


def test_a_tensor_dataset_is_addressable_and_gives_arrays(tmp_path: Path) -> None:
    import torch
    from torch.utils.data import Subset, TensorDataset

    def make() -> Any:
        features = torch.arange(12, dtype=torch.float32).reshape(6, 2)
        return TensorDataset(features, torch.arange(6), features.to(torch.bfloat16))

    ds = ks.from_torch(make())
    assert len(ds) == 6
    x, y, half = ds[4]
    assert (x.tolist(), int(y)) == ([8.0, 9.0], 4)
    assert half.dtype == ml_dtypes.bfloat16
    rows = [tuple(np.asarray(leaf) for leaf in row) for row in ds]
    check_dataset(lambda: ks.from_torch(make()), expected=rows)
    assert [int(y) for _, y, _ in ks.from_torch(Subset(make(), [5, 0]))] == [5, 0]
    list(ds.snapshot(tmp_path))
    assert ks.explain(ks.from_torch(make()), tmp_path).hit
    changed = make()
    changed.tensors[0][3, 1] += 1
    assert not ks.explain(ks.from_torch(changed), tmp_path).hit


def test_getitems_of_torch_data_is_used() -> None:
    import torch
    from torch.utils.data import Dataset

    class Numbers(Dataset):  # type: ignore[misc]
        asked: list[list[int]] = []  # noqa: RUF012

        def __len__(self) -> int:
            return 8

        def __getitem__(self, index: int) -> Any:
            return torch.tensor(index)

        def __getitems__(self, indices: list[int]) -> list[Any]:
            self.asked.append(list(indices))
            return [torch.tensor(index) for index in indices]

    assert [int(x) for x in ks.from_torch(Numbers()).gather([5, 2, 7])] == [5, 2, 7]
    assert Numbers.asked == [[5, 2, 7]]


def test_an_iterable_dataset_is_iterated_over_as_in_the_main_process() -> None:
    import torch
    from torch.utils.data import IterableDataset, get_worker_info

    class Numbers(IterableDataset):  # type: ignore[misc]
        def __len__(self) -> int:  # some have one, without items by position
            return 4

        def __iter__(self) -> Iterator[Any]:
            assert get_worker_info() is None
            yield from ({"x": torch.full((2,), i), "name": str(i)} for i in range(4))

    ds = ks.from_torch(Numbers())
    assert ds.cardinality() == ks.UNKNOWN_CARDINALITY
    for _ in range(2):
        assert [(int(row["x"][0]), row["name"]) for row in ds] == [
            (i, str(i).encode()) for i in range(4)
        ]


def test_a_dataloader_gives_its_batches() -> None:
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    loader = DataLoader(TensorDataset(torch.arange(5)), batch_size=2)
    assert [batch[0].tolist() for batch in ks.from_torch(loader)] == [[0, 1], [2, 3], [4]]


def test_there_and_back_again() -> None:
    ds = ks.Dataset.range(7).map(lambda x: {"x": x, "rows": np.full(3, x), "name": str(x)})
    ks.assert_equal(ks.from_torch(ds.to_torch()), ds)
    ks.assert_equal(ks.from_torch(ds.to_torch(kind="iterable")), ds)
    ks.assert_equal(ks.from_torch(ds.batch(3).to_torch().loader()).unbatch(), ds)


@pytest.mark.parametrize("kind", ["sparse", "nested"])
def test_tensors_without_an_array_are_an_error(kind: str) -> None:
    import torch

    tensor = torch.eye(2).to_sparse()
    if kind == "nested":
        offsets = torch.tensor([0, 1, 2])
        tensor = torch.nested.nested_tensor_from_jagged(torch.arange(2.0), offsets)
    with pytest.raises(ks.ElementError, match=r"to_dense.*to_padded_tensor"):
        list(ks.from_torch([tensor]))


def test_grain_sources_and_datasets() -> None:
    import grain

    source = grain.sources.RangeDataSource(3, 30, 5)
    ds = ks.from_grain(source)
    assert [int(x) for x in ds] == [3, 8, 13, 18, 23, 28]
    assert int(ds[2]) == 13
    mapped = grain.MapDataset.source(source).map(lambda x: {"x": np.array([x, -x])})
    assert [row["x"].tolist() for row in ks.from_grain(mapped).take(2)] == [[3, -3], [8, -8]]
    iterated = mapped.to_iter_dataset().batch(2)
    assert [len(row["x"]) for row in ks.from_grain(iterated)] == [2, 2, 2]


def test_elements_of_a_tf_dataset_keep_type_and_number() -> None:
    import tensorflow as tf

    def rows(x: Any) -> Any:
        return {
            "x": x,
            "row": tf.range(x),
            "ragged": tf.ragged.range([x, 2]),
            "sparse": tf.sparse.from_dense([[x, 0]]),
            "half": tf.cast([x], tf.bfloat16),
            "text": tf.strings.as_string(x),
            "nothing": None,
        }

    ds = ks.from_tf(tf.data.Dataset.range(3).map(rows))
    assert len(ds) == 3
    assert ds.element_spec == {
        "x": ks.TensorSpec([], "int64"),
        "row": ks.TensorSpec([None], "int64"),
        "ragged": ks.RaggedTensorSpec([2, None], "int64"),
        "sparse": ks.SparseTensorSpec([1, 2], "int64"),
        "half": ks.TensorSpec([1], "bfloat16"),
        "text": ks.TensorSpec([], "string"),
        "nothing": None,
    }
    for _ in range(2):
        assert_elements_equal(
            list(ds),
            [
                {
                    "x": x,
                    "row": np.arange(x),
                    "ragged": ks.Ragged.from_rows([np.arange(x), np.arange(2)]),
                    "sparse": ks.Sparse.from_dense(np.array([[x, 0]])),
                    "half": np.array([x], ml_dtypes.bfloat16),
                    "text": str(x),
                    "nothing": None,
                }
                for x in range(3)
            ],
        )


def test_unknown_and_infinite_numbers_stay(tmp_path: Path) -> None:
    import tensorflow as tf

    numbers = tf.data.Dataset.range(9)
    assert ks.from_tf(numbers.repeat()).cardinality() == ks.INFINITE_CARDINALITY
    filtered = ks.from_tf(numbers.filter(lambda x: x > 6))
    assert filtered.cardinality() == ks.UNKNOWN_CARDINALITY
    assert [int(x) for x in filtered] == [7, 8]


def test_a_tf_dataset_needs_a_name_to_be_kept(tmp_path: Path) -> None:
    import tensorflow as tf

    ds = ks.from_tf(tf.data.Dataset.range(5))
    with pytest.raises(ks.FingerprintError, match=r"a tf\.data\.Dataset.*fingerprint="):
        ds.snapshot(tmp_path)
    inside = tf.data.Dataset.range(5)
    with pytest.raises(ks.FingerprintError, match=r"a tensor of tensorflow.*fingerprint="):
        ks.Dataset.range(2).map(lambda x: len(list(inside))).snapshot(tmp_path)
    kept = ds.snapshot(tmp_path, fingerprint="five")
    assert [int(x) for x in kept] == [int(x) for x in kept] == [0, 1, 2, 3, 4]
    with pytest.raises(ks.InvalidArgumentError, match=r"takes a tf\.data\.Dataset, not list"):
        ks.from_tf([1, 2])
    with pytest.raises(ks.ElementError, match="its map"):
        ks.from_tf(tf.data.Dataset.range(5).window(2))
