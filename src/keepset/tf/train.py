"""``tf.train``: the messages of examples, and checkpoints of iterators."""

from __future__ import annotations

from keepset.exchange.tensorflow.example import (
    Example,
    Feature,
    FeatureList,
    FeatureLists,
    Features,
    SequenceExample,
)
from keepset.exchange.tensorflow.value_lists import BytesList, FloatList, Int64List
from keepset.tf.files.checkpoint import Checkpoint, CheckpointManager, latest_checkpoint
from keepset.tf.not_covered import not_covered

__all__ = [
    "BytesList",
    "Checkpoint",
    "CheckpointManager",
    "Example",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FloatList",
    "Int64List",
    "SequenceExample",
    "latest_checkpoint",
]

__getattr__ = not_covered("tf.train")
