"""Methods that write files of arrays."""

from __future__ import annotations

import os
from types import ModuleType
from typing import Any

from keepset.dataset.base import BaseDataset


def written_arrays() -> ModuleType:
    """The module that does the work; those who write no such files need not wait for it."""
    import keepset.dataset.written_arrays as module

    return module


class ArrayDoors(BaseDataset):
    """Ways out to NumPy's files and others like them."""

    __slots__ = ()

    def write_npy(
        self, path: str | os.PathLike[str], *, progress: bool | None = None, **options: Any
    ) -> int:
        """Write all elements, arrays of one shape, to a ``.npy`` file; how many there were.

        The file takes its name when it is whole.

        Args:
            path: The file, or the url of an object.
            progress: Whether to show how far it is; by default if standard error is a terminal.
            options: For an object store: credentials, endpoint and such.

        Example:
            >>> import tempfile
            >>> import numpy as np
            >>> from keepset import Dataset
            >>> path = tempfile.mkdtemp() + "/squares.npy"
            >>> Dataset.range(5).map(lambda x: x * x).write_npy(path)
            5
            >>> np.load(path)
            array([ 0,  1,  4,  9, 16])
        """
        written: int = written_arrays().write_npy(self._node, path, progress, options)
        return written
