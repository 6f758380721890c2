"""DataFrames of pandas as Arrow tables, column by column, without copies of numbers."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

import numpy as np
import pyarrow as pa

from keepset.core.dtypes import Array
from keepset.errors import InvalidArgumentError

# Dtypes whose Arrow form is not what people mean by them, or that have none.
_REFUSED: Final = {
    "PeriodDtype": "make it times with .dt.to_timestamp()",
    "IntervalDtype": "take .array.left and .array.right as two columns",
    "SparseDtype": "make it dense with .sparse.to_dense()",
}


def pandas_table(frame: Any, index: bool, missing: Collection[str]) -> pa.Table:
    """The table of a DataFrame.

    Args:
        frame: The DataFrame.
        index: Whether its index becomes columns as well.
        missing: Columns for which NaN is a missing value, for which something else will stand.
    """
    if not (type(frame).__module__.partition(".")[0] == "pandas" and hasattr(frame, "columns")):
        raise InvalidArgumentError(f"a pandas.DataFrame is needed, not {type(frame).__name__}")
    if index:
        frame = frame.reset_index()
    if frame.columns.nlevels > 1:
        raise InvalidArgumentError(
            "the columns of the DataFrame have several levels; join their names, such as with "
            "df.columns = df.columns.map('.'.join)"
        )
    names = [str(name) for name in frame.columns]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InvalidArgumentError(
            f"the DataFrame has several columns named {twice!r}, which cannot all be entries of a "
            "dict; rename them"
        )
    if not names:
        raise InvalidArgumentError("the DataFrame has no columns, and so no elements")
    columns = [_column(frame.iloc[:, i], name, missing) for i, name in enumerate(names)]
    return pa.table(dict(zip(names, columns, strict=True)))


def _column(series: Any, name: str, missing: Collection[str]) -> Any:
    kind = type(series.dtype).__name__
    if kind in _REFUSED:
        raise InvalidArgumentError(
            f"the column {name!r} is of {series.dtype}, which no element can be; {_REFUSED[kind]}, "
            "or leave it out"
        )
    is_array = isinstance(series.dtype, np.dtype) and series.dtype != object
    try:
        if not is_array:
            arrays = _arrays(series) if series.dtype == object else None
            return _inferred(series) if arrays is None else _tensors(arrays)
        values = series.to_numpy()
        if values.dtype.kind == "c":
            raise TypeError("Arrow has no complex numbers")
        # NaN is a number like others, unless something else is to stand there.
        return pa.array(values, from_pandas=name in missing or values.dtype.kind in "mM")
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise InvalidArgumentError(
            f"the column {name!r} of {series.dtype} cannot be read: {error}; make its values "
            "alike, such as with .astype(...), or leave it out"
        ) from error


def _arrays(series: Any) -> list[Array] | None:
    """The values of a column of objects that are all arrays with the same inner dimensions.

    None for others, and for arrays of strings and lists, of which Arrow makes something itself.
    """
    values: list[Any] = series.tolist()
    if not values or not all(type(each) is np.ndarray for each in values):
        return None
    first = values[0]
    if first.ndim == 0 or first.dtype.kind not in "biufmM":
        return None
    for i, each in enumerate(values):
        if each.dtype != first.dtype or each.shape[1:] != first.shape[1:]:
            if first.ndim == each.ndim == 1:
                return None
            raise ValueError(
                f"the array in row {i} is {each.dtype} of shape {each.shape}, and the one in row 0 "
                f"{first.dtype} of shape {first.shape}"
            )
    return values


def _inferred(series: Any) -> Any:
    found = pa.array(series, from_pandas=True)
    if found.type == pa.list_(pa.null()) and all(
        isinstance(each, np.ndarray) and each.dtype.kind in "OSU" for each in series
    ):
        return found.cast(pa.list_(pa.binary()))  # what arrays of objects hold, if anything
    return found


def _tensors(arrays: list[Array]) -> Any:
    """Arrays as lists of one size, or, where their first dimensions differ, of any."""
    lengths = np.fromiter(map(len, arrays), np.int64, len(arrays))
    inner = arrays[0].shape[1:]
    items = pa.array(_storable(np.concatenate(arrays)).reshape(-1))
    for size, count in _levels(inner, int(lengths.sum())):
        items = pa.Array.from_buffers(pa.list_(items.type, size), count, [None], children=[items])
    if (lengths == lengths[0]).all():
        type = pa.list_(items.type, int(lengths[0]))
        return pa.Array.from_buffers(type, len(arrays), [None], children=[items])
    offsets = np.zeros(len(arrays) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return pa.LargeListArray.from_arrays(pa.array(offsets), items)


def _levels(inner: tuple[int, ...], count: int) -> list[tuple[int, int]]:
    """The sizes of nested lists of one size each, innermost first, and how many there are."""
    counts = [count * int(np.prod(inner[:i], dtype=np.int64)) for i in range(len(inner))]
    return list(zip(reversed(inner), reversed(counts), strict=True))


def _storable(values: Array) -> Array:
    """The same values in a dtype that Arrow has."""
    kind = values.dtype.kind
    if kind not in "mM":
        return values
    unit, count = np.datetime_data(values.dtype)
    is_known = count == 1 and (unit in ("s", "ms", "us", "ns") or (kind == "M" and unit == "D"))
    return values if is_known else values.astype(f"{kind}8[s]")
