"""Values become elements: every kind of leaf, and buffers that are used again."""

from __future__ import annotations

import datetime
import enum
from collections import OrderedDict, namedtuple
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import ml_dtypes
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from PIL import Image

import keepset as ks
from keepset.core.conform import conformer
from keepset.core.element import to_element, to_returned_element
from keepset.core.spec import TensorSpec, spec_of
from keepset.core.structure import structure_of
from keepset.errors import ElementError, ResultError
from keepset.testing.equality import assert_elements_equal

Point = namedtuple("Point", ["x", "y"])


@dataclass
class Sample:
    image: Any
    label: Any


class Colour(enum.IntEnum):
    RED = 1


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (True, np.bool_(True)),
        (3, np.int64(3)),
        (2**63, np.uint64(2**63)),
        (1.5, np.float64(1.5)),
        (1j, np.complex128(1j)),
        ("é", "é".encode()),
        (b"a\0", b"a\0"),
        (bytearray(b"x"), b"x"),
        (Path("a/b"), b"a/b"),
        (np.float32(2), np.float32(2)),
        (np.array(7, np.int8), np.int8(7)),
        (Colour.RED, np.int64(1)),
        (datetime.date(2020, 1, 2), np.datetime64("2020-01-02")),
        (datetime.timedelta(seconds=1), np.timedelta64(1_000_000, "us")),
        (np.datetime64("2020-01-01T00:00:00", "ns"), np.datetime64("2020-01-01T00:00:00", "ns")),
        (ml_dtypes.bfloat16(1.5), ml_dtypes.bfloat16(1.5)),
    ],
)
def test_scalars(value: Any, expected: Any) -> None:
    element = to_element(value)
    assert type(element) is type(expected)
    assert element == expected


def test_times_with_a_zone_are_kept_in_utc() -> None:
    zone = datetime.timezone(datetime.timedelta(hours=2))
    at = to_element(datetime.datetime(2020, 1, 1, 2, 0, tzinfo=zone))
    assert at == np.datetime64("2020-01-01T00:00", "us")


@pytest.mark.parametrize("dtype", [*"?bhilqBHILQefdFD", "m8[s]", "M8[ns]", "bfloat16", "int4"])
def test_arrays_of_every_dtype_stay_what_they_are(dtype: str) -> None:
    array = np.zeros(3, getattr(ml_dtypes, dtype, dtype))
    assert to_element(array) is array or to_element(array).dtype == array.dtype


def test_foreign_byte_order_becomes_native() -> None:
    element = to_element(np.array([1, 2], ">i4"))
    assert element.dtype == np.dtype("int32")
    assert element.dtype.isnative
    assert element.tolist() == [1, 2]


def test_strings_become_objects_that_keep_every_byte() -> None:
    for value in (["a", "b\0"], np.array(["a", "b\0"], object)):
        element = to_element(value)
        assert element.dtype == object
        assert element.tolist() == [b"a", b"b\0"]
    assert to_element([b"x\0\0"])[0] == b"x\0\0"
    assert to_element(np.array(["ä"])).tolist() == ["ä".encode()]


def test_structures_keep_their_kind() -> None:
    element = to_element(
        {"p": Point(1, "a"), "s": Sample([1], None), "t": (1, {"n": None}), "o": OrderedDict(z=1)}
    )
    assert isinstance(element["p"], Point)
    assert element["p"] == (np.int64(1), b"a")
    assert isinstance(element["s"], Sample)
    assert element["s"].image.tolist() == [1]
    assert element["t"][1] == {"n": None}
    assert type(element["o"]) is dict


def test_structured_arrays_become_dicts() -> None:
    array = np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")])
    element = to_element(array)
    assert sorted(element) == ["a", "b"]
    assert element["a"].tolist() == [1]


def test_a_returned_list_is_a_tuple() -> None:
    assert to_returned_element([1, "a"]) == (np.int64(1), b"a")


