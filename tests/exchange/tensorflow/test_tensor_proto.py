"""Tensors as messages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from keepset.core.dtypes import as_dtype, storage_dtype
from keepset.exchange.tensorflow.datatypes import dtype_of_number, number_of_dtype
from keepset.exchange.tensorflow.tensor_proto import (
    dense_tensor,
    listed_tensor,
    parse_tensor,
    variant,
    variant_tensor,
)
from keepset.exchange.tensorflow.wire import bytes_field, number_field

PLAIN = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
PLAIN += ["float16", "float32", "float64", "complex64", "complex128"]
EXTENDED = ["bfloat16", "float8_e4m3fn", "float8_e5m2", "int4", "uint4"]


def arrays() -> st.SearchStrategy[Any]:
    shapes = npst.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
    return st.sampled_from(PLAIN).flatmap(lambda name: npst.arrays(np.dtype(name), shapes))


def assert_same(found: Any, wanted: Any) -> None:
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    assert found.tobytes() == wanted.tobytes()


@given(arrays())
def test_arrays_come_back_bit_for_bit(array: Any) -> None:
    assert_same(parse_tensor(dense_tensor(array)).array, array)
    assert_same(parse_tensor(listed_tensor(array)).array, array)


@pytest.mark.parametrize("name", EXTENDED)
def test_dtypes_of_few_bits_come_back(name: str) -> None:
    values = np.array([[0, 1, 2], [3, 1, 0]]).astype(storage_dtype(as_dtype(name)))
    assert_same(parse_tensor(dense_tensor(values)).array, values)
    assert_same(parse_tensor(listed_tensor(values)).array, values)


def test_negative_numbers_of_four_bits_are_stored_without_their_sign() -> None:
    values = np.array([-1, -8, 7]).astype(storage_dtype(as_dtype("int4")))
    assert dense_tensor(values).hex().endswith("2203" + "0f0807")
    assert parse_tensor(dense_tensor(values)).dense.astype(int).tolist() == [-1, -8, 7]


@given(st.lists(st.binary(max_size=300), max_size=20))
def test_strings_come_back(items: list[bytes]) -> None:
    array = np.empty(len(items), object)
    array[:] = items
    for made in (dense_tensor(array), listed_tensor(array)):
        assert parse_tensor(made).dense.tolist() == items


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (np.int32(0), "0803 1200 2204 00000000"),
        (np.array([1.5, -2], np.float32), "0801 1204 1202 0802 2208 0000c03f 000000c0"),
        (
            np.arange(6, dtype=np.uint8).reshape(2, 3),
            "0804 1208 1202 0802 1202 0803 2206 000102030405",
        ),
        (np.bool_(True), "080a 1200 2201 01"),
        (b"ab", "0807 1200 2203 02 6162"),
        (b"", "0807 1200 2201 00"),
        (np.zeros((0, 3), np.float32), "0801 1206 1200 1202 0803"),
        (
            np.array([b"ab", b"", "é".encode()], object),
            "0807 1204 1202 0803 2207 02 00 02 6162c3a9",
        ),
    ],
)
def test_messages_are_those_of_tensorflow(value: Any, stored: str) -> None:
    assert dense_tensor(value) == bytes.fromhex(stored)


def test_lists_that_are_too_short_repeat_their_last_value() -> None:
    head = number_field(1, 3) + bytes_field(2, bytes_field(2, number_field(1, 4)))
    assert parse_tensor(head).dense.tolist() == [0, 0, 0, 0]
    assert parse_tensor(head + bytes_field(7, bytes([5, 6]))).dense.tolist() == [5, 6, 6, 6]
    unpacked = head + b"".join(number_field(7, n) for n in range(6))
    assert parse_tensor(unpacked).dense.tolist() == [0, 1, 2, 3]


def test_variants_hold_tensors() -> None:
    inner = [listed_tensor(np.arange(3)), listed_tensor(np.array([1], np.float32))]
    found = parse_tensor(variant_tensor([variant("Some", inner), variant("Other", [])], (2,)))
    assert (found.array, found.shape) == (None, (2,))
    assert [each.type_name for each in found.variants] == ["Some", "Other"]
    assert found.variants[0].tensors[0].dense.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ("0803 1200 2203 000000", "take 4 bytes, not 3"),
        ("0803 1207 1205 08ffffff7f", "cannot come out"),
        ("0807 1208 1206 08ffffffff07 2201 00", "cannot stand in"),
        ("0807 1200 2203 05 6162", "do not fill"),
        ("0863 1200", "dtype number 99"),
        ("0803 1202 1801", "has no shape"),
        ("0803 120d 120b 08ffffffffffffffffff01", "cannot have the shape"),
        ("0815 1200", "variants were expected"),
    ],
)
def test_damage_says_why(data: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_tensor(bytes.fromhex(data))


@given(arrays().map(dense_tensor), st.data())
def test_a_changed_byte_is_an_error_or_a_tensor(message: bytes, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(message) - 1))
    changed = bytearray(message)
    changed[place] = data.draw(st.integers(0, 255))
    try:
        found = parse_tensor(bytes(changed))
    except ValueError:
        return
    assert found.array is None or found.array.nbytes < 1 << 28


def test_numbers_and_dtypes_stand_for_each_other() -> None:
    for name in (*PLAIN, *EXTENDED, "string"):
        assert dtype_of_number(number_of_dtype(as_dtype(name))) == as_dtype(name)
    assert dtype_of_number(11) == np.dtype(np.int8)
    assert number_of_dtype(np.dtype("datetime64[s]")) == number_of_dtype(np.dtype(np.int64))
    with pytest.raises(ValueError, match="TensorFlow has no dtype"):
        number_of_dtype(np.dtype(np.longdouble))
