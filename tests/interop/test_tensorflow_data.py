"""Pipelines as real ``tf.data.Dataset`` objects: spec, number, elements, passes and errors."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest
from tests.adapters.pipelines import PIPELINES

import keepset as ks
from keepset import Dataset
from keepset.testing import assert_elements_equal

pytestmark = pytest.mark.interop

tf = pytest.importorskip("tensorflow")

INT = tf.int64


class Point(NamedTuple):
    x: Any
    y: Any


@dataclasses.dataclass
class Record:
    x: Any


def specified(function: Callable[[Any], Any], spec: Any) -> Dataset:
    return Dataset.range(4).map(function, output_signature=spec)


# A pipeline, its spec in TensorFlow's words, and its cardinality.
CASES: dict[str, tuple[Dataset, Any, int]] = {
    "numbers": (Dataset.range(5), tf.TensorSpec([], INT), 5),
    "nested": (
        Dataset.range(3).map(lambda x: {"b": (x, Point(x / 2, [[x, x]])), "a": "t", "n": None}),
        {
            "b": (
                tf.TensorSpec([], INT),
                Point(tf.TensorSpec([], tf.float64), tf.TensorSpec([1, 2], INT)),
            ),
            "a": tf.TensorSpec([], tf.string),
            "n": tf.NoneTensorSpec(),
        },
        3,
    ),
    "rows of any length": (
        specified(lambda x: np.arange(x), ks.TensorSpec([None], "int64")),
        tf.TensorSpec([None], INT),
        4,
    ),
    "matrices of any length": (
        specified(lambda x: np.zeros((int(x), 2), "f4"), ks.TensorSpec([None, 2], "float32")),
        tf.TensorSpec([None, 2], tf.float32),
        4,
    ),
    "words of any number": (
        specified(lambda x: ["w"] * (int(x) + 1), ks.TensorSpec([None], "string")),
        tf.TensorSpec([None], tf.string),
        4,
    ),
    "two unknown dimensions": (
        specified(lambda x: np.zeros((x, x), "f4"), ks.TensorSpec([None, None], "float32")),
        tf.TensorSpec([None, None], tf.float32),
        4,
    ),
    "unknown rank": (
        specified(lambda x: np.zeros((1,) * int(x), "f4"), ks.TensorSpec(None, "float32")),
        tf.TensorSpec(None, tf.float32),
        4,
    ),
    "no items": (
        Dataset.range(4).map(lambda x: np.zeros((2, 0), "f4")),
        tf.TensorSpec([2, 0], tf.float32),
        4,
    ),
    "ragged": (
        specified(
            lambda x: ks.Ragged.from_rows([[x]] * int(x + 1)),
            ks.RaggedTensorSpec([None, None], "int64"),
        ),
        tf.RaggedTensorSpec([None, None], INT),
        4,
    ),
    "ragged of two rows": (
        Dataset.range(4).map(lambda x: ks.Ragged.from_rows([[x], [x, x]])),
        tf.RaggedTensorSpec([2, None], INT),
        4,
    ),
    "deeply ragged": (
        specified(
            lambda x: ks.Ragged.from_rows([ks.Ragged.from_rows([[x], [x, x]])] * 2),
            ks.RaggedTensorSpec([None, None, None], "int64"),
        ),
        tf.RaggedTensorSpec([None, None, None], INT),
        4,
    ),
    "sparse": (
        Dataset.range(4).map(lambda x: ks.Sparse([[0, 1]], [x + 1], (2, 3))),
        tf.SparseTensorSpec([2, 3], INT),
        4,
    ),
    "batches": (Dataset.range(5).batch(2), tf.TensorSpec([None], INT), 3),
    "whole batches": (Dataset.range(5).batch(2, True), tf.TensorSpec([2], INT), 2),
    "ragged batches": (
        specified(lambda x: np.arange(x), ks.TensorSpec([None], "int64")).ragged_batch(3),
        tf.RaggedTensorSpec([None, None], INT),
        2,
    ),
    "bfloat16": (
        Dataset.range(3).map(lambda x: np.full(2, x, ml_dtypes.bfloat16)),
        tf.TensorSpec([2], tf.bfloat16),
        3,
    ),
    "strings": (
        Dataset.range(3).map(lambda x: {"s": np.array(["a", "bb"], object), "t": b"a\0"}),
        {"s": tf.TensorSpec([2], tf.string), "t": tf.TensorSpec([], tf.string)},
        3,
    ),
    "filtered": (Dataset.range(5).filter(lambda x: x > 2), tf.TensorSpec([], INT), -2),
    "without end": (Dataset.counter().map(lambda x: x * 2), tf.TensorSpec([], INT), -1),
    "nothing": (Dataset.range(0), tf.TensorSpec([], INT), 0),
    "large": (
        Dataset.range(3).map(lambda x: np.full((100, 200), x, "f8")),
        tf.TensorSpec([100, 200], tf.float64),
        3,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_spec_number_and_elements_are_those_of_the_pipeline(name: str) -> None:
    ds, spec, cardinality = CASES[name]
    found = ds.to_tf()
    assert isinstance(found, tf.data.Dataset)
    assert found.element_spec == spec
    assert int(found.cardinality()) == cardinality
    assert_elements_equal(list(ks.from_tf(found.take(6))), list(ds.take(6)))


@pytest.mark.parametrize("name", sorted(PIPELINES))
def test_each_pass_is_one_over_the_pipeline(name: str) -> None:
    ds, other = PIPELINES[name](17), PIPELINES[name](17)
    if name == "unseeded":
        return
    if name == "padded":
        ds = ds.map(lambda x: x, output_signature=ks.TensorSpec([None, None], "int64"))
    found = ks.from_tf(ds.to_tf())
    for _ in range(2):
        assert_elements_equal(list(found), list(other))


def test_it_behaves_as_a_tf_dataset() -> None:
    ds = Dataset.range(10).map(lambda x: {"x": x, "y": x * 2}).to_tf()
    batches = ds.map(lambda row: row["x"] + row["y"]).shuffle(10).batch(5).prefetch(1)
    assert sorted(int(x) for batch in batches for x in batch) == list(range(0, 30, 3))
    assert [int(row["x"]) for row in ds.repeat(2)] == [*range(10), *range(10)]

    @tf.function
    def total(dataset: Any) -> Any:
        return dataset.reduce(tf.constant(0, INT), lambda state, row: state + row["x"])

    assert int(total(ds)) == 45


def test_small_elements_are_handed_over_many_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    import keepset.adapters.tensorflow.pipeline as adapter
    from keepset.adapters.tensorflow.groups import group_of

    groups: list[int] = []

    def noted(chunk: Any, *rest: Any) -> Any:
        groups.append(len(chunk))
        return original(chunk, *rest)

    original = group_of
    monkeypatch.setattr(adapter, "group_of", noted)
    assert sum(1 for _ in Dataset.range(50_000).to_tf().batch(1000)) == 50
    assert sum(groups) == 50_000
    # The size grows from one on, as it is seen that elements are cheap.
    assert len(groups) < 500


def test_shapes_that_a_first_element_promised_wrongly_are_explained() -> None:
    for uneven in (lambda x: np.arange(x + 1), lambda x: np.zeros((x + 1, x + 1, 2))):
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"to_tf\(output_signature="):
            list(Dataset.range(9).map(uneven).to_tf())
    signature = ks.TensorSpec([None], "int64")
    ds = Dataset.range(3).map(lambda x: np.arange(x)).to_tf(output_signature=signature)
    assert [row.numpy().tolist() for row in ds] == [[], [0], [0, 1]]


def test_structures_that_a_first_element_promised_wrongly_are_explained() -> None:
    ds = Dataset.range(3).map(lambda x: {"a": x} if x < 2 else {"b": x})
    with pytest.raises(tf.errors.InvalidArgumentError, match="one structure"):
        list(ds.to_tf())


@pytest.mark.filterwarnings("ignore:.*returned None for its first element")
@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda x: np.datetime64("2024-05-01"), r"no dtype datetime64\[D\].*int64"),
        (lambda x: np.zeros(2, np.longdouble), "no dtype"),
        (lambda x: None, "nothing that TensorFlow could take"),
        (lambda x: {"r": (Record(x),)}, "dataclass Record.*named tuples or dicts"),
        (lambda x: Dataset.range(2), "flat_map"),
    ],
)
def test_what_tensorflow_has_not_is_refused_with_a_remedy(make: Any, complaint: str) -> None:
    with pytest.raises(ks.ElementError, match=complaint):
        Dataset.range(2).map(make).to_tf()


def test_an_error_in_a_function_reaches_tensorflow_with_its_text() -> None:
    def check(x: Any) -> Any:
        if x == 3:
            raise ValueError("three is bad")
        return x

    with pytest.raises(tf.errors.InvalidArgumentError, match="three is bad"):
        list(Dataset.range(6).map(check).to_tf())
