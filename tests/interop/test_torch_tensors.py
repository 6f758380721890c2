"""Leaves as PyTorch has them: types, shapes, memory, and what is refused."""

from __future__ import annotations

import dataclasses
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest

import keepset as ks
from keepset import Dataset

pytestmark = pytest.mark.interop

torch = pytest.importorskip("torch")

DTYPES = [
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128", "bfloat16"),
    *("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"),
]


class Point(NamedTuple):
    x: Any
    y: Any


@dataclasses.dataclass
class Record:
    name: Any
    values: Any


def one(ds: Dataset, **how: Any) -> Any:
    return next(iter(ds.to_torch(kind="iterable", **how)))


@pytest.mark.parametrize("name", DTYPES)
def test_every_number_type_keeps_its_type_and_its_values(name: str) -> None:
    dtype: Any = ks.TensorSpec([], name).dtype
    numbers = np.array([[0, 1, 1], [1, 0, 1]]).astype(dtype)
    for ds in (
        Dataset.from_tensor_slices(numbers),  # read-only, as columns
        Dataset.range(2).map(lambda i: numbers[i].copy()),  # writable, as rows
    ):
        for copy in (True, False):
            rows = list(ds.to_torch(copy=copy, kind="iterable"))
            assert {row.dtype for row in rows} == {getattr(torch, name)}
            found = [row.to(torch.complex128).real.tolist() for row in rows]
            assert found == [[0, 1, 1], [1, 0, 1]]
            batch = one(ds.batch(2), copy=copy)
            assert (batch.dtype, tuple(batch.shape)) == (getattr(torch, name), (2, 3))


def test_numbers_are_tensors_without_dimensions() -> None:
    for ds in (Dataset.range(3), Dataset.range(3).map(lambda x: x + 0)):
        values = list(ds.to_torch(kind="iterable"))
        assert [(type(x), x.shape, x.item()) for x in values] == [
            (torch.Tensor, torch.Size([]), i) for i in range(3)
        ]


def test_structures_stay() -> None:
    ds = Dataset.range(2).map(
        lambda x: {"p": Point(x, x * 2.0), "r": Record("ada", [x, x]), "n": None, "t": (x,)}
    )
    for row in (one(ds), one(ds.batch(2).unbatch())):
        assert isinstance(row["p"], Point)
        assert isinstance(row["r"], Record)
        assert row["p"].y.dtype == torch.float64
        assert row["r"].name == b"ada"
        assert row["r"].values.tolist() == [0, 0]
        assert row["n"] is None
        assert isinstance(row["t"], tuple)


def test_strings_are_bytes_and_lists_of_bytes() -> None:
    ds = Dataset.range(3).map(lambda x: {"text": "é" * int(x), "words": ["a", "b\0"]})
    assert one(ds) == {"text": b"", "words": [b"a", b"b\0"]}
    batch = one(ds.batch(2))
    assert batch == {
        "text": [b"", "é".encode()],
        "words": [[b"a", b"b\0"]] * 2,
    }


def test_ragged_becomes_nested() -> None:
    ds = Dataset.range(5).map(
        lambda x: np.arange(x), output_signature=ks.TensorSpec([None], "int64")
    )
    batch = one(ds.ragged_batch(3))
    assert batch.layout == torch.jagged
    assert [row.tolist() for row in batch.unbind()] == [[], [0], [0, 1]]
    matrices = ks.Ragged(np.arange(8.0).reshape(4, 2), [0, 1, 4])
    nested = one(Dataset.from_tensors(matrices))
    assert [tuple(row.shape) for row in nested.unbind()] == [(1, 2), (3, 2)]
    words = ks.Ragged.from_rows([["a"], [], ["b", "c"]])
    assert one(Dataset.from_tensors(words)) == [[b"a"], [], [b"b", b"c"]]


