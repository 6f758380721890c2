"""Arrays count by dtype, shape and content, however they lie in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from keepset.core.fingerprint import Moment, arrays, fingerprint_of_value
from keepset.core.ragged import Ragged
from keepset.errors import FingerprintError

ARRAYS = hnp.arrays(
    st.sampled_from(["u1", "i4", "f8", "?", "c16", "S3", "U2", "M8[s]"]),
    hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
)


def digest(value: Any) -> str:
    return fingerprint_of_value(value).digest


@given(ARRAYS)
def test_the_distance_of_elements_does_not_count(array: Any) -> None:
    wide = np.repeat(array[..., None], 2, axis=-1)[..., 0]
    assert digest(array) == digest(array.copy()) == digest(wide)


def test_whether_rows_or_columns_lie_together_counts() -> None:
    array = np.arange(6.0).reshape(2, 3)
    assert digest(array) != digest(np.asfortranarray(array))
    assert digest(array[:1]) == digest(np.asfortranarray(array[:1]))  # which is both


@given(ARRAYS, ARRAYS)
def test_digests_are_equal_exactly_when_arrays_are(one: Any, other: Any) -> None:
    same = (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())
    assert (digest(one) == digest(other)) == same


def test_large_arrays_have_one_digest_for_every_distance_of_their_rows() -> None:
    array = np.arange(3 * 700 * 900, dtype="i4").reshape(3, 700, 900)
    expected = digest(array)
    assert digest(array.transpose(2, 1, 0).copy().transpose(2, 1, 0)) == digest(array.copy("F"))
    assert digest(array.transpose(1, 0, 2).copy().transpose(1, 0, 2)) == expected
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


def test_data_under_a_mask_counts() -> None:
    one, other = (np.ma.masked_array(data, [True, False]) for data in ([1, 2], [3, 2]))
    assert digest(one) != digest(other)
    other.data[0] = 1
    assert digest(one) == digest(other)
    other.fill_value = 7
    assert digest(one) != digest(other)


def test_a_generator_that_has_children_is_another_one() -> None:
    generator = np.random.default_rng(1)
    before = digest(generator)
    generator.spawn(1)
    assert digest(generator) != before


def test_many_strings_are_hashed_at_once_whatever_they_are() -> None:
    for items in (["a", "bc"] * 1000, ["a", None, 1.5, b"x"] * 500):
        array = np.array(items, object)
        assert fingerprint_of_value(array).children == ()
        changed = array.copy()
        changed[-1] = "other"
        assert digest(array) == digest(array.copy()) != digest(changed)


def frozen(array: Any) -> Any:
    array.flags.writeable = False
    return array


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the arrays that are hashed from now on."""
    found: list[int] = []
    hashed = arrays._large_content

    def counting(value: Any) -> bytes:
        found.append(value.nbytes)
        return hashed(value)

    monkeypatch.setattr(arrays, "_large_content", counting)
    return found


def test_large_arrays_that_nothing_can_write_to_are_hashed_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found = counted(monkeypatch)
    owner = frozen(np.arange(1 << 18))
    text = np.frombuffer(bytes(1 << 21), "u1")
    for array in (owner, owner[::-1], frozen(owner.reshape(2, -1)), text, text[1:]):
        digests = {digest(array) for _ in range(3)}
        assert len(digests) == 1
        assert len(found) == 1, array.base
        found.clear()


def test_large_arrays_that_something_can_write_to_are_hashed_each_time(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found = counted(monkeypatch)
    base = np.arange(1 << 18)
    mutable = bytearray(1 << 21)
    np.save(tmp_path / "data.npy", base)
    mapped = np.load(tmp_path / "data.npy", mmap_mode="r")
    for array in (
        base,
        frozen(base[:]),
        frozen(np.frombuffer(mutable, "u1")),
        np.broadcast_to(base, (2, 1 << 18)),
        np.asarray(mapped),
        pa.array(base).to_numpy(),
    ):
        assert len({digest(array) for _ in range(2)}) == 1
        assert len(found) == 2
        found.clear()
    view = frozen(base[:])
    before = digest(view)
    base[5] += 1
    assert digest(view) != before


def test_an_array_that_is_written_to_all_the_same_is_noticed() -> None:
    owner = np.arange(1 << 18)
    view = owner[:]
    owner.flags.writeable = False
    before = digest(owner)
    view += 1
    assert digest(owner) != before


def test_hashing_large_arrays_copies_none(monkeypatch: pytest.MonkeyPatch) -> None:
    import tracemalloc

    array = np.zeros((1 << 10, 1 << 11))
    for layout in (
        array,
        np.asfortranarray(array),
        array[:, ::2],
        array[::2],
        array.reshape(2, -1, 64).transpose(2, 0, 1),
    ):
        tracemalloc.start()
        digest(layout)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < layout.nbytes * 0.75, layout.strides
        if layout.flags.forc:
            assert peak < layout.nbytes / 50
