"""``tf.experimental``: an element that may not be there."""

from __future__ import annotations

from keepset.tf.data.iterator import Optional
from keepset.tf.not_covered import not_covered

__all__ = ["Optional"]

__getattr__ = not_covered("tf.experimental")
