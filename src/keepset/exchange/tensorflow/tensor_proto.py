"""TensorProto: one tensor as a message, dense or of variants."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from keepset.core.dtypes import Array, StringType
from keepset.exchange.tensorflow.datatypes import (
    STRING,
    VARIANT,
    dtype_of_number,
    number_of_dtype,
)
from keepset.exchange.tensorflow.wire import (
    BYTES,
    VARINT,
    bytes_field,
    fields,
    number_field,
    packed_varints,
    signed,
    varint,
    varint_at,
    varints,
)

_DTYPE, _SHAPE, _CONTENT = 1, 2, 4
_HALF, _STRINGS, _VARIANTS = 13, 8, 15
# The typed list of each dtype, and what its items are: fixed numbers of some width, or varints.
_FIXED_LISTS: Final = {5: "<f4", 6: "<f8", 9: "<c8", 12: "<c16"}
_INT_LIST, _FLOAT8_LIST = 7, 18
_VARINT_LISTS: Final = frozenset({_INT_LIST, 10, 11, _HALF, 16, 17})
_LISTS: Final = {
    "float32": 5,
    "float64": 6,
    "complex64": 9,
    "int64": 10,
    "bool": 11,
    "complex128": 12,
    "float16": _HALF,
    "bfloat16": _HALF,
    "uint32": 16,
    "uint64": 17,
}
# Of a message that says its values once for all of the tensor; larger ones hold their values.
_MOST_REPEATED_BYTES: Final = 64 << 20
_MOST_DIMENSIONS: Final = 254


class Variant(NamedTuple):
    """A value of a type that TensorFlow only knows by name."""

    type_name: str
    metadata: bytes
    tensors: list[Tensor]


class Tensor(NamedTuple):
    """What a message holds: an array of numbers or strings, or variants in a shape."""

    array: Array | None
    variants: list[Variant]
    shape: tuple[int, ...]

    @property
    def dense(self) -> Array:
        """The array; a ValueError if there are variants in its place."""
        if self.array is None:
            raise ValueError("numbers or strings are needed, and these are variants")
        return self.array


def parse_tensor(data: bytes) -> Tensor:
    """Read a message.

    Raises:
        ValueError: It is damaged, or asks for more memory than its bytes can fill.

    Example:
        >>> parse_tensor(bytes.fromhex("0803 1204 1202 0802 2208 01000000 02000000")).array
        array([1, 2], dtype=int32)
    """
    usual = _usual(data)
    if usual is not None:
        return usual
    number, content = 0, None
    shape: tuple[int, ...] = ()
    lists: dict[int, list[Any]] = {}
    for field, kind, value in fields(data):
        if field == _DTYPE and kind == VARINT:
            number = value
        elif field == _SHAPE and kind == BYTES:
            shape = parse_shape(value)
        elif field == _CONTENT and kind == BYTES:
            content = value
        else:
            lists.setdefault(field, []).append((kind, value))
    count = math.prod(shape)
    if number == VARIANT:
        return Tensor(None, _variants(content, lists.get(_VARIANTS, []), count), shape)
    dtype = dtype_of_number(number)
    if isinstance(dtype, StringType):
        return Tensor(_strings(content, lists.get(_STRINGS, []), count).reshape(shape), [], shape)
    if content is not None:
        return Tensor(_numbers(content, dtype, count).reshape(shape), [], shape)
    if count * dtype.itemsize > max(_MOST_REPEATED_BYTES, 16 * len(data)):
        raise ValueError(f"a tensor of {count} values cannot come out of {len(data)} bytes")
    return Tensor(_from_list(lists, dtype, count).reshape(shape), [], shape)


def _usual(data: bytes) -> Tensor | None:
    """As ``parse_tensor``, several times as fast, for messages as TensorFlow writes them.

    That is a dtype, a shape and the content, of numbers or of one string; None for all others.
    """
    try:
        number, shape_end = data[1], data[3] + 4
        if data[0] != 0x08 or data[2] != 0x12 or number >= 0x80 or shape_end >= 0x84:
            return None
        at, shape = 4, []
        while at < shape_end:
            size = data[at + 1]
            if data[at] != 0x12 or (size and data[at + 2] != 0x08):
                return None
            length, end = varint_at(data, at + 3) if size else (0, at + 2)
            if end != at + 2 + size or length >= 1 << 32:
                return None
            shape.append(length)
            at = end
        if at != shape_end or data[at] != 0x22:
            return None
        size, at = varint_at(data, at + 1)
        if at + size != len(data) or number == VARIANT:
            return None
        dtype = dtype_of_number(number)
        if isinstance(dtype, StringType):
            if shape:
                return None
            size, at = varint_at(data, at)
            one = np.empty((), object)
            one[()] = data[at:]
            return Tensor(one, [], ()) if at + size == len(data) else None
        if _is_narrow(dtype) or math.prod(shape) * dtype.itemsize != size:
            return None
    except (IndexError, ValueError):
        return None
    # A slice begins where processors want numbers to lie.
    return Tensor(np.frombuffer(data[at:], dtype).reshape(shape), [], tuple(shape))


def parse_shape(data: bytes) -> tuple[int, ...]:
    """The sizes of a TensorShapeProto that knows all of them."""
    sizes = []
    for field, kind, value in fields(data):
        if field == 2 and kind == BYTES:
            found = (signed(v) for f, k, v in fields(value) if (f, k) == (1, VARINT))
            sizes.append(next(found, 0))
        elif field == 3 and kind == VARINT and value:
            raise ValueError("a tensor has no shape")
    if len(sizes) > _MOST_DIMENSIONS or any(size < 0 for size in sizes):
        raise ValueError(f"a tensor cannot have the shape {sizes[:8]}")
    return tuple(sizes)


def _numbers(content: bytes, dtype: np.dtype[Any], count: int) -> Array:
    # Numbers of less than a byte take one each, of which only the low bits count.
    if len(content) != count * dtype.itemsize:
        raise ValueError(
            f"{count} values of {dtype.name} take {count * dtype.itemsize} bytes, not "
            f"{len(content)}"
        )
    if _is_narrow(dtype):
        return _narrow(np.frombuffer(content, np.uint8), dtype)
    return np.frombuffer(content, dtype)


def _is_narrow(dtype: np.dtype[Any]) -> bool:
    return dtype.name in ("int4", "uint4", "int2", "uint2", "float4_e2m1fn")


def _narrow(octets: Array, dtype: np.dtype[Any]) -> Array:
    """Numbers of less than a byte, whose upper bits are zero in the file."""
    if dtype.name == "float4_e2m1fn":
        return (octets & 0x0F).view(dtype)
    bits = 4 if dtype.name.endswith("4") else 2
    values = octets & ((1 << bits) - 1)
    if dtype.name.startswith("u"):
        return values.astype(dtype)
    low = values.astype(np.int8)
    return np.where(low >= 1 << (bits - 1), low - (1 << bits), low).astype(np.int8).astype(dtype)


def _widened(array: Array) -> Array:
    """The bytes of numbers as the file has them: those of less than a byte without sign bits."""
    if not _is_narrow(array.dtype):
        return array
    octets: Array = array.view(np.uint8) if array.ndim else array.reshape(1).view(np.uint8)
    return octets & (0x03 if array.dtype.name.endswith("2") else 0x0F)


def _strings(content: bytes | None, listed: Sequence[tuple[int, Any]], count: int) -> Array:
    if content is not None:
        found = _items(content, count)
    else:
        found = [value for kind, value in listed if kind == BYTES][:count]
        if count > _MOST_REPEATED_BYTES // 8 and len(found) < count:
            raise ValueError(f"{count} strings cannot come out of {len(found)}")
        found += [found[-1] if found else b""] * (count - len(found))
    array = np.empty(count, object)
    array[:] = found
    return array


def _items(content: bytes, count: int) -> list[bytes]:
    """Pieces whose lengths come first, all of them."""
    if count > len(content):
        raise ValueError(f"{count} lengths cannot stand in {len(content)} bytes")
    if count == 1:
        size, at = varint_at(content, 0)
        sizes = [size]
    else:
        sizes, at = [], 0
        for _ in range(count):
            size, at = varint_at(content, at)
            sizes.append(size)
    if at + sum(sizes) != len(content):
        raise ValueError(f"{count} pieces of {sum(sizes)} bytes do not fill {len(content) - at}")
    items = []
    for size in sizes:
        items.append(content[at : at + size])
        at += size
    return items


def _from_list(lists: dict[int, list[tuple[int, Any]]], dtype: np.dtype[Any], count: int) -> Array:
    """Values from the list of a dtype: too few repeat the last, none are zeros."""
    field = _list_field(dtype)
    pieces = lists.get(field, [])
    if field in _VARINT_LISTS:
        joined = b"".join(varint(v) if kind == VARINT else v for kind, v in pieces)
        found = _from_varints(packed_varints(joined), field, dtype)
    else:
        joined = b"".join(value for kind, value in pieces if kind != VARINT)
        item = np.dtype(_FIXED_LISTS.get(field, "u1"))
        if len(joined) % item.itemsize:
            raise ValueError("a list of numbers ends within one of them")
        found = np.frombuffer(joined, item)
        found = found.view(dtype) if field == _FLOAT8_LIST else found.astype(dtype)
    if len(found) >= count:
        return found[:count]
    last = found[-1:] if len(found) else np.zeros(1, dtype)
    return np.concatenate([found, np.repeat(last, count - len(found))])


def _list_field(dtype: np.dtype[Any]) -> int:
    """The number of the field that lists values of a dtype."""
    if dtype.name.startswith(("float8", "float4")):
        return _FLOAT8_LIST
    return _LISTS.get(dtype.name, _INT_LIST)


def _from_varints(values: Array, field: int, dtype: np.dtype[Any]) -> Array:
    if field == _HALF:
        return values.astype(np.uint16).view(dtype)
    if _is_narrow(dtype):
        return _narrow((values & np.uint64(0xFF)).astype(np.uint8), dtype)
    if dtype.kind == "u":
        return values.astype(dtype)
    return values.view(np.int64).astype(dtype)


def _variants(
    content: bytes | None, listed: Sequence[tuple[int, Any]], count: int
) -> list[Variant]:
    if content is not None:
        return [_variant(item) for item in _items(content, count)]
    found = [_variant(value) for kind, value in listed if kind == BYTES]
    if len(found) != count:
        raise ValueError(f"{count} variants were expected, and there are {len(found)}")
    return found


def _variant(data: bytes) -> Variant:
    name, metadata, tensors = "", b"", []
    for field, kind, value in fields(data):
        if kind != BYTES:
            continue
        if field == 1:
            name = value.decode("utf-8", "replace")
        elif field == 2:
            metadata = value
        elif field == 3:
            tensors.append(parse_tensor(value))
    return Variant(name, metadata, tensors)


def tensor_head(dtype_number: int, shape: Sequence[int]) -> bytes:
    """What comes before the content: the dtype and the shape."""
    sizes = b"".join(bytes_field(2, number_field(1, n) if n else b"") for n in shape)
    return number_field(_DTYPE, dtype_number) + bytes_field(_SHAPE, sizes)


def dense_tensor(value: Any) -> bytes:
    """The message of an array, a scalar or a string, with its content in one piece.

    Example:
        >>> dense_tensor(np.float32([1.5, -2])).hex(" ", 2)
        '0801 1204 1202 0802 2208 0000 c03f 0000 00c0'
    """
    if isinstance(value, bytes):
        return tensor_head(STRING, ()) + bytes_field(_CONTENT, varint(len(value)) + value)
    array = np.asarray(value)
    if array.dtype == object:
        items: list[bytes] = array.ravel().tolist()
        return tensor_head(STRING, array.shape) + _content(_joined(items))
    head = tensor_head(number_of_dtype(array.dtype), array.shape)
    return head + _content(np.ascontiguousarray(_widened(array)).tobytes())


def _content(data: bytes) -> bytes:
    return bytes_field(_CONTENT, data) if data else b""


def _joined(items: Sequence[bytes]) -> bytes:
    """Pieces with their lengths before them, all of these first."""
    return b"".join([*(varint(len(item)) for item in items), *items])


def variant_tensor(variants: Sequence[bytes], shape: Sequence[int]) -> bytes:
    """The message of variants, which are messages themselves."""
    return tensor_head(VARIANT, shape) + _content(_joined(variants))


def variant(type_name: str, tensors: Sequence[bytes]) -> bytes:
    """A variant that holds tensors."""
    return bytes_field(1, type_name.encode()) + b"".join(bytes_field(3, t) for t in tensors)


def listed_tensor(value: Any) -> bytes:
    """The message of an array with its values in a typed list, as tensors inside variants are."""
    array = np.asarray(value)
    if array.dtype == object:
        head = tensor_head(STRING, array.shape)
        return head + b"".join(bytes_field(_STRINGS, item) for item in array.ravel().tolist())
    head = tensor_head(number_of_dtype(array.dtype), array.shape)
    if not array.size:
        return head
    flat = np.ascontiguousarray(array).ravel()
    field, data = _list_of(flat.view(np.int64) if flat.dtype.kind in "mM" else flat)
    return head + bytes_field(field, data)


def _list_of(flat: Array) -> tuple[int, bytes]:
    field = _list_field(flat.dtype)
    if field not in _VARINT_LISTS:
        return field, flat.tobytes()
    if field == _HALF:
        return field, varints(flat.view(np.uint16))
    if flat.dtype == bool:
        return field, varints(flat.view(np.uint8))
    return field, varints(flat if flat.dtype.kind == "u" else flat.astype(np.int64))
