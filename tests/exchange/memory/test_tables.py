"""Tables in memory, in and out: Arrow, pandas and Polars."""

from __future__ import annotations

import datetime
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import keepset as ks
from keepset.core.fingerprint import fingerprint_of_value
from keepset.exchange.memory.held_table import HeldTable
from keepset.snapshot.identity.pipeline_identity import identify
from keepset.testing import assert_elements_equal, check_dataset

TEXT = st.text(st.characters(codec="utf-8"), max_size=4)
INT = st.integers(-(2**31), 2**31 - 1)
POINT = pa.struct([("p", pa.int32()), ("q", pa.list_(pa.string()))])
COLUMNS: list[tuple[pa.DataType, st.SearchStrategy[Any]]] = [
    (pa.int64(), INT),
    (pa.float64(), st.floats(allow_nan=False)),
    (pa.bool_(), st.booleans()),
    (pa.string(), TEXT),
    (pa.string_view(), TEXT),
    (pa.large_binary(), st.binary(max_size=4)),
    (pa.dictionary(pa.int8(), pa.string()), st.sampled_from(["a", "b"])),
    (pa.list_(pa.int16()), st.lists(st.integers(-9, 9), max_size=3)),
    (pa.large_list(pa.string_view()), st.lists(TEXT, max_size=3)),
    (pa.list_(pa.uint8(), 2), st.lists(st.integers(0, 255), min_size=2, max_size=2)),
    (POINT, st.fixed_dictionaries({"p": INT, "q": st.lists(TEXT, max_size=2)})),
]
Column = tuple[pa.DataType, list[Any]]


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    """Tables of any columns, each cut into chunks of its own."""
    count = draw(st.integers(0, 12))
    columns = {}
    for number, (kind, values) in enumerate(draw(st.lists(st.sampled_from(COLUMNS), min_size=1))):
        made = draw(st.lists(values, min_size=count, max_size=count))
        array = pa.array(made, kind)
        cuts = sorted(draw(st.lists(st.integers(0, count), max_size=3)))
        bounds = zip([0, *cuts], [*cuts, count], strict=True)
        chunks = [array.slice(start, stop - start) for start, stop in bounds]
        columns[f"c{number}"] = pa.chunked_array(chunks, kind)
    return pa.table(columns)


