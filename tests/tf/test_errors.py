"""tf.errors: each error is caught by its own names and by TensorFlow's."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keepset as ks
import keepset.tf as tf

Dataset = tf.data.Dataset


def raised(make: Any) -> Any:
    with pytest.raises((OSError, ValueError, TypeError, LookupError, ks.KeepsetError)) as caught:
        make()
    return caught.value


def test_errors_have_both_names(tmp_path: Path) -> None:
    bad = tmp_path / "bad.tfrecord"
    bad.write_bytes(b"\x01" * 50)
    error = raised(lambda: list(tf.data.TFRecordDataset(str(bad))))
    assert isinstance(error, tf.errors.DataLossError)
    assert isinstance(error, ks.CorruptRecordError)
    assert error.path == str(bad)
    assert error.error_code == tf.errors.DATA_LOSS
    error = raised(lambda: list(tf.data.TextLineDataset(str(tmp_path / "none"))))
    assert isinstance(error, tf.errors.NotFoundError)
    assert isinstance(error, FileNotFoundError)
    uneven = Dataset.from_tensor_slices([1, 2]).map(lambda x: tf.zeros([x])).batch(2)
    error = raised(lambda: list(uneven))
    assert isinstance(error, tf.errors.InvalidArgumentError)
    assert isinstance(error, ks.ElementError)
    assert type(raised(lambda: list(uneven.as_numpy_iterator()))) is type(error)
    assert not isinstance(
        raised(lambda: list(ks.Dataset(uneven.__keepset_node__()))), tf.errors.InvalidArgumentError
    )
    copied = pickle.loads(pickle.dumps(error))
    assert (type(copied), str(copied)) == (type(error), str(error))


def test_errors_of_generators_and_of_functions() -> None:
    def broken() -> Any:
        yield 1
        raise ZeroDivisionError("x")

    error = raised(lambda: list(Dataset.from_generator(broken, tf.int32)))
    assert isinstance(error, tf.errors.UnknownError)
    assert isinstance(error, ZeroDivisionError)
    # A function that is called here keeps its errors as they are.
    error = raised(lambda: list(Dataset.range(3).map(lambda x: {"a": 1}[str(x)])))
    assert type(error) is KeyError


def test_the_end_is_out_of_range() -> None:
    it = iter(Dataset.range(1))
    assert it.get_next_as_optional().has_value()
    assert not it.get_next_as_optional().has_value()
    with pytest.raises(tf.errors.OutOfRangeError, match="End of sequence"):
        it.get_next()
    with pytest.raises(StopIteration):
        next(it)
    with pytest.raises(tf.errors.OutOfRangeError):
        tf.data.experimental.at(Dataset.range(3), -1)


def test_programs_may_raise_them() -> None:
    error = tf.errors.NotFoundError(None, None, "gone")
    assert (error.message, str(error), error.error_code, error.op) == ("gone", "gone", 5, None)
    error = tf.errors.InvalidArgumentError(None, None, "bad")
    assert (error.message, error.error_code) == ("bad", 3)
    assert isinstance(error, ks.InvalidArgumentError)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Dataset.range(3).batch("a"),
        lambda: Dataset.range(3).scan(0, lambda s, x: (x, x)).reduce(np.int64(0), lambda s, x: s),
        lambda: Dataset.range(3).reduce(0, lambda s, x: x),
        lambda: Dataset.zip([Dataset.range(3)]),
        lambda: Dataset.range(3).with_options(3),
    ],
)
def test_arguments_of_other_kinds_are_type_errors(make: Any) -> None:
    assert isinstance(raised(make), TypeError)
