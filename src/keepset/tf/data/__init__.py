"""``tf.data``: data sets of tensors."""

from __future__ import annotations

from keepset.core.node import INFINITE as INFINITE_CARDINALITY
from keepset.core.node import UNKNOWN as UNKNOWN_CARDINALITY
from keepset.core.options import Options
from keepset.nodes.autotune import AUTOTUNE
from keepset.tf.data import experimental
from keepset.tf.data.dataset import (
    Dataset,
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
    "FixedLengthRecordDataset",
    "Options",
    "TFRecordDataset",
    "TextLineDataset",
    "experimental",
]

__getattr__ = not_covered("tf.data")
