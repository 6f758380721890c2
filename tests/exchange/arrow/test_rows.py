"""Arrow tables as elements: every type, with and without missing values, whole and sliced."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import ml_dtypes
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import keepset as ks
from keepset.core.jagged import Jagged
from keepset.core.spec import is_compatible
from keepset.exchange.arrow.rows import ArrowRows
from keepset.testing import assert_elements_equal

I64 = st.integers(-(2**63), 2**63 - 1)
# Times have room for each unit's own limits, and days for NumPy's.
TICKS = st.integers(0, 10**9)
TEXT = st.text(st.characters(codec="utf-8"), max_size=5)

# Each type with what its values are made from.
NUMBERS: list[tuple[pa.DataType, st.SearchStrategy[Any]]] = [
    (pa.int64(), I64),
    (pa.uint8(), st.integers(0, 255)),
    (pa.int16(), st.integers(-(2**15), 2**15 - 1)),
    (pa.uint64(), st.integers(0, 2**64 - 1)),
    (pa.float64(), st.floats()),
    (pa.float32(), st.floats(width=32)),
    (pa.float16(), st.floats(width=16).map(np.float16)),
    (pa.bool_(), st.booleans()),
    (pa.timestamp("us"), TICKS),
    (pa.timestamp("ns", "Europe/Madrid"), TICKS),
    (pa.date32(), st.integers(0, 10**6)),
    (pa.time32("s"), st.integers(0, 86_399)),
    (pa.time64("us"), TICKS),
    (pa.duration("ms"), TICKS),
]
TEXTS: list[tuple[pa.DataType, st.SearchStrategy[Any]]] = [
    (pa.string(), TEXT),
    (pa.large_string(), TEXT),
    (pa.string_view(), TEXT),
    (pa.binary(), st.binary(max_size=5)),
    (pa.large_binary(), st.binary(max_size=5)),
    (pa.binary_view(), st.binary(max_size=5)),
    (pa.binary(2), st.binary(min_size=2, max_size=2)),
    (pa.dictionary(pa.int8(), pa.string()), st.sampled_from(["a", "b", "é"])),
]
LEAVES = dict(NUMBERS + TEXTS)


def list_types(inner: pa.DataType, size: int) -> list[pa.DataType]:
    variable = [pa.list_(inner), pa.large_list(inner)]
    return [*variable, pa.list_(inner, size), pa.struct([("p", inner), ("q", pa.int64())])]


def nested(types: st.SearchStrategy[pa.DataType]) -> st.SearchStrategy[pa.DataType]:
    return st.builds(list_types, types, st.integers(0, 3)).flatmap(st.sampled_from)


PLAIN = st.sampled_from(list(LEAVES))
TYPES = PLAIN | nested(PLAIN) | nested(nested(PLAIN)) | nested(nested(nested(PLAIN)))


def values_of(type: pa.DataType, is_nullable: bool) -> st.SearchStrategy[Any]:
    if type in LEAVES:
        found = LEAVES[type]
    elif pa.types.is_struct(type):
        found = st.fixed_dictionaries({f.name: values_of(f.type, is_nullable) for f in type})
    else:
        fixed = pa.types.is_fixed_size_list(type)
        least, most = (type.list_size, type.list_size) if fixed else (0, 3)
        found = st.lists(values_of(type.value_type, is_nullable), min_size=least, max_size=most)
    return st.none() | found if is_nullable else found


def fill_of(type: pa.DataType) -> Any:
    """What stands for a missing value in these tests, as ``plain`` shows it."""
    if pa.types.is_floating(type):
        return math.nan
    if pa.types.is_temporal(type):
        return None  # which is how NumPy shows NaT
    if pa.types.is_boolean(type):
        return True
    return 7 if pa.types.is_integer(type) else b"?"


def missing_for(type: pa.DataType, key: str) -> Iterator[tuple[str, Any]]:
    """All that ``missing=`` can say of a column."""
    if pa.types.is_struct(type):
        for field in type:
            yield from missing_for(field.type, f"{key}.{field.name}")
    elif pa.types.is_fixed_size_list(type):
        yield from missing_for(type.value_type, key)
    elif pa.types.is_list(type) or pa.types.is_large_list(type):
        yield key, []
        yield from missing_for(type.value_type, f"{key}[]")
    elif not pa.types.is_floating(type) and not pa.types.is_temporal(type):
        yield key, fill_of(type)


def expected(scalar: Any, type: pa.DataType) -> Any:
    """The element of an Arrow scalar in plain Python; times as numbers, None for NaT."""
    if pa.types.is_struct(type):
        fields = {} if scalar is None or not scalar.is_valid else scalar
        return {f.name: expected(fields.get(f.name), f.type) for f in type}
    if type not in LEAVES:
        is_missing = scalar is None or not scalar.is_valid
        items = [] if is_missing else list(scalar.values)
        if is_missing and pa.types.is_fixed_size_list(type):
            items = [None] * type.list_size
        return transposed([expected(item, type.value_type) for item in items], type.value_type)
    if scalar is None or not scalar.is_valid:
        return fill_of(type)
    if pa.types.is_temporal(type):
        return scalar.value
    value = scalar.as_py()
    return value.encode() if isinstance(value, str) else value


def transposed(items: list[Any], type: pa.DataType) -> Any:
    """A list of dicts as a dict of lists."""
    keys = dict_keys(type)
    if keys is None:
        return items
    return {key: transposed([item[key] for item in items], inner) for key, inner in keys.items()}


def dict_keys(type: pa.DataType) -> dict[str, pa.DataType] | None:
    if pa.types.is_struct(type):
        return {field.name: field.type for field in type}
    return None if type in LEAVES else dict_keys(type.value_type)


def plain(leaf: Any) -> Any:
    """An element in plain Python."""
    if isinstance(leaf, dict):
        return {key: plain(value) for key, value in leaf.items()}
    if isinstance(leaf, bytes):
        return leaf
    if isinstance(leaf, ks.Ragged):
        return [plain(row) for row in leaf]
    if leaf.dtype.kind in "mM":
        numbers = leaf.astype(np.int64).astype(object)
        return np.asarray(np.where(np.isnat(leaf), None, numbers)).tolist()
    return leaf.tolist()


def same(one: Any, other: Any) -> bool:
    """Whether two values are alike; NaN is like itself."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other) or (one != one and other != other)