def plain(value: Any) -> Any:
    """An element as Arrow's own Python objects, but for text, which is bytes."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    return value.encode() if isinstance(value, str) else value


def recut(table: pa.Table) -> pa.Table:
    """The same rows in other chunks, and beginning at another place."""
    twice = pa.concat_tables([table, table])
    if any("view" in str(kind) for kind in table.schema.types):
        return pa.concat_tables([table.slice(0, 1), table.slice(1)])
    return twice.combine_chunks().slice(table.num_rows)


def of(rows: list[Any], signature: Any = None) -> ks.Dataset:
    return ks.Dataset.from_generator(lambda: iter(rows), output_signature=signature)


# Arrow, in:


@given(table=tables(), data=st.data())
def test_rows_of_a_table_are_its_elements(table: pa.Table, data: st.DataObject) -> None:
    ds = ks.from_arrow(table)
    expected = [plain(row) for row in table.to_pylist()]
    assert [plain(row) for row in ds] == expected
    assert len(ds) == table.num_rows
    if expected:
        places = data.draw(st.lists(st.integers(0, len(expected) - 1), max_size=6))
        assert [plain(row) for row in ds.gather(places)] == [expected[i] for i in places]
        name = data.draw(st.sampled_from(table.column_names))
        assert [plain(row) for row in ds.select(name)] == [{name: row[name]} for row in expected]


@given(table=tables(), data=st.data())
def test_content_counts_and_chunks_do_not(table: pa.Table, data: st.DataObject) -> None:
    def fingerprint(each: pa.Table) -> str:
        return identify(ks.from_arrow(each).__keepset_node__()).fingerprint

    assert fingerprint(table) == fingerprint(recut(table))
    if table.num_rows:
        assert fingerprint(table) != fingerprint(table.slice(1))
        order = data.draw(st.permutations(range(table.num_rows)))
        rows = table.to_pylist()
        if [rows[i] for i in order] != rows:
            other = pa.Table.from_pylist([rows[i] for i in order], table.schema)
            assert fingerprint(table) != fingerprint(other)
    first = table.column_names[0]
    renamed = table.rename_columns(["other", *table.column_names[1:]])
    assert fingerprint(table) != fingerprint(renamed)
    wider = table.append_column("more", pa.array(range(table.num_rows)))
    chosen = [ks.from_arrow(each, columns=[first]) for each in (table, wider)]
    assert len({identify(each.__keepset_node__()).fingerprint for each in chosen}) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (pa.array(["a", None]), pa.array([None, "a"])),
        (pa.array(["ab", "c"]), pa.array(["a", "bc"])),
        (pa.array([[1], [2, 3]]), pa.array([[1, 2], [3]])),
        (pa.array([[], None], pa.list_(pa.int64())), pa.array([None, []], pa.list_(pa.int64()))),
        (pa.array([1, 2]), pa.array([1, 2], pa.int32())),
        (pa.array([1, 2]), pa.array([1.0, 2.0])),
        (pa.array([1], pa.timestamp("s")), pa.array([1], pa.timestamp("ms"))),
        (pa.array([[1, 2]]), pa.array([[1, 2]], pa.list_(pa.int64(), 2))),
        (pa.array([{"a": 1}]), pa.array([{"b": 1}])),
        (pa.array([{"a": None}]), pa.array([None], pa.struct([("a", pa.int64())]))),
        (pa.array([True, False]), pa.array([False, True])),
        (pa.array([0.0]), pa.array([-0.0])),
    ],
    ids=str,
)
def test_different_columns_differ(one: pa.Array, other: pa.Array) -> None:
    found = [fingerprint_of_value(HeldTable.of(pa.table({"x": each}))) for each in (one, other)]
    assert found[0].digest != found[1].digest


def test_what_lies_under_a_missing_value_does_not_count() -> None:
    mask = np.array([False, True])
    digests = {
        fingerprint_of_value(HeldTable.of(pa.table({"x": pa.array(values, mask=mask)}))).digest
        for values in (np.array([1, 2]), np.array([1, 3]))
    }
    assert len(digests) == 1


def test_a_column_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    import keepset.exchange.memory.held_table as module

    looked: list[str] = []

    def content_digest(table: pa.Table, names: list[str]) -> dict[str, bytes]:
        looked.extend(names)
        return {name: name.encode() for name in names}

    monkeypatch.setattr(module, "content_digest", content_digest)
    ds = ks.from_arrow(TABLE)
    for each in (ds.select("x"), ds, ds.batch(2)):
        identify(each.__keepset_node__())
    assert looked == ["x", "name"]


def test_numbers_are_not_copied() -> None:
    numbers = np.arange(10_000)
    ds = ks.from_arrow(pa.table({"x": numbers}))
    [batch] = ds.batch(10_000)
    assert np.shares_memory(batch["x"], numbers)
    assert not batch["x"].flags.writeable


def batches_of(table: pa.Table) -> Iterator[pa.RecordBatch]:
    yield from table.to_batches(max_chunksize=2)


TABLE = pa.table({"x": range(5), "name": list("abcde")})


@pytest.mark.parametrize(
    "source",
    [
        lambda: TABLE,
        lambda: TABLE.to_batches(max_chunksize=2),
        lambda: batches_of(TABLE),
        lambda: TABLE.combine_chunks().to_batches()[0],
        lambda: TABLE.to_reader(2),
        lambda: pl.DataFrame(TABLE),
        lambda: [TABLE.slice(0, 2), TABLE.slice(2)],
    ],
)
def test_tables_come_in_many_forms(source: Callable[[], Any]) -> None:
    ds = ks.from_arrow(source())
    assert [plain(row) for row in ds] == [plain(row) for row in TABLE.to_pylist()]


@pytest.mark.parametrize("odd", [5, "a.arrow", {"x": [1]}, [], [1], None, object()])
def test_what_is_no_table_is_refused(odd: Any) -> None:
    with pytest.raises(ks.InvalidArgumentError):
        ks.from_arrow(odd)


def test_batches_of_different_schemas_are_refused() -> None:
    batches = [pa.record_batch({"x": [1]}), pa.record_batch({"y": [1]})]
    with pytest.raises(ks.InvalidArgumentError, match="different schemas"):
        ks.from_arrow(batches)


def test_missing_values_are_errors_with_their_rows() -> None:
    table = pa.table({"x": pa.chunked_array([[1, 2], [3, None, 5]])})
    ds = ks.from_arrow(table)
    with pytest.raises(ks.ElementError, match=r"row 3: 'x' has no value.*missing=\{'x': 0\}"):
        list(ds)
    given: list[int] = []
    with pytest.raises(ks.ElementError):
        given.extend(int(row["x"]) for row in ds)
    assert given == [1, 2, 3]
    assert [int(row["x"]) for row in ds.ignore_errors()] == [1, 2, 3, 5]
    with pytest.raises(ks.ElementError, match="row 3"):
        ds.gather([4, 0, 3])
    filled = ks.from_arrow(table, missing={"x": -1}, types={"x": "float32"})
    assert [row["x"].item() for row in filled] == [1, 2, 3, -1, 5]
    assert filled.element_spec == {"x": ks.TensorSpec([], "float32")}


def test_a_table_travels_to_other_processes() -> None:
    ds = ks.from_arrow(pa.concat_tables([TABLE, TABLE]))
    again = pickle.loads(pickle.dumps(ds))
    ks.assert_equal(again, ds)
    assert identify(again._node).fingerprint == identify(ds._node).fingerprint


def test_a_large_table_is_named_in_a_recipe_and_given_again() -> None:
    table = pa.table({"x": np.arange(50_000), "y": np.arange(50_000.0)})
    ds = ks.from_arrow(table).select("y").batch(100)
    recipe = ks.Recipe.parse(ds.to_recipe().to_yaml())
    assert len(recipe.to_json()) < 2000
    with pytest.raises(ks.RecipeError, match=r"table of 50,000 rows: y .*data=\{'0.table': \.\.\."):
        ks.from_recipe(recipe)
    again = ks.from_recipe(recipe, data={"0.table": recut(table)}, on_change="error")
    ks.assert_equal(again.take(3), ds.take(3))
    with pytest.raises(ks.RecipeError, match=r"data\['0.table'\] is not the table"):
        ks.from_recipe(recipe, data={"0.table": table.slice(1)})
    with pytest.raises(ks.RecipeError, match="is needed, not int"):
        ks.from_recipe(recipe, data={"0.table": 5})


def test_a_damaged_table_in_a_recipe_is_an_error_of_ours() -> None:
    told = ks.from_arrow(TABLE).to_recipe().to_yaml()
    start = told.index("$base64: ") + len("$base64: ")
    for place in range(start, start + 300, 7):
        letter = "A" if told[place] != "A" else "B"
        spoilt = told[:place] + letter + told[place + 1 :]
        try:
            list(ks.from_recipe(ks.Recipe.parse(spoilt), on_change="ignore").take(100))
        except ks.KeepsetError:
            continue


# Arrow, out:


def rich(i: int) -> dict[str, Any]:
    return {
        "z": np.int32(i),
        "name": b"no. %d" % i,
        "raw": bytes([i, 255]),
        "in": {"z": np.arange(i % 3), "a": np.full((2, 2), i, np.float16), "t": (1.5, b"x")},
        "image": np.full((i % 2 + 1, 2, 3), i, np.uint8),
        "ragged": ks.Ragged.from_rows([np.arange(i), np.arange(2)]),
        "words": ks.Ragged.from_rows([["a"] * (i + 1), ["b"]]),
        "day": np.datetime64(i, "D"),
        "when": np.datetime64("NaT", "s") if i == 1 else np.datetime64(i, "s"),
        "tags": np.array([b"a", b"b"][: i % 3], object),
        "even": np.bool_(i % 2 == 0),
        "mask": np.array([[True], [False]]),
        "nothing": np.zeros((2, 0)),
    }


ODD: list[list[Any]] = [
    [np.int64(i) for i in range(3)],
    [b"a", b"\xff"],
    [(np.int64(i), {"b": b"%d" % i}) for i in range(3)],
    [np.array([1, 2], ml_dtypes.bfloat16)],
    [ks.Sparse([[i]], [i], (3,)) for i in range(3)],
    [{"c": np.complex64(1 + 2j), "d": np.timedelta64(3, "m")}],
    [{"b.c": np.int8(1), "b": {"c": np.int8(2)}}],
    [{1: np.int8(1), "1": np.int8(2)}],
    [{"a": None, "b": np.int8(2)}],
]


@pytest.mark.parametrize("rows", [[rich(i) for i in range(5)], *ODD], ids=range(1 + len(ODD)))
@pytest.mark.parametrize("text", [True, False])
def test_elements_come_back_from_arrow_as_they_were(rows: list[Any], text: bool) -> None:
    table = of(rows).to_arrow(text=text)
    assert_elements_equal(list(ks.from_arrow(table)), rows)
    assert_elements_equal(list(ks.from_arrow(table.to_batches())), rows)


def test_tables_look_as_others_expect() -> None:
    table = of([rich(i) for i in range(3)]).to_arrow()
    assert table.column_names == list(rich(0))
    kinds = {field.name: str(field.type) for field in table.schema}
    assert kinds["name"] == "string"
    assert kinds["raw"] == "binary"
    assert kinds["tags"] == "list<item: string>"
    assert kinds["words"] == "list<item: list<item: string>>"
    assert kinds["even"] == "bool"
    inner = table.schema.field("in").type
    assert [field.name for field in inner] == ["z", "a", "t"]
    assert table.slice(2, 1).select(["name", "day"]).to_pylist() == [
        {"name": "no. 2", "day": datetime.date(1970, 1, 3)}
    ]


def test_text_is_found_field_by_field() -> None:
    rows = [{"in": {"a": b"x", "b": b"\xff"}, "list": np.array([b"\xff"], object)}]
    table = of(rows).to_arrow()
    assert table.to_pylist() == [{"in": {"a": "x", "b": b"\xff"}, "list": [b"\xff"]}]
    assert_elements_equal(list(ks.from_arrow(table)), rows)


def test_a_table_that_was_changed_is_read_as_any_other() -> None:
    table = of([{"a": {"x": np.int64(i)}, "b": np.int64(i)} for i in range(3)]).to_arrow()
    wider = pa.array([{"x": i, "y": i} for i in range(3)])
    for changed in (
        table.append_column("c", pa.array([7, 8, 9])),
        table.drop_columns("a"),
        table.set_column(0, "a", wider),
        table.set_column(0, "a", pa.array([1, 2, 3])),
    ):
        assert [plain(row) for row in ks.from_arrow(changed)] == changed.to_pylist()


@pytest.mark.parametrize("method", ["to_arrow", "to_pandas", "to_polars"])
def test_limits_and_no_elements(method: str) -> None:
    endless = ks.Dataset.counter().map(lambda x: {"x": x})
    with pytest.raises(ks.InvalidArgumentError, match=r"never ends.*limit=n"):
        getattr(endless, method)()
    assert len(getattr(endless, method)(limit=7)) == 7
    with pytest.raises(ks.InvalidArgumentError, match="limit=-1"):
        getattr(endless, method)(limit=-1)
    signature = {"x": ks.TensorSpec([2], "int8"), "in": {"s": ks.TensorSpec([], "string")}}
    none = getattr(of([], signature), method)()
    assert len(none) == 0
    if method != "to_pandas":
        assert list(ks.from_arrow(none)) == []
    assert "x" in (none.column_names if method == "to_arrow" else none.columns)
    with pytest.raises(ks.UnknownSpecError, match="output_signature="):
        getattr(of([]), method)()
    with pytest.raises(ks.ElementError, match="a table needs columns"):
        getattr(of([None]), method)()


@pytest.mark.parametrize("method", ["to_arrow", "to_pandas", "to_polars"])
def test_shapes_that_vary_are_found_before_anything_is_made(method: str) -> None:
    ds = ks.Dataset.range(3000).map(lambda x: {"x": np.arange(x % 4), "y": np.zeros((x % 3, 2))})
    table = getattr(ds, method)()
    back = ks.from_pandas(table) if method == "to_pandas" else ks.from_arrow(table)
    assert [row["x"].tolist() for row in back] == [list(range(i % 4)) for i in range(3000)]
    assert [row["y"].shape for row in back] == [(i % 3, 2) for i in range(3000)]


def test_elements_of_no_common_type_are_refused() -> None:
    with pytest.raises(ks.ElementError, match=r"no common type.*with map"):
        of([{"x": 1}, {"x": "a"}]).to_arrow()
    with pytest.raises(ks.ElementError, match="structure"):
        of([{"x": 1}, {"y": 1}]).to_arrow()


# pandas:


def frame() -> pd.DataFrame:
    zone = "Europe/Madrid"
    return pd.DataFrame(
        {
            "x": [1.5, np.nan],
            "n": pd.array([1, 2], "Int16"),
            "ok": pd.array([True, False], "boolean"),
            "text": ["a", "é"],
            "raw": pd.Series([b"a", b"\xff"], dtype=object),
            "kind": pd.Series(["u", "v"], dtype="category"),
            "number": pd.Series([30, 40], dtype="category"),
            "when": pd.to_datetime(["2024-01-01", "2024-07-01"]).tz_localize(zone),
            "span": pd.to_timedelta([1, 2], "s"),
            "day": [datetime.date(2024, 1, 1), datetime.date(2024, 1, 2)],
            "list": [[1], [2, 3]],
            "lists": [[[1], []], [[2, 3]]],
            "dict": [{"p": 1, "q": "x"}, {"p": 2, "q": "y"}],
            "vector": [np.arange(3, dtype=np.float32)] * 2,
            "ragged": [np.arange(2), np.arange(3)],
            "matrix": [np.eye(2), np.ones((2, 2))],
            "growing": [np.zeros((1, 2)), np.zeros((3, 2))],
            "words": [np.array(["a", "b"]), np.array(["c"])],
            "arrow": pd.array([1, 2], dtype=pd.ArrowDtype(pa.uint8())),
        }
    )


def test_columns_of_pandas_are_what_they_mean() -> None:
    ds = ks.from_pandas(frame())
    expected = {
        "x": np.float64(np.nan),
        "n": np.int16(2),
        "ok": np.bool_(False),
        "text": "é".encode(),
        "raw": b"\xff",
        "kind": b"v",
        "number": np.int64(40),
        "when": np.datetime64("2024-06-30T22:00", "us"),
        "span": np.timedelta64(2_000_000, "us"),
        "day": np.datetime64("2024-01-02"),
        "list": np.array([2, 3]),
        "lists": ks.Ragged.from_rows([[2, 3]]),
        "dict": {"p": np.int64(2), "q": b"y"},
        "vector": np.arange(3, dtype=np.float32),
        "ragged": np.arange(3),
        "matrix": np.ones((2, 2)),
        "growing": np.zeros((3, 2)),
        "words": np.array([b"c"], object),
        "arrow": np.uint8(2),
    }
    row = ds[1]
    # Versions of pandas keep times in different units.
    row["when"], row["span"] = row["when"].astype("M8[us]"), row["span"].astype("m8[us]")
    assert_elements_equal([row], [expected])
    spec = ds.element_spec
    shapes = {name: spec[name].shape for name in ("vector", "ragged", "matrix", "growing")}
    assert shapes == {"vector": (3,), "ragged": (None,), "matrix": (2, 2), "growing": (None, 2)}


def test_numbers_of_pandas_are_not_copied() -> None:
    given = pd.DataFrame({"x": np.arange(1000.0), "y": np.arange(1000)})
    [batch] = ks.from_pandas(given).batch(1000)
    for name in ("x", "y"):
        assert np.shares_memory(batch[name], given[name].to_numpy())


def test_missing_values_of_pandas() -> None:
    given = pd.DataFrame({"x": [1.0, np.nan], "n": pd.array([1, None], "Int64"), "s": ["a", None]})
    with pytest.raises(ks.ElementError, match="row 1: 'n' has no value"):
        list(ks.from_pandas(given))
    ds = ks.from_pandas(given, missing={"n": -1, "s": "-", "x": -2})
    assert [plain(row) for row in ds] == [
        {"x": 1.0, "n": 1, "s": b"a"},
        {"x": -2.0, "n": -1, "s": b"-"},
    ]
    times = pd.DataFrame({"t": pd.to_datetime(["2024-01-01", None])})
    assert np.isnat(ks.from_pandas(times)[1]["t"])


def test_the_index_is_left_out_unless_it_is_wanted() -> None:
    given = pd.DataFrame({"x": [1, 2]}, index=pd.Index([10, 20], name="id"))
    assert [plain(row) for row in ks.from_pandas(given)] == [{"x": 1}, {"x": 2}]
    assert plain(ks.from_pandas(given, index=True)[1]) == {"id": 20, "x": 2}
    assert plain(ks.from_pandas(given[::-1])[0]) == {"x": 2}


def test_names_of_columns_become_text() -> None:
    assert plain(ks.from_pandas(pd.DataFrame([[1, 2]]))[0]) == {"0": 1, "1": 2}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"x": [1, "a"]}, r"the column 'x' of object cannot be read.*astype"),
        ({"x": [1 + 2j]}, "no complex numbers"),
        ({"x": pd.period_range("2024", periods=1, freq="M")}, "to_timestamp"),
        ({"x": pd.interval_range(0, 1)}, "left"),
        ({"x": pd.arrays.SparseArray([0, 1])}, "to_dense"),
        ({"x": [np.zeros((1, 2)), np.zeros((1, 3))]}, r"row 1 is float64 of shape \(1, 3\)"),
        ({"x": [object()]}, "'x'"),
        ({}, "no columns"),
        ({("a", "b"): [1]}, "several levels"),
    ],
)
def test_columns_that_no_element_can_have_are_refused(given: Any, message: str) -> None:
    with pytest.raises(ks.InvalidArgumentError, match=message):
        ks.from_pandas(pd.DataFrame(given))


def test_other_things_than_frames_are_refused() -> None:
    twice = pd.DataFrame([[1, 2]], columns=["a", "a"])
    with pytest.raises(ks.InvalidArgumentError, match="several columns named 'a'"):
        ks.from_pandas(twice)
    for odd in ({"x": [1]}, pd.Series([1])):
        with pytest.raises(ks.InvalidArgumentError, match=r"a pandas\.DataFrame is needed"):
            ks.from_pandas(odd)
    with pytest.raises(ks.InvalidArgumentError, match=r"polars\.DataFrame.*collect"):
        ks.from_polars(pl.LazyFrame({"x": [1]}))
    decimals = ks.from_pandas(pd.DataFrame({"x": [Decimal("1.5")]}), types={"x": "float64"})
    assert plain(decimals[0]) == {"x": 1.5}


def test_a_frame_has_a_column_for_each_leaf() -> None:
    made = of([rich(i) for i in range(3)]).to_pandas()
    assert list(made.columns)[:7] == ["z", "name", "raw", "in.z", "in.a", "in.t.0", "in.t.1"]
    assert made["z"].dtype == np.int32
    assert made["name"].tolist() == ["no. 0", "no. 1", "no. 2"]
    assert made["raw"].tolist() == [b"\x00\xff", b"\x01\xff", b"\x02\xff"]
    assert made["in.a"][1].dtype == np.float16
    assert made["image"][1].shape == (2, 2, 3)
    assert made["ragged"][2] == [[0, 1], [0, 1]]
    assert made["words"][1] == [["a", "a"], ["b"]]
    assert made["tags"][2].tolist() == ["a", "b"]
    assert made["even"].dtype == bool
    assert pd.isna(made["when"][1])
    raw = of([rich(0)]).to_pandas(text=False)
    assert raw["name"].tolist() == [b"no. 0"]


def test_a_frame_is_the_users_own() -> None:
    numbers, matrices = np.arange(4), np.zeros((4, 2))
    made = ks.Dataset.from_tensor_slices({"x": numbers, "m": matrices}).to_pandas()
    made.loc[0, "x"] = 9
    made["m"][0][0] = 9
    assert numbers[0] == 0
    assert matrices[0, 0] == 0


@pytest.mark.parametrize("rows", [ODD[0], ODD[1], ODD[2], ODD[3], ODD[6], ODD[8]])
def test_odd_elements_become_frames_too(rows: list[Any]) -> None:
    assert len(of(rows).to_pandas()) == len(rows)


def test_what_pandas_and_polars_do_not_have_is_refused() -> None:
    sparse = of([ks.Sparse([[0]], [1], (3,))])
    for method in (sparse.to_pandas, sparse.to_polars):
        with pytest.raises(ks.ElementError, match="to_dense"):
            method()
    for method in (of([{"x": ml_dtypes.bfloat16(1)}]).to_pandas, of(ODD[3]).to_polars):
        with pytest.raises(ks.ElementError, match=r"bfloat16.*cast it with map"):
            method()
    windows = ks.Dataset.range(4).window(2)
    for method in (windows.to_arrow, windows.to_pandas, windows.to_polars):
        with pytest.raises(ks.ElementError, match="batch or flat_map"):
            method()
    any_rank = of([np.zeros(2), np.zeros((2, 2))])
    with pytest.raises(ks.ElementError, match=r"number of dimensions.*output_signature"):
        any_rank.to_polars()
    assert len(any_rank.to_pandas()) == 2


@given(table=tables())
def test_pandas_and_polars_give_back_what_they_got(table: pa.Table) -> None:
    ds = ks.from_arrow(table)
    expected = [plain(row) for row in table.to_pylist()]
    if table.num_rows:
        flat = [name for name in table.column_names if table.schema.field(name).type != POINT]
        if flat:
            made = ds.select(*flat).to_pandas()
            wanted = [{name: row[name] for name in flat} for row in expected]
            assert [plain(row) for row in ks.from_pandas(made)] == wanted
    assert [plain(row) for row in ks.from_polars(ds.to_polars())] == expected


# Polars:


def test_columns_of_polars_are_what_they_mean() -> None:
    given = pl.DataFrame(
        {
            "s": ["a", "é"],
            "b": [b"a", b"\xff"],
            "list": [[1], [2, 3]],
            "array": pl.Series([[1, 2], [3, 4]], dtype=pl.Array(pl.Int8, 2)),
            "matrix": pl.Series([[[1], [2]], [[3], [4]]], dtype=pl.Array(pl.Float32, (2, 1))),
            "kind": pl.Series(["x", "y"], dtype=pl.Categorical),
            "enum": pl.Series(["y", "x"], dtype=pl.Enum(["x", "y"])),
            "struct": [{"p": 1, "q": ["a"]}, {"p": 2, "q": []}],
            "when": pl.Series([0, 1]).cast(pl.Datetime("ms", "Europe/Madrid")),
            "date": pl.Series([0, 1]).cast(pl.Date),
            "ok": [True, None],
        }
    )
    expected = {
        "s": "é".encode(),
        "b": b"\xff",
        "list": np.array([2, 3]),
        "array": np.array([3, 4], np.int8),
        "matrix": np.array([[3], [4]], np.float32),
        "kind": b"y",
        "enum": b"x",
        "struct": {"p": np.int64(2), "q": np.array([], object)},
        "when": np.datetime64(1, "ms"),
        "date": np.datetime64(1, "D"),
        "ok": np.bool_(True),
    }
    assert_elements_equal([ks.from_polars(given, missing={"ok": True})[1]], [expected])


@pytest.mark.parametrize(
    "column", [pl.Series([object()], dtype=pl.Object), pl.Series([1], dtype=pl.Int128)]
)
def test_columns_of_polars_that_no_element_can_have_are_refused(column: pl.Series) -> None:
    with pytest.raises(ks.InvalidArgumentError, match="the column 'x'"):
        ks.from_polars(pl.DataFrame({"x": column}))


def test_a_field_may_be_called_as_it_likes() -> None:
    given = pl.DataFrame({"Object": [{"Object": 1}]})
    assert plain(ks.from_polars(given)[0]) == {"Object": {"Object": 1}}


def test_elements_become_columns_of_polars() -> None:
    made = of([rich(i) for i in range(3)]).to_polars()
    schema = made.schema
    assert schema["in"] == pl.Struct(
        {
            "z": pl.List(pl.Int64),
            "a": pl.Array(pl.Float16, (2, 2)),
            "t": pl.Struct({"0": pl.Float64, "1": pl.String}),
        }
    )
    assert schema["image"] == pl.List(pl.Array(pl.UInt8, (2, 3)))
    assert schema["words"] == pl.List(pl.List(pl.String))
    assert schema["mask"] == pl.Array(pl.Boolean, (2, 1))
    assert schema["raw"] == pl.Binary
    assert made["when"].to_list()[1] is None


# What all of them share:


@pytest.mark.parametrize(
    "make",
    [
        lambda: ks.from_arrow(pa.concat_tables([TABLE.slice(0, 2), TABLE.slice(2)])),
        lambda: ks.from_pandas(TABLE.to_pandas()),
        lambda: ks.from_polars(pl.DataFrame(TABLE)),
    ],
)
def test_tables_keep_the_promises_of_a_source(make: Callable[[], ks.Dataset]) -> None:
    check_dataset(make, expected=TABLE.to_pylist())


def test_what_was_kept_of_a_table_is_found_again(tmp_path: Path) -> None:
    first = ks.from_pandas(TABLE.to_pandas()).snapshot(tmp_path)
    assert len(list(first)) == 5
    again = ks.from_pandas(TABLE.to_pandas())
    assert ks.explain(again.snapshot(tmp_path), tmp_path).hit
    changed = TABLE.to_pandas()
    changed.loc[3, "x"] = 9
    assert not ks.explain(ks.from_pandas(changed).snapshot(tmp_path), tmp_path).hit


def test_a_missing_package_is_named() -> None:
    script = (
        "import sys, keepset as ks\n"
        "sys.modules['{0}'] = None\n"
        "try:\n    ks.Dataset.range(3).to_{1}()\n"
        "except ks.MissingExtraError as error:\n    print(error)\n"
    )
    for package, method, extra in (
        ("pandas", "pandas", "pandas"),
        ("polars", "polars", "polars"),
        ("datasets", "hf", "hf"),
    ):
        command = [sys.executable, "-c", script.format(package, method)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert f"'keepset[{extra}]'" in done.stdout
