"""The content of Arrow tables as a digest, which does not depend on how the tables are cut up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from keepset.exchange.arrow.leaves import is_list, is_text
from keepset.exchange.arrow.values import array_of, missing_in

# Rows are taken so many at a time, wherever the chunks of a table end.
_ROWS: Final = 1 << 14


def content_digest(table: pa.Table, names: Sequence[str]) -> dict[str, bytes]:
    """128 bits for each of some columns of a table.

    They are the same for tables whose rows are the same: chunks, offsets, what lies in the place of
    missing values, and Arrow's many ways to keep text and lists do not count.

    Example:
        >>> one = pa.table({"x": ["a", None, "b"]})
        >>> two = pa.table({"x": pa.chunked_array([["a"], [None, "b"]], pa.large_string())})
        >>> content_digest(one, ["x"]) == content_digest(two, ["x"])
        True
    """
    return {name: _column_digest(table.select([name]), name) for name in names}


def _column_digest(table: pa.Table, name: str) -> bytes:
    state = xxhash.xxh3_128()
    state.update(_kind(table.schema.field(name).type).encode())
    for start in range(0, table.num_rows, _ROWS):
        _add(state, array_of(table.slice(start, _ROWS), name))
    state.update(table.num_rows.to_bytes(8, "little"))
    return state.digest()


def _kind(type: pa.DataType) -> str:
    """The type as far as it makes a difference to those who read the values."""
    if isinstance(type, pa.FixedShapeTensorType):
        return f"tensor{type.shape}{type.permutation}({_kind(type.value_type)})"
    if isinstance(type, pa.Bool8Type):
        return "bool8"
    if isinstance(type, pa.BaseExtensionType):
        return _kind(type.storage_type)
    if _stands_for_others(type):
        return _kind(type.value_type)
    if is_text(type):
        return "text"
    if is_list(type):
        return f"list({_kind(type.value_type)})"
    if pa.types.is_fixed_size_list(type):
        return f"list{type.list_size}({_kind(type.value_type)})"
    if pa.types.is_struct(type):
        return "struct(" + ", ".join(f"{f.name!r}: {_kind(f.type)}" for f in type) + ")"
    if pa.types.is_timestamp(type):
        return f"timestamp[{type.unit}]"  # a zone says how to show it, and not when it is
    return str(type)


def _add(state: Any, array: pa.Array) -> None:
    """Take in the values of an array, after which of them are missing."""
    type = array.type
    if isinstance(type, pa.BaseExtensionType):
        return _add(state, array.storage)
    if pa.types.is_dictionary(type):
        return _add(state, array.dictionary_decode())
    if pa.types.is_run_end_encoded(type):
        return _add(state, pc.run_end_decode(array))
    missing = missing_in(array)
    state.update(b"all" if missing is None else np.packbits(missing))
    state.update(len(array).to_bytes(8, "little"))
    if is_text(type):
        _add_texts(state, array.cast(pa.large_binary()).fill_null(b""))
    elif is_list(type):
        lengths = pc.list_value_length(array).fill_null(0).cast(pa.int64())
        state.update(_bytes(lengths))
        _add(state, array.flatten())
    elif pa.types.is_fixed_size_list(type):
        _add(state, array.flatten())
    elif pa.types.is_struct(type):
        for field in array.flatten():
            _add(state, field)
    elif pa.types.is_map(type):
        _add(state, array.cast(pa.list_(pa.struct([type.key_field, type.item_field]))))
    elif pa.types.is_boolean(type):
        state.update(np.packbits(array.fill_null(False).to_numpy(zero_copy_only=False)))
    elif not pa.types.is_null(type):
        state.update(_bytes(array if missing is None else _zeroed(array)))
    return None


def _stands_for_others(type: pa.DataType) -> bool:
    return bool(pa.types.is_dictionary(type) or pa.types.is_run_end_encoded(type))


def _add_texts(state: Any, array: pa.Array) -> None:
    _, offsets, data = array.buffers()
    if not len(array):
        return
    places = np.frombuffer(offsets, np.int64, len(array) + 1, array.offset * 8)
    state.update(np.diff(places))
    if data is not None:
        state.update(memoryview(data)[int(places[0]) : int(places[-1])])


def _zeroed(array: pa.Array) -> pa.Array:
    """The same, with zeros where nothing is."""
    values = np.frombuffer(_bytes(array), np.uint8).reshape(len(array), -1).copy()
    values[missing_in(array)] = 0
    return pa.Array.from_buffers(array.type, len(array), [None, pa.py_buffer(values)])


def _bytes(array: pa.Array) -> memoryview:
    """The bytes of values of one width."""
    data = array.buffers()[1]
    if data is None or not len(array):
        return memoryview(b"")
    width = array.type.bit_width // 8
    return memoryview(data)[array.offset * width : (array.offset + len(array)) * width]
