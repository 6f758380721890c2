"""Chunks as record batches for others, and the way back."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.format.bits import bits
from tests.format.test_layout import DTYPES, ROWS, leaf_shapes, strings

import keepset as ks
from keepset.core.chunk import Chunk
from keepset.core.spec import common_supertype, spec_of
from keepset.exchange.arrow.out import ArrowOut
from keepset.exchange.arrow.rows import ArrowRows


def through_ipc(table: pa.Table) -> pa.Table:
    sink = io.BytesIO()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return pa.ipc.open_file(sink.getvalue()).read_all()


def through_parquet(table: pa.Table) -> pa.Table:
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return pq.read_table(io.BytesIO(sink.getvalue()))


def table_of(rows: list[Any], text: bool = False) -> pa.Table:
    out = ArrowOut(common_supertype([spec_of(row) for row in rows]), text)
    batches = list(out.batches(Chunk.from_rows(rows)))
    for batch in batches:
        batch.validate(full=True)
    return pa.Table.from_batches(batches, out.schema)


def check_round_trip(rows: list[Any], text: bool = False) -> pa.Table:
    table = table_of(rows, text)
    kept = [table, through_ipc(table)]
    if table.num_columns:
        kept.append(through_parquet(table))
    for each in kept:
        read = ArrowRows(each.schema)
        assert read.spec == common_supertype([spec_of(row) for row in rows])
        assert bits(tuple(read.chunk(each).rows)) == bits(tuple(rows))
        if table.num_columns:  # without, Arrow does not cut it
            assert bits(tuple(read.chunk(each.slice(1)).rows)) == bits(tuple(rows[1:]))
    return table


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_dtype_comes_back_as_it_was(dtype: np.dtype[Any]) -> None:
    raw = np.arange(3 * 4 * dtype.itemsize, dtype=np.uint8) % 2
    if dtype in (np.dtype("M8[D]"), np.dtype("M8[s]")):
        raw = np.arange(12).view(np.uint8)  # Arrow and Parquet have less room than NumPy
    array = raw.view(dtype).reshape(3, 4)
    check_round_trip(list(array))
    check_round_trip(list(array[0]))
    check_round_trip([array, array[:2]])
    check_round_trip([array[0], array[1, :2], array, array[0, 0]])
    check_round_trip([ks.Ragged(array[0], [0, 1, 1, 4])] * 2)
    check_round_trip([ks.Sparse([[1], [5]], array[0, :2], (9,))] * 2)


@pytest.mark.parametrize("rows", ROWS, ids=repr)
def test_odd_elements_come_back_as_they_were(rows: list[Any]) -> None:
    check_round_trip(rows)


@given(st.lists(leaf_shapes, min_size=1, max_size=6), st.sampled_from(DTYPES))
def test_arrays_of_any_shapes_come_back(shapes: list[list[int]], dtype: np.dtype[Any]) -> None:
    rng = np.random.default_rng(len(shapes))
    rows = [rng.integers(0, 2, shape).astype(dtype) for shape in shapes]
    check_round_trip([row if row.ndim else row[()] for row in rows])


def test_others_see_types_that_they_know() -> None:
    nat = np.datetime64("NaT")
    rows: list[Any] = [
        {
            "z": np.bool_(True),
            "flags": np.array([True, False]),
            "day": np.datetime64("2024-02-29"),
            "at": np.datetime64(5, "s"),
            "word": b"ada",
            "words": strings(b"x", "é".encode()),
            "vector": np.arange(2.0),
            "rows": ks.Ragged([1, 2, 3], [0, 2, 3]),
        },
        {
            "z": np.bool_(False),
            "flags": np.array([False, False]),
            "day": nat.astype("M8[D]"),
            "at": nat.astype("M8[s]"),
            "word": b"",
            "words": strings(),
            "vector": np.arange(2.0),
            "rows": ks.Ragged([4], [0, 0, 1]),
        },
    ]
    table = check_round_trip(rows, text=True)
    # In the order in which the entries are written.
    assert {field.name: str(field.type) for field in table.schema} == {
        "z": "bool",
        "flags": "fixed_size_list<item: bool>[2]",
        "day": "date32[day]",
        "at": "timestamp[s]",
        "word": "string",
        "words": "list<item: string>",
        "vector": "fixed_size_list<item: double>[2]",
        "rows": "list<item: list<item: int64>>",
    }
    assert table.schema.names == list(rows[0])
    assert table.to_pylist()[0]["words"] == ["x", "é"]
    assert table.to_pylist()[1]["day"] is None
    assert table.to_pylist()[1]["rows"] == [[], [4]]


def test_text_is_chosen_by_name() -> None:
    row = {"a": b"x", "b": b"y", "n": 1}
    spec = spec_of(ks.Dataset.from_tensors(row).get_single_element())
    assert ArrowOut(spec, text="a").schema.types[:2] == [pa.string(), pa.binary()]
    assert ArrowOut(spec, text=["b"]).schema.types[:2] == [pa.binary(), pa.string()]
    with pytest.raises(ks.InvalidArgumentError, match=r"'n', which is no column of bytes; .*'a'"):
        ArrowOut(spec, text="n")
    with pytest.raises(ks.InvalidArgumentError, match="'gone', which is no column"):
        ArrowOut(spec, text=["gone"])


@pytest.mark.parametrize(
    ("rows", "row"),
    [
        ([b"fine", b"\xff\xfe"], 1),
        ([strings(b"fine"), strings(b"a", b"\xff\xfe")], 1),
        ([ks.Ragged(strings(b"\xff\xfe"), [0, 1])], 0),
    ],
)
def test_bytes_that_are_no_text_are_named(rows: list[Any], row: int) -> None:
    with pytest.raises(
        ks.ElementError, match=r"'value': this is no text in UTF-8: b'\\xff\\xfe'"
    ) as caught:
        table_of(rows, text=True)
    assert caught.value.row == row


def test_elements_unlike_the_first_ones_say_what_to_do() -> None:
    out = ArrowOut(spec_of({"x": np.zeros(3)}))
    list(out.batches(Chunk.from_rows([{"x": np.zeros(3)}] * 5)))
    with pytest.raises(ks.ElementError, match=r"leaf 'x': .*\(4,\).*\(3,\).*output_signature"):
        list(out.batches(Chunk.from_rows([{"x": np.zeros(4)}])))
    with pytest.raises(ks.ElementError, match="output_signature"):
        list(out.batches(Chunk.from_rows([{"x": np.zeros(3, np.float32)}])))
    with pytest.raises(ks.ElementError, match="one structure"):
        list(out.batches(Chunk.from_rows([{"y": np.zeros(3)}])))


def test_dates_beyond_those_of_arrow_are_refused() -> None:
    with pytest.raises(ks.ElementError, match="'value' cannot be written") as caught:
        table_of([np.datetime64(1, "D"), np.datetime64(1 << 40, "D")])
    assert caught.value.row == 1


def test_more_than_goes_into_one_batch_goes_into_several(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("encoding", "strings"):
        monkeypatch.setattr(f"keepset.format.encodings.{module}._LARGEST_OFFSET", 10)
    rows = [b"sixsix", b"seven..", b"one"]
    out = ArrowOut(spec_of(b""))
    batches = list(out.batches(Chunk.from_rows(rows)))
    assert [batch.num_rows for batch in batches] == [1, 2]
    with pytest.raises(ks.ElementError, match="2 GiB"):
        list(out.batches(Chunk.from_rows([b"eleven char"])))


def test_a_table_that_somebody_changed_is_read_as_it_is() -> None:
    table = table_of([{"x": np.int64(1), "y": b"a"}, {"x": np.int64(2), "y": b"b"}])
    assert table.schema.metadata[b"keepset"]
    for changed, row in (
        (table.drop_columns(["y"]), {"x": np.int64(1)}),
        (table.append_column("z", pa.array([5.0, 6.0])), {"x": 1, "y": b"a", "z": 5.0}),
        (table.rename_columns(["a", "b"]), {"a": 1, "b": b"a"}),
        (table.select(["y", "x"]), {"x": 1, "y": b"a"}),
        (table.set_column(0, "x", pa.array(["p", "q"])), {"x": b"p", "y": b"a"}),
        (table.replace_schema_metadata({b"keepset": b"{}"}), {"x": 1, "y": b"a"}),
    ):
        first = ArrowRows(changed.schema).chunk(changed).rows[0]
        assert first == row


def test_missing_values_in_what_was_written_without_are_an_error() -> None:
    table = table_of([{"x": np.int64(1)}])
    schema = table.schema.set(0, table.schema.field(0).with_nullable(True))
    spoilt = pa.table([pa.array([1, None])], schema=schema)
    with pytest.raises(ks.ElementError, match=r"'x' is not as it was written.*rows from 7 on"):
        ArrowRows(schema).chunk(spoilt, 7)


def test_a_table_of_a_newer_version_is_refused() -> None:
    schema = pa.schema([("x", pa.int64())], metadata={"keepset": '{"format": 999, "spec": null}'})
    with pytest.raises(ks.NewerFormatError, match="999"):
        ArrowRows(schema, where="some.parquet")


def test_entries_of_elements_can_be_read_alone() -> None:
    table = table_of([{"a": {"p": np.int64(1), "q": b"x"}, "b": np.int64(2)}])
    rows = ArrowRows(table.schema, columns=["a"])
    assert rows.names == ["a.p", "a.q"]
    assert rows.chunk(table.select(rows.names)).rows == [{"a": {"p": 1, "q": b"x"}}]
    with pytest.raises(ks.InvalidArgumentError, match=r"'a\.p'; there are 'a', 'b'"):
        ArrowRows(table.schema, columns=["a.p"])
    pairs = table_of([(np.int64(1), np.int64(2))])
    with pytest.raises(ks.InvalidArgumentError, match="not dicts"):
        ArrowRows(pairs.schema, columns=["0"])
