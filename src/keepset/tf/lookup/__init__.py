"""``tf.lookup``: tables from keys to values, as vocabularies are."""

from __future__ import annotations

from keepset.tf.lookup import experimental
from keepset.tf.lookup.initializers import (
    KeyValueTensorInitializer,
    TextFileIndex,
    TextFileInitializer,
)
from keepset.tf.lookup.tables import StaticHashTable, StaticVocabularyTable
from keepset.tf.not_covered import not_covered

__all__ = [
    "KeyValueTensorInitializer",
    "StaticHashTable",
    "StaticVocabularyTable",
    "TextFileIndex",
    "TextFileInitializer",
    "experimental",
]

__getattr__ = not_covered("tf.lookup")
