"""Columns as buffers of bytes, and back.

A column that is one array is stored as a single leaf of that shape, and used where it lies. Any
other column is the number of each leaf's kind and then, kind by kind, the leaves together:

    array     the shapes, all values
    scalar    all values
    bytes     the lengths, all bytes
    text      as bytes, in UTF-8
    strings   the shapes, then their items as above
    texts     likewise
    ragged    the row splits as arrays, then the values as leaves of their own kind
    sparse    the dense shapes and the indices as arrays, then the values likewise
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from keepset.core.column import Column
from keepset.core.dtypes import Array, as_dtype, dtype_name, is_numeric, is_text, text_array
from keepset.core.jagged import Jagged
from keepset.core.ragged import Ragged
from keepset.core.sparse import Sparse
from keepset.errors import ElementError

Kind: TypeAlias = tuple[Any, ...]  # ("array", "float32", 2), ("sparse", ("scalar", "int64")), ...

_BYTE = np.dtype(np.uint8)
_INDEX = np.dtype(np.int64)


class EncodedColumn(NamedTuple):
    facts: dict[str, Any]  # for the header, as JSON
    buffers: list[Array]
    examples: Column  # leaves of every kind and shape there is


def encode_column(column: Column) -> EncodedColumn:
    if isinstance(column, Jagged):
        column = column.leaves()
    if not isinstance(column, list):
        kind = _kind(column)
        return EncodedColumn({"array": kind}, list(_encode(kind, [column])), column)
    groups: dict[Kind, list[Any]] = {}
    examples: dict[Any, Any] = {}
    kinds = list(map(_kind, column))
    for kind, leaf in zip(kinds, column, strict=True):
        groups.setdefault(kind, []).append(leaf)
        examples.setdefault((kind, getattr(leaf, "shape", None)), leaf)
    numbers = {kind: number for number, kind in enumerate(groups)}
    buffers = [_narrow([numbers[kind] for kind in kinds])]
    for kind, leaves in groups.items():
        buffers += _encode(kind, leaves)
    return EncodedColumn({"leaves": list(groups)}, buffers, list(examples.values()))


def decode_column(facts: Any, rows: int, buffers: deque[Array]) -> Column:
    """Read a column from the first of ``buffers``; anything that is odd is a ValueError or such."""
    match facts:
        case {"array": kind}:
            [column] = _decode(kind, 1, buffers)
            if not isinstance(column, np.ndarray) or column.shape[:1] != (rows,):
                raise ValueError("a column has another number of rows than the chunk")
            return column
        case {"leaves": [*kinds]}:
            numbers = _numbers(buffers.popleft(), rows)
            if (numbers >= len(kinds)).any():
                raise ValueError("a leaf is of a kind that is not listed")
            counts = np.bincount(numbers, minlength=len(kinds)).tolist()
            pairs = zip(kinds, counts, strict=True)
            leaves = [iter(_decode(kind, count, buffers)) for kind, count in pairs]
            return [next(leaves[number]) for number in numbers.tolist()]
    raise ValueError(f"{facts!r:.60} is not a column")


def _kind(leaf: Any) -> Kind:
    if isinstance(leaf, bytes):
        return ("bytes",)
    if isinstance(leaf, str):
        return ("text",)
    if isinstance(leaf, Ragged):
        return ("ragged", leaf.row_splits.dtype.name, _kind(leaf.values))
    if isinstance(leaf, Sparse):
        return ("sparse", _kind(leaf.values))
    if isinstance(leaf, np.ndarray) and leaf.dtype == object:
        return ("texts" if is_text(leaf) else "strings", leaf.ndim)
    if isinstance(leaf, np.ndarray | np.generic) and is_numeric(leaf.dtype):
        name = dtype_name(leaf.dtype)
        return ("array", name, leaf.ndim) if isinstance(leaf, np.ndarray) else ("scalar", name)
    raise ElementError(
        f"a value of type {type(leaf).__name__} cannot be kept in a file; turn data sets into "
        "arrays first, with batch or flat_map"
    )


def _encode(kind: Kind, leaves: list[Any]) -> Iterator[Array]:
    match kind[0]:
        case "array":
            yield from _encode_arrays(leaves)
        case "scalar":
            yield _raw(np.array(leaves, leaves[0].dtype))
        case "bytes":
            yield from _encode_bytes(leaves)
        case "text":
            yield from _encode_texts(leaves)
        case "strings":
            yield _narrow([leaf.shape for leaf in leaves])
            yield from _encode_bytes([item for leaf in leaves for item in leaf.ravel().tolist()])
        case "texts":
            yield _narrow([leaf.shape for leaf in leaves])
            yield from _encode_texts([item for leaf in leaves for item in leaf.ravel().tolist()])
        case "ragged":
            yield from _encode_arrays([leaf.row_splits for leaf in leaves])
            yield from _encode(kind[-1], [leaf.values for leaf in leaves])
        case "sparse":
            yield from _encode_arrays([leaf.dense_shape for leaf in leaves])
            yield from _encode_arrays([leaf.indices for leaf in leaves])
            yield from _encode(kind[-1], [leaf.values for leaf in leaves])


def _decode(kind: Any, count: int, buffers: deque[Array]) -> list[Any]:
    match kind:
        case ["array", name, int(rank)]:
            return _decode_arrays(_dtype(name), rank, count, buffers)
        case ["scalar", name]:
            return list(buffers.popleft().view(_dtype(name)).reshape(count))
        case ["bytes"]:
            return _decode_bytes(count, buffers)
        case ["text"]:
            return [item.decode() for item in _decode_bytes(count, buffers)]
        case ["strings", int(rank)]:
            return _decode_strings(rank, count, buffers)
        case ["texts", int(rank)]:
            return _decode_strings(rank, count, buffers, is_text=True)
        case ["ragged", "int32" | "int64" as name, inner]:
            splits = _decode_arrays(_dtype(name), 1, count, buffers)
            return list(map(Ragged, _decode(inner, count, buffers), splits))
        case ["sparse", inner]:
            shapes = _decode_arrays(_INDEX, 1, count, buffers)
            indices = _decode_arrays(_INDEX, 2, count, buffers)
            return list(map(Sparse, indices, _decode(inner, count, buffers), shapes))
    raise ValueError(f"{kind!r:.60} is not a kind of leaf")


def _encode_arrays(arrays: list[Array]) -> Iterator[Array]:
    yield _narrow([array.shape for array in arrays])
    # A single one is large, as a rule, and need not be copied.
    one = arrays[0] if len(arrays) == 1 else np.concatenate([array.ravel() for array in arrays])
    yield _raw(one)


def _decode_arrays(
    dtype: np.dtype[Any], rank: int, count: int, buffers: deque[Array]
) -> list[Array]:
    shapes = _numbers(buffers.popleft(), count * rank).reshape(count, rank)
    values = buffers.popleft().view(dtype)
    return _cut(values, shapes)


def _decode_strings(
    rank: int, count: int, buffers: deque[Array], is_text: bool = False
) -> list[Array]:
    shapes = _numbers(buffers.popleft(), count * rank).reshape(count, rank)
    items = _decode_bytes(int(_sizes(shapes).sum()), buffers)
    if is_text:
        return _cut(read_only(text_array([item.decode() for item in items])), shapes)
    strings = np.empty(len(items), object)
    strings[:] = items
    return _cut(read_only(strings), shapes)


def _encode_texts(items: list[Any]) -> Iterator[Array]:
    if not set(map(type, items)) <= {str}:
        raise ElementError("an array of text may hold only str; promise it with output_signature=")
    yield from _encode_bytes(list(map(str.encode, items)))


def _encode_bytes(items: list[Any]) -> Iterator[Array]:
    if not set(map(type, items)) <= {bytes}:
        raise ElementError("an array of strings may hold only bytes; return it from map as it is")
    yield _narrow(list(map(len, items)))
    yield np.frombuffer(b"".join(items), _BYTE)


def _decode_bytes(count: int, buffers: deque[Array]) -> list[bytes]:
    lengths = _numbers(buffers.popleft(), count)
    data = buffers.popleft().tobytes()
    return [data[start:stop] for start, stop in _places(lengths, len(data))]


def _cut(values: Array, shapes: Array) -> list[Array]:
    """Arrays of these shapes, which lie one after another and must use up all values."""
    places = _places(_sizes(shapes), len(values))
    pairs = zip(places, shapes.tolist(), strict=True)
    return [values[start:stop].reshape(shape) for (start, stop), shape in pairs]


def _sizes(shapes: Array) -> Array:
    # As floats, which do not overflow; all that fit into a file are exact.
    return np.asarray(shapes.prod(axis=1, dtype=np.float64))


def _places(sizes: Array, total: int) -> Iterator[tuple[int, int]]:
    """Where each of several pieces begins and ends; together they must be ``total`` long."""
    if sizes.sum(dtype=np.float64) != total:
        raise ValueError("a column is not as long as its leaves")
    return pairwise([0, *np.cumsum(sizes).astype(np.int64).tolist()])


def _dtype(name: Any) -> np.dtype[Any]:
    dtype = as_dtype(name) if isinstance(name, str) else None
    if not isinstance(dtype, np.dtype) or dtype_name(dtype) != name:
        raise ValueError(f"{name!r:.40} is not the name of a dtype that can stand here")
    return dtype


def _raw(array: Array) -> Array:
    return np.ascontiguousarray(array).reshape(-1).view(_BYTE)


def _narrow(values: Any) -> Array:
    """Numbers from 0 up, in as few bytes each as hold them all."""
    array = np.asarray(values, np.int64)
    return _raw(array.astype(np.min_scalar_type(int(array.max())) if array.size else _BYTE))


def _numbers(raw: Array, count: int) -> Array:
    """The ``count`` numbers of which ``_narrow`` made ``raw``."""
    width = len(raw) // count if count > 0 else 1
    if len(raw) != count * width or width not in (1, 2, 4, 8):
        raise ValueError("a list of numbers has not the length that it should have")
    numbers = raw.view(f"u{width}").astype(np.int64)
    if (numbers < 0).any():
        raise ValueError("a number is too large")
    return numbers


def read_only(array: Array) -> Array:
    array.flags.writeable = False
    return array