def test_array_protocols_of_other_libraries() -> None:
    frame = pd.DataFrame({"n": [1, 2], "s": ["a", "b"]})
    ds = ks.Dataset.from_tensor_slices(dict(frame))
    assert list(ds) == [{"n": 1, "s": b"a"}, {"n": 2, "s": b"b"}]
    column = pa.array([1.5, 2.5])
    assert to_element(column).tolist() == [1.5, 2.5]
    image = Image.new("RGB", (4, 2), (1, 2, 3))
    assert to_element(image).shape == (2, 4, 3)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({1, 2}, "set"),
        (object(), "object"),
        (2**70, "64 bits"),
        ([[1], [1, 2]], "Ragged"),
        (np.array([object()], object), "only str and bytes"),
    ],
)
def test_what_cannot_be_an_element_is_refused_with_a_reason(value: Any, words: str) -> None:
    with pytest.raises(ks.ElementError, match=words):
        to_element(value)


def test_a_buffer_that_a_function_uses_again_is_copied_in_time() -> None:
    buffer = np.zeros(3)

    def whole(x: np.int64) -> Any:
        buffer[:] = x
        return buffer

    def part(x: np.int64) -> Any:
        buffer[:] = x
        return {"a": (buffer[1:],), "b": buffer.reshape(3, 1)}

    assert [row[0] for row in ks.Dataset.range(100).map(whole)] == list(range(100))
    batched = ks.Dataset.range(100).map(whole).batch(7)
    assert np.concatenate([batch[:, 0] for batch in batched]).tolist() == list(range(100))
    assert [e["a"][0][0] for e in ks.Dataset.range(100).map(part)] == list(range(100))
    assert [e["b"][0, 0] for e in ks.Dataset.range(100).map(part)] == list(range(100))


def test_a_buffer_that_a_generator_uses_again_is_copied_in_time() -> None:
    def source() -> Iterator[Any]:
        buffer = np.zeros(2)
        for i in range(50):
            buffer[:] = i
            yield buffer

    batches = list(ks.Dataset.from_generator(source).batch(7))
    assert np.concatenate(batches)[:, 0].tolist() == list(range(50))


@dataclass
class Holder:
    x: Any


def only_array(element: Any) -> Any:
    [array] = [x for x in structure_of(element).leaves(element) if isinstance(x, np.ndarray)]
    return array


# A container that is used again, around an array that nobody else has; and what is made of it for
# every element.
USED_AGAIN: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "dict": (lambda x: {"a": x}, lambda kept: kept),
    "tuple": (lambda x: (x, 1), lambda kept: kept),
    "record": (Holder, lambda kept: kept),
    "nested": (lambda x: {"a": ({"b": x}, 1)}, lambda kept: kept),
    "record within": (lambda x: {"a": Holder(x)}, lambda kept: kept),
    "dict in a new one": (lambda x: {"a": x}, lambda kept: {"new": kept}),
    "tuple in a new one": (lambda x: (x, 1), lambda kept: {"new": kept}),
    "record in a new one": (Holder, lambda kept: (kept, 1)),
}


@pytest.mark.parametrize("size", [2, 5000])
@pytest.mark.parametrize(("make", "wrapped"), USED_AGAIN.values(), ids=USED_AGAIN)
def test_arrays_in_a_container_that_is_used_again_are_copied_in_time(
    make: Callable[[Any], Any], wrapped: Callable[[Any], Any], size: int
) -> None:
    kept = make(np.zeros(size))

    def fill(number: Any) -> Any:
        only_array(kept)[:] = number
        return wrapped(kept)

    def source() -> Iterator[Any]:
        for i in range(20):
            yield fill(i)

    def check(ds: ks.Dataset) -> None:
        assert [int(only_array(e)[0]) for e in list(ds)] == list(range(20))

    signature = spec_of(to_element(fill(0)))
    check(ks.Dataset.range(20).map(fill))
    check(ks.Dataset.range(20).map(fill, output_signature=signature))
    check(ks.Dataset.from_generator(source))
    check(ks.Dataset.from_generator(source, output_signature=signature))


@pytest.mark.parametrize("nested", [False, True])
def test_buffers_within_ragged_and_sparse_leaves_are_copied_in_time(nested: bool) -> None:
    buffer = np.zeros(4)

    def ragged(i: np.int64) -> Any:
        buffer[:] = i
        inner = ks.Ragged(buffer, [0, 2, 4])
        return {"r": ks.Ragged(inner, [0, 2])} if nested else inner

    def sparse(i: np.int64) -> Any:
        buffer[:] = i
        leaf = ks.Sparse([[0], [1], [2], [3]], buffer, [9])
        return {"s": leaf} if nested else leaf

    for function in (ragged, sparse):
        for i, element in enumerate(list(ks.Dataset.range(9).map(function))):
            assert element == to_element(function(np.int64(i)))