def test_sparse_becomes_sparse() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = one(Dataset.from_tensors(ks.Sparse([[0, 1], [1, 2]], [5, 7], (2, 3))))
    assert found.layout == torch.sparse_coo
    assert found.to_dense().tolist() == [[0, 5, 0], [0, 0, 7]]


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        (np.datetime64("2024-05-01"), r'no dtype datetime64\[D\].*astype\("int64"\)'),
        (np.array([1], "m8[s]"), r"no dtype timedelta64\[s\]"),
        (np.zeros(2, np.longdouble), "bring it to float64"),
        (np.zeros(2, ml_dtypes.int4), "no dtype int4; bring it to int8"),
        (ks.Ragged.from_rows([ks.Ragged.from_rows([[1], [2, 3]])]), "padded_batch"),
        (ks.Sparse([[0]], ["a"], (2,)), "to_dense"),
    ],
)
def test_what_torch_has_not_is_refused_with_a_remedy(value: Any, complaint: str) -> None:
    known = Dataset.from_tensors(value)
    unknown = Dataset.range(1).map(lambda _: value)
    if not isinstance(value, ks.Sparse):
        with pytest.raises(ks.ElementError, match=complaint):
            known.to_torch()  # before anything runs
    with pytest.raises(ks.ElementError, match=complaint):
        one(unknown)


def test_nested_data_sets_are_refused() -> None:
    with pytest.raises(ks.ElementError, match="flat_map"):
        Dataset.range(5).window(2).to_torch()


def test_what_may_not_be_written_to_is_copied(tmp_path: Path) -> None:
    numbers = np.arange(64.0).reshape(16, 4)
    Dataset.from_tensor_slices(numbers).save(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            for batch in ks.load(tmp_path).batch(4).to_torch():
                batch += 1  # would end the process if it were a view of the file
        views = ks.load(tmp_path).batch(4).to_torch(copy=False)
        found = torch.cat([views[i] for i in range(4)])
    assert found.tolist() == numbers.tolist()
    assert np.array(list(ks.load(tmp_path))).tolist() == numbers.tolist()


def test_views_are_views() -> None:
    numbers = np.arange(12, dtype=np.float32).reshape(3, 4)
    halves = np.arange(12).astype(ml_dtypes.bfloat16).reshape(3, 4)
    ds = Dataset.from_tensor_slices({"a": numbers, "b": halves})
    rows = list(ds.to_torch(copy=False, kind="iterable"))
    numbers[1, 1] = halves[1, 1] = 99
    assert rows[1]["a"][1] == rows[1]["b"][1] == 99
    copies = list(ds.to_torch(kind="iterable"))
    numbers[1, 1] = 5
    assert copies[1]["a"][1] == 99


def test_arrays_of_functions_are_not_copied() -> None:
    made: list[int] = []

    def make(x: Any) -> Any:
        array = np.full(1000, x, np.float32)
        made.append(array.__array_interface__["data"][0])
        return array

    rows = list(Dataset.range(3).map(make).to_torch(kind="iterable"))
    assert [row.data_ptr() for row in rows] == made


def test_odd_memory_is_copied() -> None:
    base = np.arange(24)
    backwards = base[::-1].view()
    backwards.flags.writeable = False
    [row] = list(Dataset.from_tensors(backwards).to_torch(copy=False, kind="iterable"))
    assert row.tolist() == list(range(23, -1, -1))
    unaligned = np.frombuffer(b"\0" + np.arange(3).tobytes(), np.int64, offset=1)
    assert one(Dataset.from_tensors(unaligned), copy=False).tolist() == [0, 1, 2]


def test_collate_joins_what_torch_would_not() -> None:
    from torch.utils.data import DataLoader

    ds = Dataset.range(5).map(lambda x: Record(str(x), {"x": [x, x], "n": None}))
    data = ds.to_torch()
    loader = DataLoader(data, batch_size=2, collate_fn=data.collate)
    batches = list(loader)
    assert [batch.name for batch in batches] == [[b"0", b"1"], [b"2", b"3"], [b"4"]]
    assert batches[0].values["x"].tolist() == [[0, 0], [1, 1]]
    assert batches[0].values["n"] is None
    uneven = Dataset.range(3).map(lambda x: np.arange(x)).to_torch()
    with pytest.raises(ks.ElementError, match="padded_batch"):
        uneven.collate(uneven.__getitems__([0, 1]))