@settings(max_examples=400)
@given(data=st.data(), is_nullable=st.booleans())
def test_rows_are_what_arrow_says_they_are(data: st.DataObject, is_nullable: bool) -> None:
    type = data.draw(TYPES)
    values = data.draw(st.lists(values_of(type, is_nullable), max_size=6))
    start, stop = data.draw(st.tuples(st.integers(0, 6), st.integers(0, 6)))
    batch = pa.record_batch({"x": pa.array(values, type)})
    rows = ArrowRows(batch.schema, missing=dict(missing_for(type, "x")))
    for part in (batch, batch.slice(start, max(0, stop - start))):
        chunk = rows.chunk(part)
        got = [row["x"] for row in chunk.rows]
        assert len(got) == part.num_rows
        for element, scalar in zip(got, part.column("x"), strict=True):
            wanted = expected(scalar, type)
            assert same(plain(element), wanted), f"{plain(element)} is not {wanted}"
            assert is_compatible(rows.spec["x"], element)


def test_numbers_stay_where_they_are() -> None:
    column = pa.array(np.arange(2.0))
    lists = pa.array([[1, 2], [3]])
    batch = pa.record_batch({"x": column, "lists": lists}).slice(1)
    for part in (batch, pa.Table.from_batches([batch])):
        chunk = ArrowRows(batch.schema).chunk(part)
        numbers, x = chunk.columns
        assert isinstance(x, np.ndarray)
        assert x.__array_interface__["data"][0] == column.buffers()[1].address + 8
        assert not x.flags.writeable
        assert isinstance(numbers, Jagged)
        assert (
            numbers.values.__array_interface__["data"][0] == lists.values.buffers()[1].address + 16
        )


