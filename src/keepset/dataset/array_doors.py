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

    def write_npz(
        self,
        path: str | os.PathLike[str],
        *,
        compressed: bool = False,
        progress: bool | None = None,
        **options: Any,
    ) -> int:
        """Write all elements to a ``.npz`` file, an array for each leaf; how many there were.

        Entries of nested dicts are called ``outer/inner``, items of tuples ``arr_0``, ``arr_1`` and
        so on. The file takes its name when it is whole; until then, its arrays take as much room
        again beside it.

        Args:
            path: The file, or the url of an object.
            compressed: Whether to compress, as ``numpy.savez_compressed`` does. What is compressed
                can only be read from its beginning.
            progress: Whether to show how far it is; by default if standard error is a terminal.
            options: For an object store: credentials, endpoint and such.

        Example:
            >>> import tempfile
            >>> import numpy as np
            >>> from keepset import Dataset
            >>> path = tempfile.mkdtemp() + "/some.npz"
            >>> Dataset.range(3).map(lambda x: {"x": x, "square": x * x}).write_npz(path)
            3
            >>> np.load(path)["square"]
            array([0, 1, 4])
        """
        written: int = written_arrays().write_npz(self._node, path, compressed, progress, options)
        return written

    def write_hdf5(
        self,
        path: str | os.PathLike[str],
        *,
        group: str = "/",
        compression: str | None = None,
        chunk_rows: int | None = None,
        progress: bool | None = None,
        **options: Any,
    ) -> int:
        """Write all elements to an HDF5 file, a data set for each leaf; how many there were.

        Nested dicts become groups, ``bytes`` variable-length strings, and arrays of one dimension
        whose lengths differ variable-length lists. The file takes its name when it is whole.

        It takes h5py, the extra ``hdf5``.

        Args:
            path: The file, or the url of an object.
            group: Where in the file to put the data sets. Elements that are no dicts become one
                data set of this name.
            compression: ``"gzip"``, ``"lzf"``, or None for none.
            chunk_rows: How many rows are stored, and read, together; about half a megabyte of them
                by default.
            progress: Whether to show how far it is; by default if standard error is a terminal.
            options: For an object store: credentials, endpoint and such.

        Example:
            >>> import tempfile
            >>> import h5py
            >>> from keepset import Dataset
            >>> path = tempfile.mkdtemp() + "/some.h5"
            >>> Dataset.range(3).map(lambda x: {"x": x, "name": f"no. {x}"}).write_hdf5(path)
            3
            >>> with h5py.File(path) as file:
            ...     file["name"][2], file["x"][:]
            (b'no. 2', array([0, 1, 2]))
        """
        written: int = written_arrays().write_hdf5(
            self._node, path, group, compression, chunk_rows, progress, options
        )
        return written
