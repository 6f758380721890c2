"""``tf.compat.v1.io`` and ``python_io``: ``tf.io``, and records by the name of their file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from keepset.tf import io
from keepset.tf.data.record_files import TFRecordDataset
from keepset.tf.io import *  # noqa: F403

__all__ = ["tf_record_iterator"]
__all__ += io.__all__


def tf_record_iterator(path: Any, options: Any = None) -> Iterator[bytes]:
    """The records of a file, as ``bytes``."""
    compression = getattr(options, "compression_type", options)
    return iter(TFRecordDataset(path, compression).as_numpy_iterator())


__getattr__ = io.__getattr__
