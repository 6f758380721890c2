"""Array-likes of all kinds become NumPy arrays that can be leaves."""

from __future__ import annotations

import datetime
import mmap
import sys
from sys import getrefcount
from typing import Any, Final

import numpy as np

from keepset.core.dtypes import Array, as_dtype, is_marked, is_numeric, storage_dtype
from keepset.core.utf8 import utf8
from keepset.errors import ElementError

# All whole numbers below are exact as float64.
_EXACT: Final = 1 << 53


def as_array(value: Any) -> Array:
    """Turn a list, an array or anything with the array protocol into an array fit for a leaf.

    Text becomes ``bytes`` in an object array. Torch tensors, JAX arrays, pandas and Arrow columns
    and PIL images come in through the protocols that they offer; none of them is imported.
    """
    if isinstance(value, np.ndarray):
        array = value if type(value) is np.ndarray else _plain(value)
    elif isinstance(value, list | tuple):
        array = _array_of_list(value)
    elif type(value).__module__.partition(".")[0] == "torch":
        array = _array_of_torch(value)
    else:
        array = _array_of_protocol(value)
    if is_numeric(array.dtype):
        return array
    if array.dtype.kind == "T":  # NumPy's strings of any length
        array = array.astype(object)
    if array.dtype.kind in "SUO":
        return _array_of_bytes(array)
    native = array.astype(array.dtype.newbyteorder("="))
    if not is_numeric(native.dtype):
        raise ElementError(
            f"an array of dtype {array.dtype} cannot be a leaf; use numbers, bools, times or "
            "strings"
        )
    return native


def as_unit(times: Any, dtype: Any) -> Any:
    """Times in another unit; an error where 64 bits do not reach, for NumPy would go round."""
    made = times.astype(dtype)
    # A coarser unit has room for all, and rounds, which is what was asked for.
    if np.can_cast(times.dtype, made.dtype):
        is_same = (made.astype(times.dtype) == times) | np.isnat(times)
        if not is_same.all():
            raise ElementError(
                f"a time does not fit into 64 bits as {made.dtype}; use a coarser unit, such as "
                "microseconds, or a number"
            )
    return made


def as_leaf_array(value: Any) -> Array:
    """As :func:`as_array`, but arrays that the library made to hold ``str`` stay as they are."""
    if type(value) is np.ndarray and is_marked(value):
        return value
    return as_array(value)


def _plain(value: Array) -> Array:
    """A memory map, a matrix or another subclass as an array of the class that all stages know."""
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise ElementError(
            "an array with masked values cannot become a leaf, which has no mask; put values there "
            "with array.filled(...), or return the data and the mask as two leaves"
        )
    return np.asarray(value)


def _array_of_protocol(value: Any) -> Array:
    array = np.asarray(value)
    if array.dtype.kind == "f":
        # What columns of tables are called: Int64 in pandas and polars, int64 in Arrow.
        name = str(getattr(value, "dtype", getattr(value, "type", ""))).lower()
        if name.startswith(("int", "uint")):
            raise ElementError(
                f"a column of {name} with missing values would become floats, which round large "
                "numbers; fill them first, with fillna(0), fill_null(0) or pc.fill_null(column, 0)"
            )
    return array


class Lent:
    """Stands between an array that the library has and views of it that it hands out.

    So they are told from read-only views that a user's function made of memory that it fills again.
    """

    __slots__ = ("__array_interface__", "array")

    def __init__(self, array: Array) -> None:
        self.array = array
        self.__array_interface__ = {
            "shape": array.shape,
            "typestr": f"|V{array.itemsize}",
            "data": (array.ctypes.data, True),
            "strides": array.strides,
            "version": 3,
        }


def lent_view(array: Array) -> Array:
    """A view that cannot be written through, and that stages pass on without a copy."""
    if not array.flags.writeable:
        return array
    if array.dtype.hasobject or not array.size or not array.ndim:
        view = array.view()
        view.flags.writeable = False
        return view
    return np.asarray(Lent(array)).view(array.dtype)


class MappedFile(mmap.mmap):
    """A file that the library has mapped to be read, and that nothing rewrites.

    So it is told from one that a user has mapped, and may write to by other ways.
    """


def _is_locked(buffer: Any) -> bool:
    """Whether nothing can write to a buffer: one of Arrow, or a file of ours that is mapped."""
    if isinstance(buffer, mmap.mmap) and not isinstance(buffer, MappedFile):
        return False
    try:
        return memoryview(buffer).readonly
    except (TypeError, ValueError, BufferError):
        return False  # who can write to it is not known: an array of Arrow, a tensor


def is_fixed(array: Array) -> bool:
    """Whether nothing seems able to write to what is behind a view that is read-only itself."""
    base: Any = array.base
    # Asked of every array that a function returns: the usual cases come first.
    while type(base) is np.ndarray:
        inner: Any = base.base
        if type(inner) is Lent:
            return True
        # The view, the name here and the argument: nothing else has it.
        if base.flags.writeable and getrefcount(base) > 3:
            return False
        base = inner
    if base is None or type(base) is Lent:
        return True
    if type(base) is memoryview:
        base = base.obj if base.readonly else bytearray()
    if type(base) is bytes:
        return True
    if not hasattr(base, "__array_interface__"):
        return _is_locked(base)
    # A subclass, or that of sliding_window_view, which holds on to the array behind it.
    behind: Any = base if isinstance(base, np.ndarray) else getattr(base, "base", None)
    return behind is None or (not behind.flags.writeable and is_fixed(behind))


