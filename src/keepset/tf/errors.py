"""``tf.errors``: the errors of this library under the names that code for TensorFlow catches."""

from __future__ import annotations

from keepset.errors import CorruptRecordError as DataLossError
from keepset.errors import InvalidArgumentError
from keepset.errors import KeepsetError as OpError
from keepset.tf.not_covered import not_covered

NotFoundError = FileNotFoundError
OutOfRangeError = StopIteration
AlreadyExistsError = FileExistsError
UnimplementedError = NotImplementedError

__all__ = [
    "AlreadyExistsError",
    "DataLossError",
    "InvalidArgumentError",
    "NotFoundError",
    "OpError",
    "OutOfRangeError",
    "UnimplementedError",
]

__getattr__ = not_covered("tf.errors")
