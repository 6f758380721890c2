"""Types of elements on their way between people's code and the engine."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import keepset as ks
import keepset.tf as tf
from keepset.core.spec import LeafSpec
from keepset.errors import DtypeError, SnapshotMismatchError

D = tf.data.Dataset
INT = tf.TensorSpec([], tf.int64)


class Point(NamedTuple):
    x: Any
    y: Any


SPECS = [
    (INT, ks.TensorSpec([], "int64")),
    (tf.TensorSpec(None, tf.string, "x"), ks.TensorSpec(None, "string", "x")),
    (tf.RaggedTensorSpec([None, None]), ks.RaggedTensorSpec([None, None])),
    (tf.RaggedTensorSpec(ragged_rank=2), ks.RaggedTensorSpec(None, ragged_rank=2)),
    (tf.SparseTensorSpec([2, None]), ks.SparseTensorSpec([2, None])),
    (tf.data.DatasetSpec((INT,)), ks.DatasetSpec((ks.TensorSpec([], "int64"),))),
]


@pytest.mark.parametrize(("shown", "own"), SPECS)
def test_the_engine_is_given_its_own_types(shown: Any, own: Any) -> None:
    for nest in (lambda x: x, lambda x: {"a": (x, None)}, lambda x: Point(x, x)):
        for given in (nest(shown), nest(own)):
            ds = D.from_generator(lambda: iter([]), output_signature=given)
            assert ds._node.spec() == nest(own)
            assert ds.element_spec == nest(shown)


def test_what_is_no_type_is_refused_with_what_to_write() -> None:
    for wrong in (3, tf.int32, [INT], (INT, 3), tf.OptionalSpec(INT)):
        with pytest.raises(DtypeError, match=r"write tf.TensorSpec\(shape, dtype\)"):
            D.from_generator(lambda: iter([]), output_signature=wrong)


def test_the_types_of_older_signatures_may_be_shapes() -> None:
    ds = D.from_generator(lambda: iter([]), tf.int32, tf.TensorShape(None))
    assert ds.element_spec == tf.TensorSpec(None, tf.int32)


def test_the_elements_of_windows_are_datasets() -> None:
    ds = D.range(4).window(2)
    assert repr(ds.element_spec) == f"DatasetSpec({INT}, TensorShape([]))"
    assert ds.element_spec.element_spec == INT
    assert ds.element_spec.value_type is D
    assert ds.element_spec.is_compatible_with(D.range(2))
    assert not ds.element_spec.is_compatible_with(D.range(2).batch(2))
    assert pickle.loads(pickle.dumps(ds.element_spec)) == ds.element_spec


def test_iterators_and_optionals_know_the_type_of_their_values() -> None:
    it = iter(D.range(3))
    assert it.element_spec == it.get_next_as_optional().element_spec == INT
    made = tf.experimental.Optional.from_value((1, {"a": [2.0]}))
    assert made.element_spec == (tf.TensorSpec([], tf.int32), {"a": tf.TensorSpec([1])})
    assert tf.experimental.Optional.empty(ks.TensorSpec([], "int64")).element_spec == INT
    assert repr(tf.OptionalSpec.from_value(it.get_next_as_optional())) == f"OptionalSpec({INT},)"
    assert tf.type_spec_from_value(it) == tf.data.IteratorSpec(INT)


def test_type_spec_from_value() -> None:
    assert tf.type_spec_from_value([1, 2]) == tf.TensorSpec([2], tf.int32)
    assert tf.type_spec_from_value(np.float64(1)) == tf.TensorSpec([], tf.float64)
    assert tf.type_spec_from_value(tf.ragged.constant([[1]])) == tf.RaggedTensorSpec(
        [1, None], tf.int32
    )
    assert tf.type_spec_from_value(D.range(3)) == tf.data.DatasetSpec(INT)
    with pytest.raises(TypeError, match=r"tf\.nest\.map_structure takes"):
        tf.type_spec_from_value({"a": 1})


def test_load_takes_both_kinds_of_types(tmp_path: Path) -> None:
    D.range(3).save(str(tmp_path / "kept"))
    for spec in (INT, ks.TensorSpec([], "int64"), None):
        assert [int(x) for x in D.load(str(tmp_path / "kept"), spec)] == [0, 1, 2]
    with pytest.raises(SnapshotMismatchError):
        D.load(str(tmp_path / "kept"), tf.TensorSpec([], tf.string))


def test_maps_and_scans_may_promise_types() -> None:
    assert D.range(3).map(lambda x: x, output_signature=INT).element_spec == INT
    ds = D.range(3).scan(np.int64(0), lambda s, x: (s + x, s), output_signature=INT)
    assert ds.element_spec == INT


def test_the_text_of_a_dataset_is_that_of_tensorflow() -> None:
    assert repr(D.range(3).batch(2)) == (
        "<_BatchDataset element_spec=TensorSpec(shape=(None,), dtype=tf.int64, name=None)>"
    )
    assert str(D.range(3)) == f"<_RangeDataset element_spec={INT}>"
    assert repr(tf.data.TextLineDataset("a")).startswith("<TextLineDatasetV2 element_spec=Tens")


def test_the_text_of_a_dataset_runs_no_function() -> None:
    ran: list[int] = []
    ds = D.range(3).map(lambda x: ran.append(1) or x, num_parallel_calls=2)  # type: ignore[func-returns-value]
    assert repr(ds) == "<_ParallelMapDataset element_spec=<unknown>>"
    assert not ran
    assert ds.element_spec == INT
    assert repr(ds.take(2)) == f"<_TakeDataset element_spec={INT}>"


def test_a_class_of_a_users_own_is_called_by_its_name() -> None:
    class Mine(tf.data.Dataset):
        __slots__ = ()

    assert repr(Mine(D.range(3)._variant_tensor)) == f"<Mine element_spec={INT}>"


def test_datasets_of_the_library_show_its_own_types() -> None:
    ds = ks.Dataset.range(3)
    assert isinstance(ds.element_spec, LeafSpec)
    assert repr(ds).startswith("<Dataset range")
    assert D.range(3).describe() == ds.describe()


def test_elements_that_tensorflow_has_no_dtype_for_have_types() -> None:
    days = np.array(["2020-01-01"], "datetime64[D]")
    spec = D.from_tensor_slices(days).element_spec
    assert spec.dtype == days.dtype
    assert D.from_generator(lambda: iter(days), output_signature=spec).element_spec == spec