def _array_of_list(values: list[Any] | tuple[Any, ...]) -> Array:
    first: Any = values
    while isinstance(first, list | tuple) and first:
        first = first[0]
    # NumPy would make an S array of bytes, which drops trailing zero bytes.
    wanted: Any = object if isinstance(first, str | bytes) else None
    if isinstance(first, datetime.date | datetime.timedelta):
        return _array_of_times(values)
    try:
        array = np.array(values, dtype=wanted)
    except ValueError as error:
        raise ElementError(
            f"a list with rows of unequal length cannot become an array ({error}); "
            "use keepset.Ragged.from_rows(...)"
        ) from error
    if array.dtype.kind in "SU":
        return _with_text_alone(array, values)
    # NumPy makes floats of whole numbers if some fit no int64 and others are small or negative.
    if array.dtype == np.float64 and (np.abs(array) >= _EXACT).any():
        return _with_whole_numbers(array, values)
    return array


def _with_text_alone(array: Array, values: list[Any] | tuple[Any, ...]) -> Array:
    """The array of a list with text in it, or of objects if NumPy has made text of other items."""
    items: Array = np.array(values, dtype=object)
    return array if all(map(_is_text, items.flat)) else items  # the first other item is named


def _is_text(item: Any) -> bool:
    if isinstance(item, np.ndarray):
        return item.dtype.kind in "SUT"
    return isinstance(item, str | bytes)


def _array_of_times(values: list[Any] | tuple[Any, ...]) -> Array:
    """The times of Python in the units that single ones have, those of a time zone in UTC."""
    items: Array = np.array(values, dtype=object)
    kinds = set(map(type, items.flat))
    if kinds == {datetime.date}:
        return items.astype("M8[D]")
    if kinds == {datetime.datetime}:
        items = np.vectorize(naive, [object])(items)
        return items.astype("M8[us]")
    if kinds == {datetime.timedelta}:
        counts: Array = np.vectorize(microseconds, [np.int64])(items)
        return counts.view("m8[us]")
    return items  # of several kinds, or of pandas: named as what cannot be in one array


def naive(value: datetime.datetime) -> datetime.datetime:
    """A time without a zone: in UTC, if it had one."""
    return value if value.tzinfo is None else value.astimezone(datetime.UTC).replace(tzinfo=None)


def microseconds(value: datetime.timedelta) -> int:
    """How long it is; an error where 64 bits do not reach."""
    count = value // datetime.timedelta(microseconds=1)
    if not -(1 << 63) < count < 1 << 63:
        raise ElementError(
            f"the duration {value} does not fit into 64 bits as microseconds; use a number, such "
            "as its seconds"
        )
    return count


def _with_whole_numbers(array: Array, values: list[Any] | tuple[Any, ...]) -> Array:
    """The array of a list of large numbers, in which whole ones are not rounded."""
    items = np.array(values, dtype=object).ravel().tolist()
    whole = [int(item) for item in items if isinstance(item, int | np.integer)]
    if len(whole) == len(items) and min(whole) >= 0 and max(whole) < 1 << 64:
        return np.array(values, np.uint64)
    rounded = [number for number in whole if abs(number) >= _EXACT and int(float(number)) != number]
    if len(whole) == len(items) or rounded:
        raise ElementError(
            f"a list with the whole number {(rounded or [max(whole, key=abs)])[0]} cannot become "
            "an array: no type holds it together with the others; make an array of the dtype that "
            "you want, such as np.array(..., np.float64), which rounds it"
        )
    return array


def _array_of_bytes(array: Array) -> Array:
    items = array.ravel().tolist()
    if array.dtype == object and set(map(type, items)) <= {bytes} and not is_marked(array):
        return array  # the usual case, without looking at each one
    result = np.empty(array.shape, dtype=object)
    flat = result.reshape(-1)
    for i, item in enumerate(items):
        if isinstance(item, str):
            flat[i] = utf8(item)
        elif isinstance(item, bytes):
            flat[i] = item
        else:
            raise ElementError(
                f"an object array may hold only str and bytes, but item {i} is {item!r:.60} of "
                f"type {type(item).__name__}; pass arrays of one shape, or "
                "keepset.Ragged.from_rows(...)"
            )
    return result


def _array_of_torch(tensor: Any) -> Array:
    if str(getattr(tensor, "layout", "torch.strided")) != "torch.strided":
        raise ElementError(
            "a sparse or nested tensor of torch cannot become an array; use tensor.to_dense() or "
            "torch.nested.to_padded_tensor(tensor, 0)"
        )
    tensor = tensor.detach().cpu()
    if str(tensor.dtype) != "torch.bfloat16":
        return np.asarray(tensor.numpy())
    # Torch has no bridge for bfloat16; the bits cross as int16.
    bits = tensor.view(sys.modules["torch"].int16)
    return np.asarray(bits.numpy()).view(storage_dtype(as_dtype("bfloat16")))
