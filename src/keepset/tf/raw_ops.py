"""``tf.raw_ops``: the one operation that augmentation calls by this name."""

from __future__ import annotations

from keepset.tf.image.projection import ImageProjectiveTransformV3
from keepset.tf.not_covered import not_covered

__all__ = ["ImageProjectiveTransformV3"]

__getattr__ = not_covered("tf.raw_ops")
