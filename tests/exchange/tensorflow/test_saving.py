# ruff: noqa: E501  # a table is read by its columns: one line per case, however long
"""What is saved for TensorFlow, read back here; TensorFlow itself reads it in the interop tests."""

from __future__ import annotations

from collections import namedtuple
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keepset as ks
from keepset.core.dtypes import as_dtype, storage_dtype
from keepset.exchange.tensorflow.snapshot_metadata import parse_metadata

Point = namedtuple("Point", ["y", "x"])


def variable(n: int) -> Any:
    return np.arange(n, dtype=np.float32)


KINDS = {
    "numbers": lambda: ks.Dataset.range(100),
    "dicts": lambda: ks.Dataset.range(20).map(lambda x: {"b": x, "a": np.full((2, 3), x)}),
    "tuples": lambda: ks.Dataset.range(7).enumerate(),
    "one in a tuple": lambda: ks.Dataset.range(7).map(lambda x: (x,)),
    "named tuples": lambda: ks.Dataset.range(5).map(lambda x: Point(x, np.float32(x))),
    "none": lambda: ks.Dataset.range(5).map(lambda x: {"x": x, "nothing": None}),
    "strings": lambda: ks.Dataset.range(9).map(lambda x: str(x) * int(x)),
    "string arrays": lambda: ks.Dataset.range(4).map(lambda x: np.array([b"a", b""] * x, object)),
    "lengths": lambda: ks.Dataset.range(6).map(lambda x: variable(int(x))),
    "no rows": lambda: ks.Dataset.range(3).map(lambda x: np.zeros((0, 4))),
    "ragged": lambda: ks.Dataset.range(6).map(lambda x: ks.Ragged.from_rows([variable(int(x)), [1.0]])),
    "sparse": lambda: ks.Dataset.range(4).map(lambda x: ks.Sparse([[int(x), 0]], [x], [4, 2])),
    "large": lambda: ks.Dataset.range(2).map(lambda x: np.full(300_000, x, np.uint8)),
    "bfloat16": lambda: ks.Dataset.range(3).map(lambda x: np.array([x, 1]).astype(storage_dtype(as_dtype("bfloat16")))),
    "int4": lambda: ks.Dataset.range(3).map(lambda x: np.array([x, -1]).astype(storage_dtype(as_dtype("int4")))),
    "bools": lambda: ks.Dataset.range(3).map(lambda x: x > 1),
    "complex": lambda: ks.Dataset.range(3).map(lambda x: np.complex64(x + 1j)),
}  # fmt: skip


@pytest.mark.parametrize("compression", [None, "GZIP", "SNAPPY", "ZLIB", "AUTO"])
@pytest.mark.parametrize("kind", KINDS)
def test_elements_come_back(kind: str, compression: str | None, tmp_path: Path) -> None:
    ds = KINDS[kind]()
    ks.save(ds, tmp_path, compression, format="tensorflow")
    found = ks.load(tmp_path)
    ks.assert_equal(found, ds)
    assert len(found) == len(ds)


def test_the_layout_is_that_of_tensorflow(tmp_path: Path) -> None:
    ks.save(ks.Dataset.range(5), tmp_path, format="tensorflow")
    metadata = parse_metadata((tmp_path / "snapshot.metadata").read_bytes())
    assert (metadata.version, metadata.num_elements, metadata.is_finalized) == (2, 5, True)
    assert metadata.dtypes == (9,)
    files = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.*"))
    run = metadata.run_id
    assert files == sorted(
        [
            f"{run}/00000000.shard",
            f"{run}/00000000.shard/00000000.snapshot",
            "dataset_spec.pb",
            "snapshot.metadata",
        ]
    )


def test_a_shard_function_deals_elements_out(tmp_path: Path) -> None:
    ks.save(ks.Dataset.range(10), tmp_path, shard_func=lambda x: x % 3, format="tensorflow")
    assert len(list(tmp_path.glob("*/*.shard"))) == 3
    assert [int(x) for x in ks.load(tmp_path)] == [*range(10)]


def test_saving_again_takes_the_place_of_what_was_there(tmp_path: Path) -> None:
    ks.save(ks.Dataset.range(3), tmp_path, format="tensorflow")
    ks.save(ks.Dataset.range(5, 9), tmp_path, format="tensorflow")
    assert [int(x) for x in ks.load(tmp_path)] == [5, 6, 7, 8]


def test_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    ks.save(ks.Dataset.range(3), tmp_path, format="tensorflow")
    failing = ks.Dataset.range(9).map(lambda x: 1 // (5 - int(x)))
    with pytest.raises(ZeroDivisionError):
        ks.save(failing, tmp_path, format="tensorflow")
    assert [int(x) for x in ks.load(tmp_path)] == [0, 1, 2]


def test_the_spec_is_that_of_all_elements(tmp_path: Path) -> None:
    ks.save(ks.Dataset.range(1, 4).map(lambda x: variable(int(x))), tmp_path, format="tensorflow")
    assert ks.load(tmp_path).element_spec == ks.TensorSpec([None], np.float32)


@pytest.mark.parametrize(
    ("make", "error", "match"),
    [
        (lambda: ks.Dataset.counter(), ks.InvalidArgumentError, "never ends"),
        (
            lambda: ks.Dataset.range(2).map(lambda x: np.longdouble(x)),
            ks.ElementError,
            "TensorFlow has no dtype",
        ),
        (lambda: ks.Dataset.range(2).map(lambda x: {1: x}), ks.ElementError, "no text"),
        (
            lambda: ks.Dataset.range(2).map(lambda x: x if x else b"text"),
            ks.ElementError,
            "of one type",
        ),
        (lambda: ks.Dataset.range(0).map(lambda x: x), ks.UnknownSpecError, "no elements"),
        (lambda: ks.Dataset.range(2).map(lambda x: None), ks.ElementError, "without any value"),
        (lambda: ks.Dataset.range(2).map(lambda x: {"a": ()}), ks.ElementError, "without any"),
        (lambda: ks.Dataset.from_tensors({}), ks.ElementError, "without any value"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*returned None")
def test_what_tensorflow_cannot_hold_is_refused(
    make: Any, error: type[Exception], match: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=match):
        ks.save(make(), tmp_path, format="tensorflow")
    with pytest.raises(ks.SnapshotMissingError):
        ks.load(tmp_path)


def test_times_are_the_whole_numbers_that_they_are(tmp_path: Path) -> None:
    ds = ks.Dataset.range(3).map(
        lambda x: (np.datetime64(int(x), "s"), np.timedelta64(int(x), "D"))
    )
    ks.save(ds, tmp_path, format="tensorflow")
    assert ks.load(tmp_path).element_spec == (ks.TensorSpec((), "int64"),) * 2
    assert [(int(a), int(b)) for a, b in ks.load(tmp_path)] == [(0, 0), (1, 1), (2, 2)]


def test_it_is_not_mixed_with_what_keepset_keeps(tmp_path: Path) -> None:
    ks.save(ks.Dataset.range(3), tmp_path)
    with pytest.raises(ks.InvalidArgumentError, match="another path"):
        ks.save(ks.Dataset.range(3), tmp_path, format="tensorflow")


def test_unknown_formats_and_compressions_are_named(tmp_path: Path) -> None:
    with pytest.raises(ks.InvalidArgumentError, match="'keepset' or 'tensorflow'"):
        ks.save(ks.Dataset.range(3), tmp_path, format="pickle")
    with pytest.raises(ks.InvalidArgumentError, match="'GZIP'"):
        ks.save(ks.Dataset.range(3), tmp_path, "LZ5", format="tensorflow")
