"""Array-likes of all kinds become NumPy arrays that can be leaves."""

from __future__ import annotations

import sys
from typing import Any, Final

import numpy as np

from keepset.core.dtypes import Array, as_dtype, is_numeric, storage_dtype
from keepset.errors import ElementError

# All whole numbers below are exact as float64.
_EXACT: Final = 1 << 53


def as_array(value: Any) -> Array:
    """Turn a list, an array or anything with the array protocol into an array fit for a leaf.

    Text becomes ``bytes`` in an object array. Torch tensors, JAX arrays, pandas and Arrow columns
    and PIL images come in through the protocols that they offer; none of them is imported.
    """
    if isinstance(value, np.ndarray):
        array = value
    elif isinstance(value, list | tuple):
        array = _array_of_list(value)
    elif type(value).__module__.partition(".")[0] == "torch":
        array = _array_of_torch(value)
    else:
        array = np.asarray(value)
    if is_numeric(array.dtype):
        return array
    if array.dtype.kind in "SUO":
        return _array_of_bytes(array)
    native = array.astype(array.dtype.newbyteorder("="))
    if not is_numeric(native.dtype):
        raise ElementError(
            f"an array of dtype {array.dtype} cannot be a leaf; use numbers, bools, times or "
            "strings"
        )
    return native


def _array_of_list(values: list[Any] | tuple[Any, ...]) -> Array:
    first: Any = values
    while isinstance(first, list | tuple) and first:
        first = first[0]
    # NumPy would make an S array of bytes, which drops trailing zero bytes.
    wanted = object if isinstance(first, str | bytes) else None
    try:
        array = np.array(values, dtype=wanted)
    except ValueError as error:
        raise ElementError(
            f"a list with rows of unequal length cannot become an array ({error}); "
            "use keepset.Ragged.from_rows(...)"
        ) from error
    # NumPy makes floats of whole numbers if some fit no int64 and others are small or negative.
    if array.dtype == np.float64 and (np.abs(array) >= _EXACT).any():
        return _with_whole_numbers(array, values)
    return array


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
    if array.dtype == object and set(map(type, items)) <= {bytes}:
        return array  # the usual case, without looking at each one
    result = np.empty(array.shape, dtype=object)
    flat = result.reshape(-1)
    for i, item in enumerate(items):
        if isinstance(item, str):
            flat[i] = item.encode()
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