WRAPPED: dict[str, Callable[[Any], Any]] = {
    "bare": lambda array: array,
    "dict": lambda array: {"a": array},
    "tuple": lambda array: (array, 1),
    "list": lambda array: [array, 1],
    "nested": lambda array: {"a": ({"b": array}, 1)},
}


@pytest.mark.parametrize("wrapped", WRAPPED.values(), ids=WRAPPED)
def test_arrays_that_only_the_function_had_are_not_copied(wrapped: Callable[[Any], Any]) -> None:
    places: list[int] = []

    def fresh(x: np.int64) -> Any:
        array = np.full((5, 5), x)
        places.append(array.__array_interface__["data"][0])
        return wrapped(array)

    elements = list(ks.Dataset.range(50).map(fresh))
    assert [only_array(e).__array_interface__["data"][0] for e in elements] == places


def test_rows_of_a_source_cannot_be_written_to() -> None:
    data = np.arange(6).reshape(3, 2)
    ds = ks.Dataset.from_tensor_slices(data)
    with pytest.raises(ValueError, match="read-only"):
        next(iter(ds))[0] = 7
    data[0, 0] = 5  # the array itself stays the user's own


def test_the_shape_of_a_sparse_array_is_not_written_to() -> None:
    shape = np.array([4, 3])
    sparse = ks.Sparse([[0, 1], [1, 2]], [1, 2], shape)
    shape[...] = 77
    assert sparse.shape == (4, 3)
    rows = list(ks.Dataset.from_tensor_slices(sparse).batch(3).unbatch())
    for each in (sparse, *rows):
        with pytest.raises(ValueError, match="read-only"):
            each.dense_shape[...] = 77


def reused_frames() -> Iterator[Any]:
    table = pd.DataFrame({"x": np.zeros(3)})
    for i in range(4):
        table.iloc[0, 0] = float(i)
        yield table["x"].to_numpy()


def reused_windows() -> Iterator[Any]:
    buffer = np.zeros(4)
    for i in range(4):
        buffer[:] = np.arange(4) + 10 * i
        yield np.lib.stride_tricks.sliding_window_view(buffer, 2)


def reused_by_broadcasting() -> Iterator[Any]:
    buffer = np.zeros(1)
    for i in range(4):
        buffer[0] = i
        yield np.broadcast_to(buffer, (2,))


def reused_series() -> Iterator[Any]:
    series = pd.Series(np.zeros(3))
    for i in range(4):
        series.iloc[0] = float(i)
        yield series


def reused_objects() -> Iterator[Any]:
    class Picture:
        data = np.zeros(2)

        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return self.data

    image = Picture()
    for i in range(4):
        image.data[:] = i
        yield image


REUSED = [
    reused_frames, reused_windows, reused_by_broadcasting, reused_series, reused_objects,
]  # fmt: skip


@pytest.mark.parametrize("source", REUSED, ids=lambda source: source.__name__)
def test_a_view_that_is_read_only_is_copied_if_what_is_behind_it_is_not(source: Any) -> None:
    expected = [np.array(each).tolist() for each in source()]
    ds = ks.Dataset.from_generator(source)
    for each in (ds, ds.batch(2).unbatch(), ds.shuffle(1), ds.prefetch(2)):
        assert [x.tolist() for x in list(each)] == expected


def test_arrays_of_other_classes_are_plain_elements(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(12.0).reshape(4, 3))
    mapped = np.load(tmp_path / "a.npy", mmap_mode="r")

    class Own(np.ndarray[Any, Any]):
        pass

    for make in (
        lambda i: mapped[i],
        lambda i: np.arange(2).view(Own),
        lambda i: np.zeros(2).view(Own),
    ):
        ds = ks.Dataset.range(4).map(make)
        assert {type(each) for each in ds} == {np.ndarray}
        assert [len(each) for each in ds.batch(2)] == [2, 2]


def test_what_a_function_takes_of_a_memory_map_is_copied(tmp_path: Path) -> None:
    # Another map of the file, or another process, may write to it.
    np.save(tmp_path / "a.npy", np.arange(12.0).reshape(4, 3))
    mapped = np.load(tmp_path / "a.npy", mmap_mode="r")
    [first, *_] = ks.Dataset.range(4).map(lambda i: mapped[i])
    assert not np.shares_memory(first, mapped)


