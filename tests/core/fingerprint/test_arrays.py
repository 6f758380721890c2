"""Arrays count by dtype, shape and content, however they lie in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from keepset.core.fingerprint import Moment, fingerprint_of_value
from keepset.core.ragged import Ragged
from keepset.errors import FingerprintError

ARRAYS = hnp.arrays(
    st.sampled_from(["u1", "i4", "f8", "?", "c16", "S3", "U2", "M8[s]"]),
    hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
)


def digest(value: Any) -> str:
    return fingerprint_of_value(value).digest


@given(ARRAYS)
def test_the_layout_does_not_count(array: Any) -> None:
    wide = np.repeat(array[..., None], 2, axis=-1)[..., 0]
    assert (
        digest(array) == digest(array.copy()) == digest(np.array(array, order="F")) == digest(wide)
    )


@given(ARRAYS, ARRAYS)
def test_digests_are_equal_exactly_when_arrays_are(one: Any, other: Any) -> None:
    same = (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())
    assert (digest(one) == digest(other)) == same


def test_large_arrays_have_one_digest_for_every_layout() -> None:
    array = np.arange(3 * 700 * 900, dtype="i4").reshape(3, 700, 900)
    expected = digest(array)
    assert digest(np.asfortranarray(array)) == expected
    assert digest(np.repeat(array, 2, axis=1)[:, ::2]) == expected
    assert digest(array[::-1][::-1]) == expected
    one_row = np.arange(1 << 22, dtype="i4").reshape(1, -1)
    assert digest(np.repeat(one_row, 2, axis=1)[:, ::2]) == digest(one_row)
    array[2, 699, 899] += 1
    assert digest(array) != expected


def test_large_arrays_are_hashed_once_where_nothing_changes() -> None:
    array = np.arange(1 << 20)
    expected = digest(array)
    with Moment():
        assert digest(array) == digest([array][0]) == expected
        array[0] += 1  # which nobody does: it shows that the array was not looked at again
        assert digest(array) == expected
        assert digest(array.copy()) != expected
    assert digest(array) != expected


def fresh() -> list[Any]:
    bits = np.arange(4, dtype="u1")
    small = ("int4", "uint4", "float8_e4m3fn", "float8_e5m2")
    record = np.dtype([("a", "i4"), ("b", "f4", (2,))])
    return [
        np.zeros(3),
        np.zeros(3, "f4"),
        np.zeros((3, 1)),
        np.zeros((1, 3)),
        -np.zeros(3),
        np.zeros(0),
        np.zeros((0, 3)),
        np.zeros(3, "M8[s]"),
        np.zeros(3, "M8[ms]"),
        np.zeros(3, ">f8"),
        np.zeros(2, ml_dtypes.bfloat16),
        np.zeros(2, np.float16),
        *(bits.view(getattr(ml_dtypes, name)) for name in small),
        bits,
        np.array([b"a", b"ab"], object),
        np.array([b"a", "ab"], object),
        np.array([[1], [1, 2]], object),
        np.array([1, None], object),
        np.zeros(2, record),
        np.ones(2, record),
        np.zeros(2, [("a", "i4"), ("c", "f4", (2,))]),
        np.array(["", "a"], "U0"),
        np.ma.masked_array([1, 2], [True, False]),
        np.ma.masked_array([1, 2], [False, False]),
        np.matrix([[1, 2]]),
        *(np.float32(1), np.float64(1), np.int64(1), np.bool_(True), np.datetime64(1, "s"), 1, 1.0),
        *(ml_dtypes.bfloat16(1), np.str_("a"), np.bytes_(b"a"), "a", b"a"),
        *(np.dtype("f4"), np.dtype("f8"), np.dtype(ml_dtypes.bfloat16), record, np.float32),
        *(np.sin, np.cos, np.add),
        *(np.random.default_rng(1), np.random.default_rng(2), np.random.PCG64(1)),
        *(np.random.RandomState(1), np.random.RandomState(2), np.random.SeedSequence(1)),
        *(Ragged([1, 2], [0, 1, 2]), Ragged([1, 2], [0, 2, 2])),
    ]


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_no_two_of_these_are_the_same_and_each_is_stable() -> None:
    digests = [digest(value) for value in fresh()]
    assert digests == [digest(value) for value in fresh()]
    assert len(set(digests)) == len(digests)


def test_a_generator_that_was_used_is_another_one() -> None:
    generator = np.random.default_rng(1)
    before = digest(generator)
    generator.random()
    assert digest(generator) != before


def test_a_mapped_file_counts_as_the_array_in_it(tmp_path: Path) -> None:
    mapped = np.memmap(tmp_path / "data", "f4", "w+", shape=(3,))
    mapped[:] = 2
    assert digest(mapped) == digest(np.full(3, 2, "f4"))


def test_a_ufunc_that_hides_a_function_is_an_error() -> None:
    with pytest.raises(FingerprintError, match="hides the function"):
        fingerprint_of_value(np.frompyfunc(lambda x: x, 1, 1))


def test_texts_show_small_arrays_and_tell_large_ones_apart() -> None:
    assert fingerprint_of_value(np.array([1, 2])).text == "int64 array of shape (2,): [1, 2]"
    one, other = (fingerprint_of_value(np.full(99, n)).text for n in (1, 2))
    assert one.startswith("int64 array of shape (99,), content ")
    assert one != other