def test_pieces_of_a_table_are_put_together() -> None:
    table = pa.table({"x": pa.chunked_array([[1, 2], [], [3]]), "y": pa.chunked_array([["a"] * 3])})
    assert ArrowRows(table.schema).chunk(table[1:]).rows == [
        {"x": 2, "y": b"a"},
        {"x": 3, "y": b"a"},
    ]


def rows_of(array: pa.Array, **options: Any) -> list[Any]:
    batch = pa.record_batch({"x": array})
    return [row["x"] for row in ArrowRows(batch.schema, **options).chunk(batch, 100).rows]


def test_tensors_have_their_shape() -> None:
    values = np.arange(12, dtype=np.int16)
    plain_type = pa.fixed_shape_tensor(pa.int16(), [2, 3])
    turned_type = pa.fixed_shape_tensor(pa.int16(), [2, 3], permutation=[1, 0])
    storage = pa.FixedSizeListArray.from_arrays(pa.array(values), 6)
    for type, expected in (
        (plain_type, values.reshape(2, 2, 3)),
        (turned_type, values.reshape(2, 2, 3).transpose(0, 2, 1)),
    ):
        array = pa.ExtensionArray.from_storage(type, storage)
        assert_elements_equal(rows_of(array), list(expected))
        assert_elements_equal(rows_of(array[1:]), list(expected[1:]))
        assert ArrowRows(pa.schema({"x": type})).spec["x"].shape == expected.shape[1:]
    holes = pa.ExtensionArray.from_storage(plain_type, pa.array([None], plain_type.storage_type))
    assert_elements_equal(rows_of(holes, missing={"x": -1}), [np.full((2, 3), -1, np.int16)])


def test_bools_of_a_byte_are_bools() -> None:
    array = pa.ExtensionArray.from_storage(pa.bool8(), pa.array([0, 1, 1], pa.int8()))
    assert_elements_equal(rows_of(array), [np.False_, np.True_, np.True_])
    odd = pa.ExtensionArray.from_storage(pa.bool8(), pa.array([0, -1, 7, None], pa.int8()))
    assert_elements_equal(
        rows_of(odd, missing={"x": False}), [np.False_, np.True_, np.True_, np.False_]
    )
    assert_elements_equal(rows_of(array, types={"x": "int32"}), list(np.array([0, 1, 1], np.int32)))


def test_other_extension_types_are_what_they_are_stored_as() -> None:
    array = pa.ExtensionArray.from_storage(
        pa.uuid(), pa.array([b"0123456789abcdef"], pa.binary(16))
    )
    assert rows_of(array) == [b"0123456789abcdef"]


def test_dictionaries_and_runs_are_what_they_stand_for() -> None:
    words = pa.array(["a", "b", "a", None]).dictionary_encode()
    first, _, third, last = rows_of(words, missing={"x": "-"})
    assert (first, third, last) == (b"a", b"a", b"-")
    assert first is third
    assert rows_of(pa.array([3, 4, 3]).dictionary_encode()) == [3, 4, 3]
    hidden = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["a", None]))
    assert rows_of(hidden, missing={"x": "-"}) == [b"a", b"-"]
    empty = pa.DictionaryArray.from_arrays(pa.array([None], pa.int8()), pa.array([], pa.string()))
    assert rows_of(empty, missing={"x": "-"}) == [b"-"]
    assert rows_of(pc.run_end_encode(pa.array([1, 1, 2]))) == [1, 1, 2]


def test_views_of_lists_are_lists() -> None:
    for make in (pa.list_view, pa.large_list_view):
        array = pa.array([[1], None, [2, 3]], make(pa.int64()))
        assert [row.tolist() for row in rows_of(array, missing={"x": []})] == [[1], [], [2, 3]]


