# ruff: noqa: E501  # a table is read by its columns: one line per case, however long
"""Elements written as Examples, and read again by the description that this gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keepset as ks

KINDS: dict[str, Any] = {
    "numbers": lambda: ks.Dataset.range(40).map(lambda x: {"x": x, "y": np.float32(x) / 2}),
    "arrays": lambda: ks.Dataset.range(9).map(
        lambda x: {"f": np.full((2, 3), x, np.float32), "i": np.arange(4) - x}
    ),
    "strings": lambda: ks.Dataset.range(9).map(lambda x: {"t": str(x), "n": np.array([b"a", b""], object)}),
    "nested": lambda: ks.Dataset.range(5).map(lambda x: {"in": {"a": x, "b": (x, x + 1)}}),
    "ragged": lambda: ks.Dataset.range(1, 5).map(
        lambda x: {"r": ks.Ragged.from_rows([np.arange(x), np.arange(1)])}
    ),
    "sparse": lambda: ks.Dataset.range(4).map(lambda x: {"s": ks.Sparse([[int(x), 1]], [x], [4, 2])}),
}  # fmt: skip


def leaves(element: Any) -> list[Any]:
    """Values in the order of the keys that they are written under."""
    found: list[Any] = []
    for key in sorted(element):
        item = element[key]
        if isinstance(item, dict | tuple):
            inner = item if isinstance(item, dict) else dict(enumerate(item))
            found += leaves({f"{n}": v for n, v in inner.items()})
        else:
            found.append(item)
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("compression", [None, "GZIP", "SNAPPY"])
def test_elements_are_read_again(kind: str, compression: str | None, tmp_path: Path) -> None:
    ds = KINDS[kind]()
    features = ds.write_tfrecord(tmp_path / "f.tfrecord", compression)
    found = list(ks.TFRecordDataset(tmp_path / "f.tfrecord").parse_example(features))
    for one, other in zip(found, ds, strict=True):
        for a, b in zip(leaves(one), leaves(other), strict=True):
            if isinstance(b, ks.Ragged | ks.Sparse):
                assert a == b
            else:
                np.testing.assert_array_equal(a, b)


def test_bytes_are_records_as_they_are(tmp_path: Path) -> None:
    ds = ks.Dataset.from_tensor_slices([b"one", b"two"])
    assert ds.write_tfrecord(tmp_path / "f") == {}
    assert list(ks.TFRecordDataset(tmp_path / "f")) == [b"one", b"two"]


def test_elements_are_dealt_out_to_several_files(tmp_path: Path) -> None:
    ds = ks.Dataset.range(10).map(lambda x: {"x": x})
    features = ds.write_tfrecord(tmp_path / "all.tfrecord", num_shards=3)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == [f"all-0000{n}-of-00003.tfrecord" for n in range(3)]
    parts = [
        [int(each["x"]) for each in ks.TFRecordDataset(tmp_path / name).parse_example(features)]
        for name in names
    ]
    assert parts == [[0, 3, 6, 9], [1, 4, 7], [2, 5, 8]]


def test_a_leaf_may_be_kept_with_its_dtype_and_shape(tmp_path: Path) -> None:
    ds = ks.Dataset.range(3).map(lambda x: {"image": np.full((2, 2), x, np.uint8), "y": x})
    features = ds.write_tfrecord(tmp_path / "f", serialize=["image"])
    back = ks.TFRecordDataset(tmp_path / "f").parse_example(features)
    images = [ks.parse_tensor(each["image"], "uint8") for each in back]
    np.testing.assert_array_equal(images, [np.full((2, 2), n) for n in range(3)])
    with pytest.raises(ks.InvalidArgumentError, match="'image', 'y'"):
        ds.write_tfrecord(tmp_path / "f", serialize=["picture"])


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda x: {"c": np.complex64(x)}, "serialize="),
        (lambda x: {"u": np.uint64((1 << 63) + 1)}, "does not fit into the int64"),
    ],
)
def test_what_an_example_cannot_hold_is_refused(make: Any, match: str, tmp_path: Path) -> None:
    with pytest.raises(ks.ElementError, match=match):
        ks.Dataset.range(2).map(make).write_tfrecord(tmp_path / "f")
    assert list(tmp_path.iterdir()) == []


def test_a_failure_leaves_no_file(tmp_path: Path) -> None:
    failing = ks.Dataset.range(9).map(lambda x: {"x": 1 // (5 - int(x))})
    with pytest.raises(ZeroDivisionError):
        failing.write_tfrecord(tmp_path / "f")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ks.InvalidArgumentError, match="never ends"):
        ks.Dataset.counter().write_tfrecord(tmp_path / "f")


def test_features_are_found_by_looking(tmp_path: Path) -> None:
    ds = ks.Dataset.range(1, 6).map(
        lambda x: {"one": x, "two": np.zeros(2, np.float32), "any": np.arange(x), "t": b"x"}
    )
    ds.write_tfrecord(tmp_path / "f.tfrecord", "GZIP")
    assert ks.infer_features(tmp_path / "f.tfrecord") == {
        "any": ks.VarLenFeature("int64"),
        "one": ks.FixedLenFeature([], "int64"),
        "t": ks.FixedLenFeature([], "string"),
        "two": ks.FixedLenFeature([2], "float32"),
    }
    ks.Dataset.from_tensor_slices([b"\xff\xff\xff"]).write_tfrecord(tmp_path / "raw.tfrecord")
    with pytest.raises(ks.ElementError, match="record 0 is no Example"):
        ks.infer_features(tmp_path / "raw.tfrecord")
    (tmp_path / "none.tfrecord").write_bytes(b"")
    with pytest.raises(ks.ElementError, match="no records"):
        ks.infer_features(tmp_path / "none.tfrecord")
