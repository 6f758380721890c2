"""``tf.compat.v1``: only its data side, which is that of today."""

from __future__ import annotations

from keepset.tf import data
from keepset.tf.not_covered import not_covered

__all__ = ["data"]

__getattr__ = not_covered("tf.compat.v1")
