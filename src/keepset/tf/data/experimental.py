"""``tf.data.experimental``: what became methods later, under its older names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keepset.core.node import INFINITE as INFINITE_CARDINALITY
from keepset.core.node import UNKNOWN as UNKNOWN_CARDINALITY
from keepset.nodes.autotune import AUTOTUNE
from keepset.tf.data.arguments import path as _path
from keepset.tf.data.csv_files import CsvDataset, make_csv_dataset
from keepset.tf.data.dataset import Dataset
from keepset.tf.data.feature_files import make_batched_features_dataset
from keepset.tf.data.iterator import Optional, get_next_as_optional
from keepset.tf.data.options import (
    AutoShardPolicy,
    AutotuneAlgorithm,
    AutotuneOptions,
    DistributeOptions,
    ExternalStatePolicy,
    OptimizationOptions,
    ServiceOptions,
    ThreadingOptions,
)
from keepset.tf.data.sql import SqlDataset
from keepset.tf.data.transformations import (
    METHODS,
    Reducer,
    at,
    copy_to_device,
    from_list,
    group_by_reducer,
    map_and_batch,
    pad_to_cardinality,
    parallel_interleave,
    parse_example_dataset,
    prefetch_to_device,
    shuffle_and_repeat,
)
from keepset.tf.not_covered import not_covered
from keepset.tf.tensors.tensor import Tensor

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "SHARD_HINT",
    "UNKNOWN_CARDINALITY",
    "AutoShardPolicy",
    "AutotuneAlgorithm",
    "AutotuneOptions",
    "Counter",
    "CsvDataset",
    "DistributeOptions",
    "ExternalStatePolicy",
    "OptimizationOptions",
    "Optional",
    "RandomDataset",
    "Reducer",
    "ServiceOptions",
    "SqlDataset",
    "TFRecordWriter",
    "ThreadingOptions",
    "assert_cardinality",
    "at",
    "bucket_by_sequence_length",
    "cardinality",
    "choose_from_datasets",
    "copy_to_device",
    "dense_to_ragged_batch",
    "dense_to_sparse_batch",
    "enable_debug_mode",
    "enumerate_dataset",
    "from_list",
    "get_next_as_optional",
    "get_single_element",
    "get_structure",
    "group_by_reducer",
    "group_by_window",
    "ignore_errors",
    "load",
    "make_batched_features_dataset",
    "make_csv_dataset",
    "map_and_batch",
    "pad_to_cardinality",
    "parallel_interleave",
    "parse_example_dataset",
    "prefetch_to_device",
    "rejection_resample",
    "sample_from_datasets",
    "save",
    "scan",
    "shuffle_and_repeat",
    "snapshot",
    "take_while",
    "unbatch",
    "unique",
]

assert_cardinality = METHODS["assert_cardinality"]
bucket_by_sequence_length = METHODS["bucket_by_sequence_length"]
dense_to_ragged_batch = METHODS["dense_to_ragged_batch"]
dense_to_sparse_batch = METHODS["dense_to_sparse_batch"]
enumerate_dataset = METHODS["enumerate_dataset"]
group_by_window = METHODS["group_by_window"]
ignore_errors = METHODS["ignore_errors"]
rejection_resample = METHODS["rejection_resample"]
scan = METHODS["scan"]
snapshot = METHODS["snapshot"]
take_while = METHODS["take_while"]
unbatch = METHODS["unbatch"]
unique = METHODS["unique"]

SHARD_HINT = -1


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


def cardinality(dataset: Dataset) -> Tensor:
    """The number of elements, or one of the two constants."""
    return dataset.cardinality()


def get_single_element(dataset: Dataset) -> Any:
    return dataset.get_single_element()


def get_structure(dataset_or_iterator: Any) -> Any:
    """The type of the elements."""
    if not hasattr(dataset_or_iterator, "element_spec"):
        raise TypeError(f"a dataset or an iterator is needed, not {dataset_or_iterator!r:.60}")
    return dataset_or_iterator.element_spec


def enable_debug_mode() -> None:
    """Nothing: functions are plain Python at all times."""


def Counter(start: Any = 0, step: Any = 1, dtype: Any = "int64") -> Dataset:  # noqa: N802
    return Dataset.counter(start, step, dtype)


class RandomDataset(Dataset):
    """As ``Dataset.random``."""

    __slots__ = ()

    def __init__(
        self,
        seed: Any = None,
        rerandomize_each_iteration: bool | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(Dataset.random(seed, rerandomize_each_iteration, name))


def sample_from_datasets(
    datasets: Any, weights: Any = None, seed: Any = None, stop_on_empty_dataset: bool = False
) -> Dataset:
    return Dataset.sample_from_datasets(datasets, weights, seed, stop_on_empty_dataset)


def choose_from_datasets(
    datasets: Any, choice_dataset: Dataset, stop_on_empty_dataset: bool = False
) -> Dataset:
    made: Dataset = Dataset.choose_from_datasets(datasets, choice_dataset, stop_on_empty_dataset)
    return made


class TFRecordWriter:
    """Writes a data set of ``bytes`` to a file of records."""

    def __init__(self, filename: Any, compression_type: Any = None) -> None:
        self._filename, self._compression_type = _path(filename), _path(compression_type)

    def write(self, dataset: Dataset) -> None:
        dataset.write_tfrecord(self._filename, self._compression_type)


__getattr__ = not_covered("tf.data.experimental")
