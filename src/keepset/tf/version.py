"""``tf.version``: that of TensorFlow whose names and rules these are."""

from __future__ import annotations

from keepset.tf.not_covered import not_covered

VERSION = "2.21.0+keepset"
GIT_VERSION = "v2.21.0+keepset"
COMPILER_VERSION = "none"
GRAPH_DEF_VERSION = 2371
GRAPH_DEF_VERSION_MIN_CONSUMER = GRAPH_DEF_VERSION_MIN_PRODUCER = 0

__all__ = [
    "COMPILER_VERSION",
    "GIT_VERSION",
    "GRAPH_DEF_VERSION",
    "GRAPH_DEF_VERSION_MIN_CONSUMER",
    "GRAPH_DEF_VERSION_MIN_PRODUCER",
    "VERSION",
]

__getattr__ = not_covered("tf.version")
