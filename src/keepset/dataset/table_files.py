"""Files of tables, as data sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from keepset.core.dtypes import as_dtype, dtype_name
from keepset.dataset import Dataset
from keepset.dataset.named_files import Files, chosen, named_files
from keepset.exchange.arrow_file import ReadArrow
from keepset.exchange.parquet import ReadParquet


def read_parquet(
    files: Files,
    *,
    columns: Sequence[str] | None = None,
    missing: Mapping[str, Any] | None = None,
    types: Mapping[str, Any] | None = None,
    **options: Any,
) -> Dataset:
    """The rows of Parquet files, as dicts.

    Structs become nested dicts, lists arrays of different lengths, text ``bytes``. What
    ``write_parquet`` wrote comes back as it was. The number of rows is known, and elements can be
    had by position: a group of rows is decoded for that, and a few of those used last are kept.

    Args:
        files: A file, a pattern such as ``"data/*.parquet"``, a list of them, or a Dataset of
            names. Urls of object stores are files too.
        columns: The columns to read; all by default. The others are not read from the disk.
        missing: What stands for missing values, by column: ``{"age": -1}``; ``{"tags": []}`` for
            lists and ``{"tags[]": 0}`` for what is in them. Without it missing floats are NaN and
            missing times NaT, and anything else that is missing is an error.
        types: Dtypes of columns that are to be cast: ``{"price": "float32"}``.
        options: For an object store: credentials, endpoint and such.

    Example:
        >>> import tempfile
        >>> import pyarrow as pa, pyarrow.parquet as pq
        >>> path = tempfile.mkdtemp() + "/some.parquet"
        >>> pq.write_table(pa.table({"name": ["ada", "bob"], "age": [36, None]}), path)
        >>> read_parquet(path, missing={"age": -1})[1]
        {'name': b'bob', 'age': np.int64(-1)}
    """
    return Dataset(
        ReadParquet(
            parent=named_files(files, options),
            columns=chosen(columns),
            missing=dict(missing) if missing else None,
            types=dtype_names(types),
            store_options=options or None,
        )
    )


def read_arrow(
    files: Files,
    *,
    columns: Sequence[str] | None = None,
    missing: Mapping[str, Any] | None = None,
    types: Mapping[str, Any] | None = None,
    **options: Any,
) -> Dataset:
    """The rows of Arrow IPC files and streams, which Feather files are too, as dicts.

    Numbers are used where they lie on the disk. Elements can be had by position, but for streams
    that are compressed or not on a disk. The files below ``segments/`` of what ``save`` and
    ``snapshot`` keep can be read too.

    Args:
        files: A file, a pattern such as ``"data/*.arrow"``, a list of them, or a Dataset of names.
            Urls of object stores are files too.
        columns: The columns to read; all by default.
        missing: What stands for missing values, by column; see ``read_parquet``.
        types: Dtypes of columns that are to be cast: ``{"price": "float32"}``.
        options: For an object store: credentials, endpoint and such.

    Example:
        >>> import tempfile
        >>> import pyarrow as pa, pyarrow.feather
        >>> path = tempfile.mkdtemp() + "/some.feather"
        >>> pa.feather.write_feather(pa.table({"x": [1, 2], "tags": [["a"], []]}), path)
        >>> read_arrow(path)[0]
        {'x': np.int64(1), 'tags': array([b'a'], dtype=object)}
    """
    return Dataset(
        ReadArrow(
            parent=named_files(files, options),
            columns=chosen(columns),
            missing=dict(missing) if missing else None,
            types=dtype_names(types),
            store_options=options or None,
        )
    )


def dtype_names(types: Mapping[str, Any] | None) -> dict[str, str] | None:
    """The dtypes of columns by their names, in which form a stage keeps them."""
    if not types:
        return None
    return {name: dtype_name(as_dtype(dtype)) for name, dtype in types.items()}
