"""``tf.data.experimental``: what became methods later, under its older names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keepset.core.node import INFINITE as INFINITE_CARDINALITY
from keepset.core.node import UNKNOWN as UNKNOWN_CARDINALITY
from keepset.nodes.autotune import AUTOTUNE
from keepset.tf.data.csv_files import CsvDataset, make_csv_dataset
from keepset.tf.data.dataset import Dataset
from keepset.tf.not_covered import not_covered
from keepset.tf.tensor import Tensor, tensor

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "Counter",
    "CsvDataset",
    "RandomDataset",
    "TFRecordWriter",
    "assert_cardinality",
    "at",
    "bucket_by_sequence_length",
    "cardinality",
    "choose_from_datasets",
    "dense_to_ragged_batch",
    "enumerate_dataset",
    "get_single_element",
    "group_by_window",
    "ignore_errors",
    "load",
    "make_csv_dataset",
    "parse_example_dataset",
    "sample_from_datasets",
    "save",
    "shuffle_and_repeat",
    "snapshot",
    "take_while",
    "unbatch",
    "unique",
]

Transformation = Callable[[Dataset], Dataset]


def save(
    dataset: Dataset,
    path: Any,
    compression: str | None = None,
    shard_func: Callable[..., Any] | None = None,
    checkpoint_args: Any = None,
) -> None:
    """As ``Dataset.save``."""
    dataset.save(path, compression, shard_func)


def load(
    path: Any,
    element_spec: Any = None,
    compression: str | None = None,
    reader_func: Callable[[Any], Any] | None = None,
) -> Dataset:
    """As ``Dataset.load``."""
    return Dataset.load(path, element_spec, compression, reader_func)


def snapshot(
    path: Any,
    compression: str | None = "AUTO",
    reader_func: Callable[[Any], Any] | None = None,
    shard_func: Callable[..., Any] | None = None,
) -> Transformation:
    """``Dataset.snapshot``, for ``apply``."""
    return lambda dataset: dataset.snapshot(path, compression, reader_func, shard_func)


def cardinality(dataset: Dataset) -> Tensor:
    """The number of elements, or one of the two constants."""
    return tensor(dataset.cardinality(), "int64")


def assert_cardinality(expected_cardinality: int) -> Transformation:
    return lambda dataset: dataset.assert_cardinality(int(expected_cardinality))


def ignore_errors(log_warning: bool = False) -> Transformation:
    return lambda dataset: dataset.ignore_errors(log_warning)


def unbatch() -> Transformation:
    return lambda dataset: dataset.unbatch()


def unique() -> Transformation:
    return lambda dataset: dataset.unique()


def enumerate_dataset(start: int = 0) -> Transformation:
    return lambda dataset: dataset.enumerate(start)


def take_while(predicate: Callable[..., Any]) -> Transformation:
    return lambda dataset: dataset.take_while(predicate)


def shuffle_and_repeat(
    buffer_size: int, count: int | None = None, seed: int | None = None
) -> Transformation:
    return lambda dataset: dataset.shuffle(buffer_size, seed).repeat(count)


def dense_to_ragged_batch(batch_size: int, drop_remainder: bool = False) -> Transformation:
    return lambda dataset: dataset.ragged_batch(batch_size, drop_remainder)


def group_by_window(
    key_func: Callable[..., Any],
    reduce_func: Callable[..., Any],
    window_size: Any = None,
    window_size_func: Callable[..., Any] | None = None,
) -> Transformation:
    return lambda dataset: dataset.group_by_window(
        key_func, reduce_func, window_size, window_size_func
    )


def bucket_by_sequence_length(*arguments: Any, **named: Any) -> Transformation:
    return lambda dataset: dataset.bucket_by_sequence_length(*arguments, **named)


def parse_example_dataset(
    features: Any, num_parallel_calls: int | None = 1, deterministic: bool | None = None
) -> Transformation:
    return lambda dataset: dataset.parse_example(features)


def get_single_element(dataset: Dataset) -> Any:
    return dataset.get_single_element()


def at(dataset: Dataset, index: Any) -> Any:
    """The element at a position."""
    return dataset[int(index)]


def Counter(start: int = 0, step: int = 1, dtype: Any = "int64") -> Dataset:  # noqa: N802
    return Dataset.counter(start, step, dtype)


def RandomDataset(seed: int | None = None) -> Dataset:  # noqa: N802
    return Dataset.random(seed)


def sample_from_datasets(
    datasets: Any, weights: Any = None, seed: int | None = None, stop_on_empty_dataset: bool = False
) -> Dataset:
    return Dataset.sample_from_datasets(datasets, weights, seed, stop_on_empty_dataset)


def choose_from_datasets(
    datasets: Any, choice_dataset: Dataset, stop_on_empty_dataset: bool = False
) -> Dataset:
    return Dataset.choose_from_datasets(datasets, choice_dataset, stop_on_empty_dataset)


class TFRecordWriter:
    """Writes a data set of ``bytes`` to a file of records."""

    def __init__(self, filename: Any, compression_type: str | None = None) -> None:
        self._filename, self._compression_type = filename, compression_type

    def write(self, dataset: Dataset) -> None:
        dataset.write_tfrecord(self._filename, self._compression_type)


__getattr__ = not_covered("tf.data.experimental")