@pytest.mark.parametrize(
    ("array", "key", "row"),
    [
        (pa.array([1, None]), "x", 101),
        (pa.array([True, None]), "x", 101),
        (pa.array(["a", None]), "x", 101),
        (pa.array([[1], [2], None]), "x", 102),
        (pa.array([[1.0], [2.0], None]), "x", 102),
        (pa.array([[1], [], [2, 3, None]]), "x[]", 102),
        (pa.array([[[1]], [], [[2], [3, None]]]), "x[][]", 102),
        (pa.array([[[1]], [], [[2], None]]), "x[]", 102),
        (pa.array([{"a": {"b": 1}}, {"a": None}]), "x.a.b", 101),
        (pa.array([{"a": 1}, None]), "x.a", 101),
        (pa.array([[{"a": 1}, {"a": 2}], [{"a": None}]]), "x[].a", 101),
        (pa.array([[1, 2], [3, None]], pa.list_(pa.int64(), 2)), "x", 101),
        (pa.array([[1, 2], None], pa.list_(pa.int64(), 2)), "x", 101),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else None,
)
def test_missing_values_are_named_with_the_remedy(array: pa.Array, key: str, row: int) -> None:
    with pytest.raises(ks.ElementError) as caught:
        rows_of(array, where="some.parquet")
    message = str(caught.value)
    assert message.startswith(f"some.parquet: row {row}: {key!r} has no value;")
    # The remedy that the message names is one.
    found = re.search(r"missing=(\{.*?\})", message)
    assert found is not None
    rows_of(array, missing=ast.literal_eval(found[1]))


def test_missing_floats_and_times_are_what_numpy_has_for_them() -> None:
    assert_elements_equal(rows_of(pa.array([1.0, None])), [1.0, math.nan])
    got = rows_of(pa.array([1, None], pa.timestamp("s")))
    assert_elements_equal(got, [np.datetime64(1, "s"), np.datetime64("NaT", "s")])
    assert_elements_equal(rows_of(pa.array([1.0, None]), missing={"x": 0}), [1.0, 0.0])
    [_, last] = rows_of(pa.array([1, None], pa.date32()), missing={"x": "2000-01-01"})
    assert_elements_equal(last, np.datetime64("2000-01-01"))


def test_lists_may_stand_for_missing_ones() -> None:
    got = rows_of(pa.array([[1, 2], None, [3]]), missing={"x": [7, 8, 9]})
    assert [row.tolist() for row in got] == [[1, 2], [7, 8, 9], [3]]
    got = rows_of(pa.array([None, ["a"]]), missing={"x": ["none"]})
    assert [row.tolist() for row in got] == [[b"none"], [b"a"]]


@pytest.mark.parametrize(
    ("array", "missing", "complaint"),
    [
        (pa.array([1]), {"y": 0}, "'y', which the table does not have; there are 'x'"),
        (pa.array([1]), {"x": "a"}, "'a'.* int64"),
        (pa.array([1]), {"x": 1.5}, r"1\.5"),
        (pa.array([1], pa.uint8()), {"x": -1}, "uint8"),
        (pa.array([1]), {"x": [1]}, "int64"),
        (pa.array(["a"]), {"x": 1}, "string"),
        (pa.array([[1]]), {"x": 0}, r"whole list.*'x\[\]': 0"),
        (pa.array([[1]]), {"x": ["a"]}, "int64"),
        (pa.array([[[1]]]), {"x": [1]}, "int64"),
    ],
)
def test_what_cannot_stand_for_missing_values_is_refused(
    array: pa.Array, missing: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(ks.InvalidArgumentError, match=complaint):
        rows_of(array, missing=missing)


@pytest.mark.parametrize(
    ("array", "dtype", "expected"),
    [
        (pa.array([Decimal("1.5"), None]), "float64", [1.5, math.nan]),
        (pa.array([Decimal("1.5")]), "float32", [np.float32(1.5)]),
        (pa.array([None, None]), "float64", [math.nan, math.nan]),
        (pa.array([[], []], pa.list_(pa.null())), "int32", [np.zeros(0, np.int32)] * 2),
        (pa.array(["1", "2"]), "int16", [np.int16(1), np.int16(2)]),
        (pa.array([b"1.5"]), "float64", [1.5]),
        (pa.array(["1", "1"]).dictionary_encode(), "int64", [1, 1]),
        (pa.array([1, 2]), "string", [b"1", b"2"]),
        (pa.array([1, 2]), "bfloat16", [ml_dtypes.bfloat16(1), ml_dtypes.bfloat16(2)]),
        (pa.array([1, 2]), "complex64", [np.complex64(1), np.complex64(2)]),
        (pa.array([1, 2]), "float16", [np.float16(1), np.float16(2)]),
        (pa.array([[1], [2]]), "float32", list(np.array([[1], [2]], np.float32))),
        (pa.array([1], pa.timestamp("s", "UTC")), "datetime64[ms]", [np.datetime64(1000, "ms")]),
        (pa.array(["2024-02-29"]), "datetime64[D]", [np.datetime64("2024-02-29")]),
        (pa.array([60], pa.time32("s")), "timedelta64[m]", [np.timedelta64(1, "m")]),
        (pa.array([60], pa.time32("s")), "int64", [60]),
        (pa.array([True]), "float64", [1.0]),
        (pa.array(["true"]), "bool", [np.True_]),
    ],
    ids=str,
)
def test_columns_can_be_cast(array: pa.Array, dtype: str, expected: list[Any]) -> None:
    assert_elements_equal(rows_of(array, types={"x": dtype}), expected)


def test_values_that_cannot_be_cast_are_named() -> None:
    texts = pa.array(["1", "2"] * 50 + ["three"] + ["4", "five"])
    with pytest.raises(ks.ElementError, match=r"t: row 200: 'x' has 'three'.*int64.*types=\{'x'"):
        rows_of(texts, types={"x": "int64"}, where="t")
    with pytest.raises(ks.ElementError, match=r"row 101: 'x' has 1\.5"):
        rows_of(pa.array([[1.0], [2.0, 1.5]]), types={"x": "int64"})
    with pytest.raises(ks.InvalidArgumentError, match="date32"):
        rows_of(pa.array([1], pa.date32()), types={"x": "float64"})
    with pytest.raises(ks.InvalidArgumentError, match="'y', which the table does not have"):
        rows_of(pa.array([1]), types={"y": "float64"})


@pytest.mark.parametrize(
    ("array", "remedy"),
    [
        (pa.array([Decimal("1.5")]), "types={'x': 'float64'}"),
        (pa.nulls(2), "types={'x': 'float64'}"),
        (pa.array([{"a": [None]}]), "types={'x.a': 'float64'}"),
        (pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())), "columns="),
        (pa.array([None], pa.month_day_nano_interval()), "columns="),
        (
            pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])]),
            "columns=",
        ),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else None,
)
def test_types_that_elements_cannot_have_are_named(array: pa.Array, remedy: str) -> None:
    with pytest.raises(ks.InvalidArgumentError, match=r"'x.*type") as caught:
        rows_of(array)
    assert remedy in str(caught.value)
    batch = pa.record_batch({"x": array, "y": pa.array([1] * len(array))})
    assert ArrowRows(batch.schema, columns=["y"]).chunk(batch).rows[0] == {"y": 1}
    if "types" in remedy:
        found = re.search(r"types=(\{.*?\})", str(caught.value))
        assert found is not None
        rows_of(array, types=ast.literal_eval(found[1]))


def test_columns_of_one_name_are_refused() -> None:
    twice = pa.schema([("x", pa.int64()), ("x", pa.int64())])
    inner = pa.schema([("x", pa.struct([("a", pa.int64()), ("a", pa.int64())]))])
    for schema in (twice, inner):
        with pytest.raises(ks.InvalidArgumentError, match="several columns"):
            ArrowRows(schema)


def test_what_is_not_read_needs_no_remedy_but_may_have_one() -> None:
    batch = pa.record_batch({"x": [1, None], "y": [1, 2]})
    rows = ArrowRows(batch.schema, columns=["y"], missing={"x": 0}, types={"x": "int8"})
    assert rows.names == ["y"]
    assert rows.chunk(batch.select(["y"])).rows == [{"y": 1}, {"y": 2}]


def test_entries_without_any_fields_are_empty_dicts() -> None:
    batch = pa.record_batch({"x": pa.array([{}, {}]), "y": pa.array([1, 2])})
    assert ArrowRows(batch.schema).chunk(batch).rows == [{"x": {}, "y": 1}, {"x": {}, "y": 2}]
