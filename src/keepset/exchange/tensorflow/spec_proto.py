"""The ``element_spec`` of a saved data set: TensorFlow's StructuredValue, read and written."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterator
from operator import itemgetter
from typing import Any, Final

import numpy as np

from keepset.core.spec import (
    LeafSpec,
    RaggedTensorSpec,
    Shape,
    SparseTensorSpec,
    Spec,
    TensorSpec,
)
from keepset.core.structure import structure_of
from keepset.errors import ElementError
from keepset.exchange.tensorflow.datatypes import dtype_of_number, number_of_dtype
from keepset.exchange.tensorflow.wire import (
    BYTES,
    VARINT,
    bytes_field,
    fields,
    number_field,
    signed,
    unzigzag,
)

_NONE, _INT, _SHAPE, _DTYPE, _TENSOR, _TYPE, _BOUNDED = 1, 12, 31, 32, 33, 34, 35
_LIST, _TUPLE, _DICT, _NAMEDTUPLE = 51, 52, 53, 54
_SPARSE_CLASS, _RAGGED_CLASS, _REGISTERED_CLASS = 1, 3, 12
_CLASS_NAMES: Final = {2: "IndexedSlices", 4: "TensorArray", 5: "Dataset", 7: "Optional"}
_NONE_NAMES: Final = ("tf.NoneTensorSpec", "NoneTensorSpec")
_DEEPEST: Final = 64


def parse_spec(data: bytes) -> Spec:
    """Read a spec. Lists come out as tuples, named tuples as classes of their own.

    Raises:
        ValueError: It is damaged, or of a kind that elements here cannot have.

    Example:
        >>> parse_spec(bytes.fromhex("8a02 04 1200 1809"))
        TensorSpec(shape=(), dtype=int64)
    """
    found = _value(data, 0)
    for leaf in structure_of(found).leaves(found):
        if not isinstance(leaf, LeafSpec):
            raise ValueError(f"the spec has {leaf!r:.60} in place of a type")
    return found


def _value(data: bytes, depth: int) -> Any:
    if depth > _DEEPEST:
        raise ValueError("the spec is nested too deep")
    found: Any = None
    for number, kind, value in fields(data):
        if number == _NONE:
            found = None
        elif number == _INT and kind == VARINT:
            found = unzigzag(value)
        elif number == _DTYPE and kind == VARINT:
            found = dtype_of_number(value)
        elif kind != BYTES:
            continue
        elif number == _SHAPE:
            found = _Shape(_shape(value))
        elif number in (_TENSOR, _BOUNDED):
            found = _tensor(value)
        elif number == _TYPE:
            found = _type(value, depth)
        elif number in (_LIST, _TUPLE):
            found = tuple(_value(v, depth + 1) for v in _messages(value))
        elif number == _DICT:
            pairs = [_pair(v, depth) for v in _messages(value)]
            found = dict(sorted(pairs, key=itemgetter(0)))  # a map has no order of its own
        elif number == _NAMEDTUPLE:
            found = _named(value, depth)
    return found


def _messages(data: bytes) -> Iterator[bytes]:
    """What is in the first field, each time that it comes."""
    return (value for number, kind, value in fields(data) if (number, kind) == (1, BYTES))


class _Shape:
    """A shape as part of a type's state, which is not itself a structure."""

    def __init__(self, sizes: Shape) -> None:
        self.sizes = sizes


def _shape(data: bytes) -> Shape:
    sizes: list[int | None] = []
    for number, kind, value in fields(data):
        if number == 3 and kind == VARINT and value:
            return None
        if number == 2 and kind == BYTES:
            size = next((signed(v) for n, k, v in fields(value) if (n, k) == (1, VARINT)), 0)
            sizes.append(None if size < 0 else size)
    return tuple(sizes)


def _tensor(data: bytes) -> TensorSpec:
    name, dtype = None, 0
    shape: Shape = ()
    for number, kind, value in fields(data):
        if number == 1 and kind == BYTES:
            name = value.decode()
        elif number == 2 and kind == BYTES:
            shape = _shape(value)
        elif number == 3 and kind == VARINT:
            dtype = value
    return TensorSpec(shape, dtype_of_number(dtype), name)


def _type(data: bytes, depth: int) -> Any:
    number_of_class, state, name = 0, (), ""
    for number, kind, value in fields(data):
        if number == 1 and kind == VARINT:
            number_of_class = value
        elif number == 2 and kind == BYTES:
            state = _value(value, depth + 1)
        elif number == 3 and kind == BYTES:
            name = value.decode("utf-8", "replace")
    match number_of_class, state:
        case _ if number_of_class == _REGISTERED_CLASS and name in _NONE_NAMES:
            return None
        case 1, (_Shape(sizes=sizes), dtype):
            return SparseTensorSpec(sizes, dtype)
        case 3, (_Shape(sizes=sizes), dtype, int(rank), splits):
            # Without a ragged dimension it is an array like others, of a length that varies.
            if rank == 0:
                return TensorSpec(sizes, dtype)
            return RaggedTensorSpec(sizes, dtype, rank, splits)
    kind_name = name or _CLASS_NAMES.get(number_of_class, f"class {number_of_class}")
    raise ValueError(
        f"elements of TensorFlow's type {kind_name} cannot be read; map them to tensors before "
        "they are saved"
    )


