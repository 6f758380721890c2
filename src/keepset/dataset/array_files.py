"""Files of arrays, as data sets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from keepset.dataset import Dataset
from keepset.dataset.named_files import Files, chosen, named_files
from keepset.exchange.arrays.npy import ReadNpy
from keepset.exchange.arrays.npz import ReadNpz
from keepset.exchange.hdf5.reading import ReadHdf5


def read_npy(files: Files, *, columns: Sequence[str] | None = None, **options: Any) -> Dataset:
    """The rows of the array in each ``.npy`` file, read from the disk as they are needed.

    Nothing is copied, and elements can be had by position. The rows of a structured array are
    dicts. Python objects in a file are refused, because they would have to be unpickled.

    Args:
        files: A file, a folder, a pattern such as ``"data/*.npy"``, a list of them, or a
            Dataset of names. Urls of object stores are files too.
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


def read_npz(files: Files, *, columns: Sequence[str] | None = None, **options: Any) -> Dataset:
    """The rows of the arrays in each ``.npz`` file, as dicts with an entry for each array.

    All arrays that are read need the same number of rows. An array that is called
    ``features/x`` is ``x`` in a dict called ``features``. What ``numpy.savez`` wrote is read from
    the disk as it is needed, and elements can be had by position; what ``numpy.savez_compressed``
    wrote is unpacked a few rows at a time, from the first to the last.

    Args:
        files: A file, a folder, a pattern such as ``"data/*.npz"``, a list of them, or a
            Dataset of names. Urls of object stores are files too.
        columns: The arrays to read, such as ``["images", "features/x"]``; all by default.
        options: For an object store: credentials, endpoint and such.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> path = tempfile.mkdtemp() + "/some.npz"
        >>> np.savez(path, x=np.arange(6).reshape(3, 2), label=np.arange(3))
        >>> read_npz(path)[2]
        {'x': array([4, 5]), 'label': np.int64(2)}
    """
    return Dataset(
        ReadNpz(
            parent=named_files(files, options),
            columns=chosen(columns),
            store_options=options or None,
        )
    )


def read_hdf5(
    files: Files,
    *,
    group: str = "/",
    columns: Sequence[str] | None = None,
    **options: Any,
) -> Dataset:
    """The rows of the data sets in each HDF5 file, as dicts that are nested as its groups are.

    All data sets that are read need the same length, which is that of their first dimension.
    Texts are ``bytes``, lists of numbers of different lengths arrays, and compound types dicts.
    Elements can be had by position. Links to other files are not followed.

    It takes h5py, the extra ``hdf5``.

    Args:
        files: A file, a folder, a pattern such as ``"data/*.h5"``, a list of them, or a
            Dataset of names. Urls of object stores are files too.
        group: Where in the file to begin; if that is a data set, elements are its rows.
        columns: The data sets to read, such as ``["images", "features/x"]``; all by default.
        options: For an object store: credentials, endpoint and such.

    Example:
        >>> import tempfile
        >>> import h5py
        >>> path = tempfile.mkdtemp() + "/some.h5"
        >>> with h5py.File(path, "w") as file:
        ...     file["train/x"] = [[1.5, 2.5], [3.5, 4.5]]
        ...     file["train/label"] = [0, 1]
        >>> read_hdf5(path, group="train")[1]
        {'label': np.int64(1), 'x': array([3.5, 4.5])}
    """
    return Dataset(
        ReadHdf5(
            parent=named_files(files, options),
            group=group,
            columns=chosen(columns),
            store_options=options or None,
        )
    )