def test_what_is_loaded_is_handed_on_without_a_copy(tmp_path: Path) -> None:
    ks.Dataset.range(4).map(lambda x: np.full(3, x)).save(tmp_path, None)
    given = []

    def hand_on(array: Any) -> Any:
        given.append(array)
        return array

    for element in ks.load(tmp_path).map(hand_on):
        assert np.shares_memory(element, given[-1])


def test_a_mask_is_not_lost() -> None:
    masked = np.ma.masked_equal([1.0, -9999.0], -9999.0)
    for ds in (ks.Dataset.range(2).map(lambda _: masked), lambda: ks.Dataset.from_tensors(masked)):
        with pytest.raises(ElementError, match="filled"):
            list(ds() if callable(ds) else ds)
    whole = np.ma.masked_equal([1.0, 2.0], -9999.0)
    assert [x.tolist() for x in ks.Dataset.from_tensors(whole)] == [[1.0, 2.0]]


def test_whole_numbers_of_columns_with_gaps_are_not_rounded() -> None:
    large = 2**53 + 1
    for column in (
        pd.array([large, None], dtype="Int64"),
        pa.array([large, None]),
        pl.Series([large, None]),
    ):
        with pytest.raises(ElementError, match="missing values"):
            list(ks.Dataset.from_tensors(column))
    [found] = ks.Dataset.from_tensors(pd.array([large, 1], dtype="Int64"))
    assert found.tolist() == [large, 1]


def test_times_of_pandas_keep_their_nanoseconds() -> None:
    moment = pd.Timestamp("2020-01-01 00:00:00.123456789")
    assert to_element(moment) == np.datetime64("2020-01-01T00:00:00.123456789")
    assert np.isnat(to_element(pd.NaT))
    assert to_element(pd.Timedelta(5, "ns")) == np.timedelta64(5, "ns")


def test_strings_of_any_length_are_bytes() -> None:
    text = np.array(["a", "long"], dtype=np.dtypes.StringDType())
    assert to_element(text).tolist() == [b"a", b"long"]


@pytest.mark.parametrize("key", [("left", "right"), b"left", np.int64(3)])
def test_keys_that_cannot_be_stored_are_an_error_before_anything_is(
    tmp_path: Path, key: Any
) -> None:
    ds = ks.Dataset.range(3).map(lambda x: {key: x})
    with pytest.raises(ElementError, match="cannot be stored"):
        ds.save(tmp_path / "saved")
    with pytest.raises(ElementError, match="cannot be stored"):
        list(ds.snapshot(tmp_path / "kept"))
    assert not list(tmp_path.rglob("commits/*.json"))


