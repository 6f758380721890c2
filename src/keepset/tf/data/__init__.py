"""``tf.data``: data sets of tensors."""

from __future__ import annotations

from keepset.core.node import INFINITE as INFINITE_CARDINALITY
from keepset.core.node import UNKNOWN as UNKNOWN_CARDINALITY
from keepset.core.spec import DatasetSpec
from keepset.nodes.autotune import AUTOTUNE
from keepset.tf.data import experimental
from keepset.tf.data.dataset import Dataset
from keepset.tf.data.iterator import Iterator, IteratorSpec, NumpyIterator
from keepset.tf.data.options import Options, ThreadingOptions
from keepset.tf.data.record_files import (
    FixedLengthRecordDataset,
    TextLineDataset,
    TFRecordDataset,
)
from keepset.tf.not_covered import not_covered

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "Dataset",
    "DatasetSpec",
    "FixedLengthRecordDataset",
    "Iterator",
    "IteratorSpec",
    "NumpyIterator",
    "Options",
    "TFRecordDataset",
    "TextLineDataset",
    "ThreadingOptions",
    "experimental",
]

__getattr__ = not_covered("tf.data")
