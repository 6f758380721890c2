"""``tf.train``: the messages of examples."""

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
from keepset.tf.not_covered import not_covered

__all__ = [
    "BytesList",
    "Example",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FloatList",
    "Int64List",
    "SequenceExample",
]

__getattr__ = not_covered("tf.train")
