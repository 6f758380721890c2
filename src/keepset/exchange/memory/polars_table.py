"""DataFrames of Polars as Arrow tables."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from keepset.errors import InvalidArgumentError


def polars_table(frame: Any) -> pa.Table:
    """The table of a DataFrame; numbers are not copied."""
    kind = type(frame)
    if kind.__module__.partition(".")[0] != "polars" or kind.__name__ != "DataFrame":
        remedy = "; call .collect() first" if kind.__name__ == "LazyFrame" else ""
        raise InvalidArgumentError(f"a polars.DataFrame is needed, not {kind.__name__}{remedy}")
    if not frame.width:
        raise InvalidArgumentError("the DataFrame has no columns, and so no elements")
    columns = {}
    for name in frame.columns:
        column = frame.get_column(name)
        try:
            if _holds_objects(column.dtype):
                raise TypeError("it holds Python objects")
            columns[name] = column.to_arrow()
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise InvalidArgumentError(
                f"the column {name!r} of {column.dtype} cannot be read: {error}; cast it, or leave "
                "it out"
            ) from error
    return pa.table(columns)


def _holds_objects(dtype: Any) -> bool:
    """Whether values are addresses of objects, of which Arrow would make numbers."""
    inner = [getattr(dtype, "inner", None), *(f.dtype for f in getattr(dtype, "fields", ()))]
    return str(dtype) == "Object" or any(_holds_objects(each) for each in inner if each is not None)
