"""Methods and functions take what TensorFlow's take, with the same names and defaults."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import keepset.tf

pytestmark = pytest.mark.interop

METHODS = [
    "apply",
    "as_numpy_iterator",
    "assert_cardinality",
    "batch",
    "bucket_by_sequence_length",
    "cache",
    "cardinality",
    "choose_from_datasets",
    "concatenate",
    "counter",
    "enumerate",
    "filter",
    "fingerprint",
    "flat_map",
    "from_generator",
    "from_tensor_slices",
    "from_tensors",
    "get_single_element",
    "group_by_window",
    "ignore_errors",
    "interleave",
    "list_files",
    "load",
    "map",
    "options",
    "padded_batch",
    "prefetch",
    "ragged_batch",
    "random",
    "range",
    "rebatch",
    "reduce",
    "rejection_resample",
    "repeat",
    "sample_from_datasets",
    "save",
    "scan",
    "shard",
    "shuffle",
    "skip",
    "snapshot",
    "sparse_batch",
    "take",
    "take_while",
    "unbatch",
    "unique",
    "window",
    "with_options",
    "zip",
]


def parameters(function: Any) -> list[tuple[str, Any]]:
    found = inspect.signature(function).parameters.values()
    return [
        (each.name, _plain(each.default))
        for each in found
        if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD) and each.name != "self"
    ]


def _plain(default: Any) -> Any:
    if type(default).__name__ == "DType" or isinstance(default, np.dtype | type):
        return str(getattr(default, "name", None) or np.dtype(default).name)
    return default


@pytest.mark.parametrize("name", METHODS)
def test_methods_take_the_same(name: str) -> None:
    import tensorflow as tf

    if not hasattr(tf.data.Dataset, name):
        pytest.skip("a method of an earlier TensorFlow")
    expected = parameters(getattr(tf.data.Dataset, name))
    got = parameters(getattr(keepset.tf.data.Dataset, name))
    if name == "range":
        expected = []  # it says **kwargs there
    assert [pair for pair in got if pair in expected] == expected, (got, expected)


def test_no_method_is_missing() -> None:
    import tensorflow as tf

    for kind in "Dataset", "TFRecordDataset", "TextLineDataset", "FixedLengthRecordDataset":
        theirs = {name for name in dir(getattr(tf.data, kind)) if name[0] != "_"}
        assert theirs <= set(dir(getattr(keepset.tf.data, kind))), kind


def test_functions_of_experimental_take_the_same() -> None:
    import tensorflow as tf

    ours = keepset.tf.data.experimental
    for name in sorted(ours.__all__):
        theirs = getattr(tf.data.experimental, name)
        if not inspect.isfunction(theirs):
            continue
        expected, got = parameters(theirs), parameters(getattr(ours, name))
        assert [pair for pair in got if pair in expected] == expected, (name, got, expected)


def test_the_names_that_are_missing_are_known() -> None:
    import tensorflow as tf

    theirs = {name for name in dir(tf.data.experimental) if name[0] != "_"}
    missing = theirs - set(keepset.tf.data.experimental.__all__)
    assert missing == {
        "DatasetInitializer",
        "distributed_save",
        "from_variant",
        "get_model_proto",
        "index_table_from_dataset",
        "make_saveable_from_iterator",
        "service",
        "table_from_dataset",
        "to_variant",
    }
    theirs = {name for name in dir(tf.data) if name[0] != "_"}
    assert theirs <= set(keepset.tf.data.__all__)
    theirs = {name for name in dir(tf.errors) if name[0] != "_"}
    assert theirs <= set(keepset.tf.errors.__all__)
