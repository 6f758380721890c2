"""Tables in memory, as data sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from keepset.core.dtypes import as_dtype, dtype_name
from keepset.dataset import Dataset
from keepset.dataset.named_files import chosen
from keepset.exchange.memory.from_arrow import FromArrow
from keepset.exchange.memory.held_table import HeldTable, table_of
from keepset.exchange.memory.pandas_table import pandas_table
from keepset.exchange.memory.polars_table import polars_table


def from_arrow(
    table: Any,
    *,
    columns: Sequence[str] | None = None,
    missing: Mapping[str, Any] | None = None,
    types: Mapping[str, Any] | None = None,
) -> Dataset:
    """The rows of an Arrow table, as dicts. Numbers are not copied.

    Structs become nested dicts, lists arrays of different lengths, lists of one size arrays of that
    size, text ``bytes``. What ``to_arrow`` made comes back as it was. The table counts by its
    content: what was kept of it is found again, whatever its chunks are.

    Args:
        table: A ``pyarrow.Table``, record batches, a reader of them, or anything with Arrow's
            stream interface. A reader is read to its end at once.
        columns: The columns to use; all by default.
        missing: What stands for missing values, by column: ``{"age": -1}``; ``{"tags": []}`` for
            lists and ``{"tags[]": 0}`` for what is in them. Without it missing floats are NaN and
            missing times NaT, and anything else that is missing is an error.
        types: Dtypes of columns that are to be cast: ``{"price": "float32"}``.

    Example:
        >>> import pyarrow as pa
        >>> ds = from_arrow(pa.table({"name": ["ada", "bob"], "tags": [[1, 2], []]}))
        >>> len(ds), ds[0]
        (2, {'name': b'ada', 'tags': array([1, 2])})
    """
    return _rows(table_of(table), columns, missing, types)


def from_pandas(
    frame: Any,
    *,
    index: bool = False,
    columns: Sequence[str] | None = None,
    missing: Mapping[str, Any] | None = None,
    types: Mapping[str, Any] | None = None,
) -> Dataset:
    """The rows of a ``pandas.DataFrame``, as dicts. Columns of numbers are not copied.

    Categories become their values, times with a zone UTC, and objects what they are: text and bytes
    ``bytes``, lists and arrays arrays, dicts nested dicts. Arrays that all have one shape have it
    in the ``element_spec`` too. Names of columns that are no text become text.

    Args:
        frame: The DataFrame. Do not change it while the data set is used.
        index: Whether the index becomes columns too, under its names.
        columns: The columns to use; all by default.
        missing: What stands for missing values, by column, as for ``from_arrow``. Without it
            missing floats are NaN and missing times NaT, and anything else that is missing is an
            error.
        types: Dtypes of columns that are to be cast: ``{"price": "float32"}``.

    Example:
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"name": ["ada", "bob"], "age": pd.array([36, None], "Int64")})
        >>> from_pandas(frame, missing={"age": -1})[1]
        {'name': b'bob', 'age': np.int64(-1)}
    """
    names = {key.partition("[")[0].partition(".")[0] for key in missing or {}}
    return _rows(pandas_table(frame, index, names), columns, missing, types)


def from_polars(
    frame: Any,
    *,
    columns: Sequence[str] | None = None,
    missing: Mapping[str, Any] | None = None,
    types: Mapping[str, Any] | None = None,
) -> Dataset:
    """The rows of a ``polars.DataFrame``, as dicts. Columns of numbers are not copied.

    ``List`` becomes arrays of different lengths, ``Array`` arrays of one shape, ``Struct`` nested
    dicts, ``Categorical`` and ``Enum`` their texts as ``bytes``.

    Args:
        frame: The DataFrame; of a LazyFrame, call ``collect()``.
        columns: The columns to use; all by default.
        missing: What stands for missing values, by column, as for ``from_arrow``.
        types: Dtypes of columns that are to be cast: ``{"price": "float32"}``.

    Example:
        >>> import polars as pl
        >>> from_polars(pl.DataFrame({"x": [1, 2], "at": [{"lat": 1.5}, {"lat": 2.5}]}))[1]
        {'x': np.int64(2), 'at': {'lat': np.float64(2.5)}}
    """
    return _rows(polars_table(frame), columns, missing, types)


def _rows(
    table: pa.Table,
    columns: Sequence[str] | None,
    missing: Mapping[str, Any] | None,
    types: Mapping[str, Any] | None,
) -> Dataset:
    return Dataset(
        FromArrow(
            table=HeldTable.of(table),
            columns=chosen(columns),
            missing=dict(missing) if missing else None,
            types=named_types(types),
        )
    )


def named_types(types: Mapping[str, Any] | None) -> dict[str, str] | None:
    """The dtypes of columns by their names, in which form a stage keeps them."""
    if not types:
        return None
    return {name: dtype_name(as_dtype(dtype)) for name, dtype in types.items()}
