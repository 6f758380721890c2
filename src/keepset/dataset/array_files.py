"""Files of arrays, as data sets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from keepset.dataset import Dataset
from keepset.dataset.named_files import Files, chosen, named_files
from keepset.exchange.npy import ReadNpy


def read_npy(files: Files, *, columns: Sequence[str] | None = None, **options: Any) -> Dataset:
    """The rows of the array in each ``.npy`` file, read from the disk as they are needed.

    Nothing is copied, and elements can be had by position. The rows of a structured array are
    dicts. Python objects in a file are refused, because they would have to be unpickled.

    Args:
        files: A file, a pattern such as ``"data/*.npy"``, a list of them, or a Dataset of names.
            Urls of object stores are files too.
        columns: The fields to read of a structured array; all of them by default.
        options: For an object store: credentials, endpoint and such.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> path = tempfile.mkdtemp() + "/squares.npy"
        >>> np.save(path, np.arange(5) ** 2)
        >>> ds = read_npy(path)
        >>> len(ds), int(ds[3])
        (5, 9)
    """
    return Dataset(
        ReadNpy(
            parent=named_files(files, options),
            columns=chosen(columns),
            store_options=options or None,
        )
    )