def _pair(data: bytes, depth: int) -> tuple[str, Any]:
    key, item = "", b""
    for number, kind, value in fields(data):
        if number == 1 and kind == BYTES:
            key = value.decode()
        elif number == 2 and kind == BYTES:
            item = value
    return key, _value(item, depth + 1)


def _named(data: bytes, depth: int) -> Any:
    name, pairs = "", []
    for number, kind, value in fields(data):
        if number == 1 and kind == BYTES:
            name = value.decode()
        elif number == 2 and kind == BYTES:
            pairs.append(_pair(value, depth))
    record = namedtuple(name, [key for key, _ in pairs])  # type: ignore[misc]
    return record(*(item for _, item in pairs))


def spec_message(spec: Spec) -> bytes:
    """The bytes of a spec, as ``dataset_spec.pb`` has them.

    Raises:
        ElementError: TensorFlow cannot save such elements.

    Example:
        >>> spec_message(TensorSpec([2], "float32")).hex(" ", 2)
        '8a 0208 1204 1202 0802 1801'
    """
    if spec is None:
        body = number_field(1, _REGISTERED_CLASS) + bytes_field(2, bytes_field(_TUPLE, b""))
        return bytes_field(_TYPE, body + bytes_field(3, b"tf.NoneTensorSpec"))
    if isinstance(spec, LeafSpec):
        return _leaf_message(spec)
    structure = structure_of(spec)
    if structure.kind == "tuple":
        items = b"".join(bytes_field(1, spec_message(item)) for item in spec)
        return bytes_field(_TUPLE, items)
    if structure.kind == "dict":
        return bytes_field(_DICT, b"".join(_pair_message(1, k, spec[k]) for k in structure.keys))
    assert isinstance(structure.record, type)
    pairs = [_pair_message(2, key, getattr(spec, key)) for key in structure.keys]
    name = bytes_field(1, structure.record.__name__.encode())
    return bytes_field(_NAMEDTUPLE, name + b"".join(pairs))


def _pair_message(number: int, key: Any, item: Spec) -> bytes:
    if not isinstance(key, str):
        raise ElementError(
            f"the key {key!r} is no text, and TensorFlow can only save dicts with texts as keys; "
            "map the elements to such dicts"
        )
    return bytes_field(number, bytes_field(1, key.encode()) + bytes_field(2, spec_message(item)))


def _leaf_message(spec: LeafSpec) -> bytes:
    try:
        dtype = number_of_dtype(spec.dtype)
    except ValueError as error:
        raise ElementError(f"{spec} cannot be saved for TensorFlow: {error}; map it") from error
    shape = _shape_message(spec.open_shape if isinstance(spec, RaggedTensorSpec) else spec.shape)
    if isinstance(spec, TensorSpec):
        name = b"" if spec.name is None else bytes_field(1, spec.name.encode())
        return bytes_field(_TENSOR, name + bytes_field(2, shape) + number_field(3, dtype))
    state = bytes_field(1, bytes_field(_SHAPE, shape))
    state += bytes_field(1, number_field(_DTYPE, dtype))
    if isinstance(spec, SparseTensorSpec):
        return _type_message(_SPARSE_CLASS, state, "SparseTensorSpec", 3)
    if isinstance(spec, RaggedTensorSpec):
        splits = number_of_dtype(np.dtype(spec.row_splits_dtype))
        state += bytes_field(1, number_field(_INT, 2 * spec.ragged_rank))
        state += bytes_field(1, number_field(_DTYPE, splits))
        return _type_message(_RAGGED_CLASS, state, "RaggedTensorSpec", spec.ragged_rank + 1)
    raise ElementError(f"{spec} cannot be saved for TensorFlow; map it to arrays")


def _type_message(number: int, state: bytes, name: str, components: int) -> bytes:
    body = number_field(1, number) + bytes_field(2, bytes_field(_TUPLE, state))
    return bytes_field(_TYPE, body + bytes_field(3, name.encode()) + number_field(4, components))


def _shape_message(shape: Shape) -> bytes:
    if shape is None:
        return number_field(3, 1)
    return b"".join(
        bytes_field(2, number_field(1, -1 if size is None else size) if size != 0 else b"")
        for size in shape
    )