def test_times_that_do_not_fit_into_64_bits_are_refused() -> None:
    whole = datetime.timedelta(days=106_751_991)
    assert to_element(whole) == np.timedelta64(whole // datetime.timedelta(microseconds=1), "us")
    for value in (datetime.timedelta(days=106_751_992), datetime.timedelta.min):
        with pytest.raises(ElementError, match="does not fit into 64 bits"):
            to_element(value)
        with pytest.raises(ElementError, match="does not fit into 64 bits"):
            to_element([value])
    # NumPy goes round: the year 3000 was one before 1900.
    with pytest.raises(ElementError, match="does not fit into 64 bits"):
        to_element(pd.Timestamp("3000-01-01"))
    late = np.array(["3000-01-01", "NaT"], "M8[s]")
    with pytest.raises(ElementError, match="does not fit into 64 bits"):
        conformer(TensorSpec([2], "M8[ns]"))(late)
    made = conformer(TensorSpec([2], "M8[ms]"))(late)
    assert made.dtype == "M8[ms]"
    np.testing.assert_array_equal(made, late)


def test_lists_of_times_are_arrays_of_times() -> None:
    zone = datetime.timezone(datetime.timedelta(hours=2))
    noon, there = (
        datetime.datetime(2024, 1, 2, 12),
        datetime.datetime(2024, 1, 2, 12, tzinfo=zone),
    )
    assert_elements_equal(
        [to_element({"a": [[noon, there]], "b": [noon.date()], "c": [datetime.timedelta(1)] * 2})],
        [
            {
                "a": np.array([["2024-01-02T12", "2024-01-02T10"]], "M8[us]"),
                "b": np.array(["2024-01-02"], "M8[D]"),
                "c": np.array([1, 1], "m8[D]").astype("m8[us]"),
            }
        ],
    )
    with pytest.raises(ElementError, match="item 0 is datetime"):
        to_element([noon, datetime.timedelta(1)])


@pytest.mark.parametrize("value", [1e300, [1.0, -1e300], np.array([1.0, 1e300])])
def test_a_number_beyond_the_promised_range_is_named(value: Any) -> None:
    conform = conformer({"x": TensorSpec(None, "float32")})
    with pytest.raises(ElementError, match=r"leaf 'x': .*1e\+300.*from -3\.4") as caught:
        conform({"x": value})
    assert caught.value.leaf == "x"
    infinite = conform({"x": [np.inf, -np.inf, np.nan]})["x"]
    assert np.isinf(infinite[:2]).all()


HALF = "caf\ud83d"


@pytest.mark.parametrize(
    ("value", "leaf"),
    [
        ({"a": 1, "n": {"t": HALF}}, "n.t"),
        ({"n": ("x", [HALF, "y"])}, "n.1"),
        ((1, HALF), "1"),
        ({"n": np.array(["x", HALF], object)}, "n"),
        (HALF, None),
    ],
)
def test_text_that_utf8_has_not_is_named(value: Any, leaf: str | None) -> None:
    for convert in (to_element, to_returned_element):
        with pytest.raises(ElementError, match=r"half a character.*replace it, as") as caught:
            convert(value)
        assert caught.value.leaf == leaf
    with pytest.raises(ElementError) as of_element:
        list(ks.Dataset.range(3).map(lambda x: value))
    assert (of_element.value.element, of_element.value.leaf) == (0, leaf)
    assert "in map(<lambda>), at element 0" in of_element.value.__notes__


@pytest.mark.parametrize(
    "wrap",
    [
        lambda x: {"k": x},
        lambda x: {"k": OrderedDict(k=x)},
        lambda x: {"k": Point(x, 1)},
        lambda x: Point({"k": x}, 1),
    ],
)
def test_text_deep_inside_is_found_without_much_work(wrap: Callable[[Any], Any]) -> None:
    looks = 0

    class Looked:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            nonlocal looks
            looks += 1
            return np.arange(3)

    value: Any = {"a": Looked(), "t": HALF}
    for _ in range(20):
        value = wrap(value)
    with pytest.raises(ElementError, match="half a character") as caught:
        to_element(value)
    assert (caught.value.leaf or "").endswith(".t")
    assert looks <= 30


def nested(levels: int) -> dict[str, Any]:
    outer = inner = dict[str, Any]()
    for _ in range(levels):
        inner["a"] = inner = {}
    inner["x"] = 1
    return outer


def test_elements_that_are_nested_too_deep_are_refused() -> None:
    endless: dict[str, Any] = {}
    endless["itself"] = (endless,)
    for value in (endless, (endless,), nested(5000)):
        for make in (
            lambda value: ks.Dataset.range(1).map(lambda x: value),
            lambda value: ks.Dataset.from_generator(lambda: iter([value])),
            ks.Dataset.from_tensors,
            ks.Dataset.from_tensor_slices,
        ):
            with pytest.raises(ElementError, match="nested too deep, or holds itself"):
                list(make(value))
    [element] = ks.Dataset.range(1).map(lambda x: nested(200))
    assert structure_of(element).paths()


class OwnPath:
    def __fspath__(self) -> str:
        return "here"


def test_only_paths_become_text_and_no_mock() -> None:
    assert to_element({"p": Path("a/b"), "o": OwnPath()}) == {"p": b"a/b", "o": b"here"}
    for value in (MagicMock(), {"m": MagicMock()}, MagicMock(spec=Path)):
        with pytest.raises(ResultError, match=r"mock\.MagicMock cannot be part of an element"):
            to_element(value)


def test_a_path_of_a_module_called_mock_is_a_path() -> None:
    for module in ("mock", "project.mock", "mock.storage"):
        kind = type("MockPath", (OwnPath,), {"__module__": module})
        assert to_element(kind()) == b"here"
    kind = type("Mock", (OwnPath,), {"__module__": "mock.mock"})  # of the package
    with pytest.raises(ResultError, match="cannot be part of an element"):
        to_element(kind())
