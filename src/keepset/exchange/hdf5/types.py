"""The types of HDF5 data sets, and the columns of elements that their rows become."""

from __future__ import annotations

from typing import Any

import numpy as np

from keepset.core.arrays import as_array
from keepset.core.column import Column
from keepset.core.dtypes import Array, as_dtype, string
from keepset.core.jagged import Jagged
from keepset.core.spec import Spec, TensorSpec
from keepset.errors import InvalidArgumentError
from keepset.exchange.arrays.column_source import Fields, usable
from keepset.exchange.hdf5.library import h5py


def hdf5_spec(dtype: np.dtype[Any], shape: tuple[int, ...], fields: Fields) -> Spec:
    """The spec of rows; an InvalidArgumentError that says what cannot be read."""
    if dtype.subdtype is not None:
        inner, more = dtype.subdtype
        return hdf5_spec(inner, (*shape, *more), fields)
    if fields is not None:
        return {name: hdf5_spec(dtype[name], shape, inner) for name, inner in fields.items()}
    library = h5py()
    if library.check_ref_dtype(dtype) is not None:
        raise InvalidArgumentError("references to other places")
    if library.check_string_dtype(dtype) is not None:
        return TensorSpec(shape, string)
    items = _items_of(dtype)
    if items is not None:
        return _list_spec(items, shape)
    if dtype.kind in "VO":
        raise InvalidArgumentError(f"the type {dtype}, which means nothing here")
    return TensorSpec(shape, as_dtype(dtype))


def _items_of(dtype: np.dtype[Any]) -> Any:
    """The type of what is in lists; None if it is not one of lists."""
    library = h5py()
    if library.check_string_dtype(dtype) is not None:
        return None  # which is a list of letters to the library
    return library.check_vlen_dtype(dtype)


def _list_spec(items: Any, shape: tuple[int, ...]) -> Spec:
    if shape:
        raise InvalidArgumentError(f"lists in an array of shape {shape} in each row")
    if not isinstance(items, np.dtype) or items.kind not in "biufc" or items.subdtype is not None:
        raise InvalidArgumentError(f"lists of {items}")
    if not items.isnative:
        # h5py 3.16 gives their bytes in the wrong order, without a word.
        raise InvalidArgumentError("lists of numbers in the byte order of other machines")
    return TensorSpec((None,), as_dtype(items))


def hdf5_columns(rows: Array, fields: Fields) -> Any:
    """The columns of some rows, as h5py gives them."""
    if fields is not None:
        return {name: hdf5_columns(rows[name], inner) for name, inner in fields.items()}
    column = _column(rows)
    if isinstance(column, np.ndarray):
        column.flags.writeable = False
    return column


def _column(rows: Array) -> Column:
    items = _items_of(rows.dtype)
    if items is not None:
        if not len(rows):
            return Jagged.packed(np.empty(0, items), np.zeros(1, np.int64))
        return Jagged.of([np.asarray(row, items) for row in rows])
    if rows.dtype.metadata:
        # What h5py notes there, as names of numbers, is for itself.
        rows = rows.view(np.dtype(rows.dtype.str))
    return usable(as_array(rows))
