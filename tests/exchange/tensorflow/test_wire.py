"""Fields out of bytes, and bytes out of fields."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepset.exchange.tensorflow.wire import (
    BYTES,
    VARINT,
    bytes_field,
    fields,
    number_field,
    packed_varints,
    signed,
    unzigzag,
    varint,
    varint_at,
    varints,
)

numbers = st.integers(-(1 << 63), (1 << 63) - 1)


@given(numbers)
def test_a_number_comes_back(value: int) -> None:
    data = varint(value)
    found, end = varint_at(data, 0)
    assert (signed(found), end) == (value, len(data))


@given(st.lists(numbers))
def test_many_numbers_are_those_of_one_by_one(values: list[int]) -> None:
    data = varints(np.array(values, np.int64))
    assert data == b"".join(map(varint, values))
    assert packed_varints(data).view(np.int64).tolist() == values


@given(st.lists(st.integers(0, (1 << 64) - 1), min_size=1))
def test_unsigned_numbers_too(values: list[int]) -> None:
    assert packed_varints(varints(np.array(values, np.uint64))).tolist() == values


@pytest.mark.parametrize(("written", "value"), [(0, 0), (1, -1), (2, 1), (3, -2), (4, 2)])
def test_signs_may_be_kept_in_the_lowest_bit(written: int, value: int) -> None:
    assert unzigzag(written) == value


@given(
    st.lists(
        st.tuples(st.integers(1, 2000), st.one_of(st.binary(max_size=50), st.integers(0, 1 << 60)))
    )
)
def test_fields_come_back_in_their_order(written: list[tuple[int, bytes | int]]) -> None:
    data = b"".join(
        bytes_field(n, value) if isinstance(value, bytes) else number_field(n, value)
        for n, value in written
    )
    expected = [(n, BYTES if isinstance(v, bytes) else VARINT, v) for n, v in written]
    assert list(fields(data)) == expected


def test_fixed_numbers_and_groups_are_passed_over() -> None:
    group = bytes([3 << 3 | 3]) + number_field(1, 7) + bytes_field(2, b"x") + bytes([3 << 3 | 4])
    fixed = bytes([4 << 3 | 5]) + b"abcd" + bytes([5 << 3 | 1]) + b"abcdefgh"
    found = list(fields(group + fixed + number_field(6, 1)))
    assert found == [(4, 5, b"abcd"), (5, 1, b"abcdefgh"), (6, VARINT, 1)]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ("08", "ends within a number"),
        ("0a05 6162", "ends within a field"),
        ("0d 0000", "ends within a field"),
        ("00", "number 0"),
        ("0f", "wire type 7"),
        ("08" + "ff" * 10 + "01", "more than 64 bits"),
        ("0b 14", "did not begin"),
        ("0b", "ends within a number"),
        ("0b" * 40, "too deep"),
    ],
)
def test_what_is_no_message_says_why(data: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        list(fields(bytes.fromhex(data)))


@pytest.mark.parametrize("data", ["80", "0180", "ff" * 10 + "01"])
def test_numbers_that_do_not_end_are_an_error(data: str) -> None:
    with pytest.raises(ValueError, match=r"ends within|more than 64"):
        packed_varints(bytes.fromhex(data))


@given(st.binary(max_size=60))
def test_any_bytes_are_fields_or_an_error(data: bytes) -> None:
    try:
        found = list(fields(data))
    except ValueError:
        return
    assert all(number > 0 for number, _, _ in found)
