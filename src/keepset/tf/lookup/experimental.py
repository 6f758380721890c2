"""``tf.lookup.experimental``: tables that change."""

from __future__ import annotations

from keepset.tf.lookup.mutable import DenseHashTable, MutableHashTable
from keepset.tf.not_covered import not_covered

__all__ = ["DenseHashTable", "MutableHashTable"]

__getattr__ = not_covered("tf.lookup.experimental")
