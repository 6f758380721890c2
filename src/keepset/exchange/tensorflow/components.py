"""Components: the tensors that an element is stored as, and the way between them and columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from keepset.core.column import Column, column_of, column_rows
from keepset.core.dtypes import Array, StringType
from keepset.core.ragged import Ragged
from keepset.core.sparse import Sparse
from keepset.core.spec import LeafSpec, RaggedTensorSpec, SparseTensorSpec, TensorSpec
from keepset.errors import ElementError
from keepset.exchange.tensorflow.datatypes import VARIANT, dtype_of_number, number_of_dtype
from keepset.exchange.tensorflow.record_scan import FRAME_BYTES
from keepset.exchange.tensorflow.records import Records
from keepset.exchange.tensorflow.tensor_proto import (
    Tensor,
    Variant,
    dense_tensor,
    listed_tensor,
    parse_tensor,
    tensor_head,
    variant,
    variant_tensor,
)
from keepset.exchange.tensorflow.wire import varint

_RAGGED, _TENSOR = "RaggedTensorVariant", "tensorflow::Tensor"
_CONTENT_KEY = b"\x22"


def stored_dtype(spec: LeafSpec) -> int:
    """The number of the dtype that a leaf is stored with."""
    if isinstance(spec, TensorSpec):
        return number_of_dtype(spec.dtype)
    return VARIANT


def leaf_of(data: bytes, spec: LeafSpec | None) -> Any:
    """The leaf that a tensor stands for; without a spec, what it looks like.

    Raises:
        ValueError: The tensor is damaged, or not of the spec.
    """
    tensor = parse_tensor(data)
    array = tensor.array
    leaf = _from_variants(tensor, spec) if array is None else _scalar_or_array(array)
    if spec is not None and not _fits(spec, leaf):
        raise ValueError(f"{spec} was expected, and there is a tensor of another type")
    return leaf


def _fits(spec: LeafSpec, leaf: Any) -> bool:
    """Whether a leaf is of a spec, without making one of it if that can be told so."""
    if not isinstance(spec, TensorSpec) or isinstance(spec.dtype, StringType):
        return spec.is_compatible_with(leaf)
    shape, found = spec.shape, getattr(leaf, "shape", None)
    return (
        found is not None
        and leaf.dtype == spec.dtype
        and (shape is None or (len(shape) == len(found) and all(map(_is_size, shape, found))))
    )


def _is_size(wanted: int | None, found: int) -> bool:
    return wanted is None or wanted == found


def _scalar_or_array(array: Array) -> Any:
    return array if array.ndim else array[()]


def _from_variants(tensor: Tensor, spec: LeafSpec | None) -> Any:
    names = {each.type_name for each in tensor.variants}
    if isinstance(spec, SparseTensorSpec) or (spec is None and names == {_TENSOR}):
        return _sparse(tensor)
    if isinstance(spec, TensorSpec) and names == {_RAGGED} and not tensor.shape:
        # Ragged by its type, without a ragged dimension.
        return _scalar_or_array(_parts(tensor.variants[0])[-1])
    if names <= {_RAGGED} and (isinstance(spec, RaggedTensorSpec) or spec is None):
        return _ragged(tensor, spec)
    raise ValueError(f"a value of TensorFlow's type {', '.join(sorted(names))!r} cannot be read")


def _parts(one: Variant) -> list[Array]:
    return [tensor.dense for tensor in one.tensors]


def _ragged(tensor: Tensor, spec: RaggedTensorSpec | None) -> Any:
    if not tensor.shape:
        return _nested(_parts(tensor.variants[0]))
    if len(tensor.shape) != 1:
        raise ValueError(f"ragged rows of shape {tensor.shape} cannot be read")
    rows = [_nested(_parts(one)) for one in tensor.variants]
    splits = np.dtype(np.int64) if spec is None else spec.row_splits_dtype
    if rows:
        return Ragged.from_rows(rows, splits)
    if spec is None:
        raise ValueError("a ragged tensor without rows has no type of its own")
    return _empty_ragged(spec)


def _nested(parts: list[Array]) -> Any:
    """Values with rows around them, the outermost first; plain values if there are no rows."""
    if not parts:
        raise ValueError("a ragged tensor has no values")
    *splits, values = parts
    try:
        for each in reversed(splits):
            values = Ragged(values, each)  # type: ignore[assignment]
    except ElementError as error:
        raise ValueError(str(error)) from error
    return values


def _empty_ragged(spec: RaggedTensorSpec) -> Ragged:
    inner = () if spec.shape is None else spec.shape[spec.ragged_rank + 1 :]
    dtype = object if isinstance(spec.dtype, StringType) else spec.dtype
    values: Any = np.zeros((0, *(size or 0 for size in inner)), dtype)
    for _ in range(spec.ragged_rank):
        values = Ragged(values, np.zeros(1, spec.row_splits_dtype))
    return values  # type: ignore[no-any-return]


def _sparse(tensor: Tensor) -> Sparse:
    if not tensor.shape or tensor.shape[-1] != 3 or len(tensor.shape) > 2:
        raise ValueError(f"a sparse tensor cannot be stored in the shape {tensor.shape}")
    triples = [tensor.variants[i : i + 3] for i in range(0, len(tensor.variants), 3)]
    rows = [_one_sparse(triple) for triple in triples]
    if len(tensor.shape) == 1:
        return rows[0]
    if not rows:
        raise ValueError("a sparse tensor without rows has no shape")
    return Sparse.stack(rows)


def _one_sparse(triple: Sequence[Variant]) -> Sparse:
    try:
        indices, values, shape = (_parts(one)[0] for one in triple)
        return Sparse(indices, values, shape)
    except (ElementError, IndexError, ValueError) as error:
        raise ValueError(f"a sparse tensor does not fit together ({error})") from error


def column_of_records(records: Records, spec: LeafSpec | None) -> Column:
    """The leaves of many elements, each in a record of its own.

    Records that begin with the same bytes, but for their values, are read all at once.
    """
    if len(records) > 1 and (spec is None or isinstance(spec, TensorSpec)):
        column = _alike(records, spec)
        if column is not None:
            return column
    return column_of([leaf_of(bytes(piece), spec) for piece in records.pieces])


def _alike(records: Records, spec: LeafSpec | None) -> Array | None:
    """Numbers of one shape, as one array; None if they are not that."""
    size = int(records.lengths[0])
    if not (records.lengths == size).all():
        return None
    first = parse_tensor(bytes(records.pieces[0]))
    array = first.array
    if array is None or array.dtype == object or not array.nbytes or array.dtype.itemsize == 0:
        return None
    if array.dtype.name.startswith(("int4", "uint4", "int2", "uint2", "float4")):
        return None
    head = tensor_head(number_of_dtype(array.dtype), array.shape)
    head += _CONTENT_KEY + varint(array.nbytes)
    if len(head) + array.nbytes != size or bytes(records.pieces[0][: len(head)]) != head:
        return None
    if spec is not None and not spec.is_compatible_with(_scalar_or_array(array)):
        raise ValueError(f"{spec} was expected, and there is a tensor of another type")
    rows = _matrix(records, size)
    if not (rows[:, : len(head)] == np.frombuffer(head, np.uint8)).all():
        return None
    values = rows[:, len(head) :]
    if array.dtype.itemsize > 1:
        # Wider numbers do not lie where processors want them.
        values = np.ascontiguousarray(values)
    return values.view(array.dtype).reshape(len(records), *array.shape)


def _matrix(records: Records, size: int) -> Array:
    """The bytes of records of one size, a row each; a view if they lie at equal distances."""
    starts = records.starts
    steps = np.diff(starts)
    if len(steps) and steps[0] >= size + FRAME_BYTES and (steps == steps[0]).all():
        shape, strides = (len(starts), size), (int(steps[0]), 1)
        return np.ndarray(shape, np.uint8, records.data, int(starts[0]), strides)
    return np.frombuffer(b"".join(records.pieces), np.uint8).reshape(len(starts), size)


def messages_of(column: Column, spec: LeafSpec) -> list[bytes]:
    """The tensor of each leaf, as TensorFlow stores it."""
    if isinstance(spec, SparseTensorSpec):
        return [_sparse_message(leaf) for leaf in column_rows(column)]
    if isinstance(spec, RaggedTensorSpec):
        return [_ragged_message(leaf) for leaf in column_rows(column)]
    if isinstance(column, np.ndarray) and _is_plain(column):
        return _plain_messages(column)
    return [dense_tensor(leaf) for leaf in column_rows(column)]


def _is_plain(column: Array) -> bool:
    """Whether the bytes of an array are what is stored."""
    name = column.dtype.name
    is_narrow = name.startswith(("int4", "uint4", "int2", "uint2", "float4"))
    return column.dtype != object and not is_narrow and column.nbytes > 0


def _plain_messages(column: Array) -> list[bytes]:
    """Of one shape: only the bytes of the values differ."""
    head = tensor_head(number_of_dtype(column.dtype), column.shape[1:])
    rows = np.ascontiguousarray(column).reshape(len(column), -1).view(np.uint8)
    size = rows.shape[1]
    head += _CONTENT_KEY + varint(size)
    table = np.empty((len(column), len(head) + size), np.uint8)
    table[:, : len(head)] = np.frombuffer(head, np.uint8)
    table[:, len(head) :] = rows
    data, width = table.tobytes(), table.shape[1]
    return [data[start : start + width] for start in range(0, len(data), width)]


def _sparse_message(leaf: Sparse) -> bytes:
    parts = (leaf.indices, leaf.values, leaf.dense_shape)
    return variant_tensor([variant(_TENSOR, [listed_tensor(part)]) for part in parts], (3,))


def _ragged_message(leaf: Ragged) -> bytes:
    parts: list[Array] = []
    values: Any = leaf
    while isinstance(values, Ragged):
        parts.append(values.row_splits)
        values = values.values
    parts.append(values)
    return variant_tensor([variant(_RAGGED, [listed_tensor(part) for part in parts])], ())


def spec_of_dtypes(numbers: Sequence[int]) -> list[LeafSpec | None]:
    """What is known of leaves by the dtypes that they are stored with; None of variants."""
    return [
        None if number == VARIANT else TensorSpec(None, dtype_of_number(number))
        for number in numbers
    ]
