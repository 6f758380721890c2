"""Tables count by what they hold, not by how they were built or cut."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from keepset.core.fingerprint import fingerprint_of_value


def digest(value: Any) -> str:
    return fingerprint_of_value(value).digest


def columns(**changed: Any) -> dict[str, Any]:
    return {
        "a": np.arange(5),
        "b": np.arange(5) / 2,
        "c": list("vwxyz"),
        "d": [1.5, None, 2.5, None, 0.0],
        **changed,
    }


def frames() -> list[Any]:
    """Frames of which no two are the same, made anew."""
    frame = pd.DataFrame(columns())
    noted = frame.copy()
    noted.attrs["unit"] = "m"
    return [
        frame,
        noted,
        pd.DataFrame(columns(a=np.arange(1, 6))),
        pd.DataFrame(columns(a=np.arange(5, dtype="i4"))),
        pd.DataFrame(columns(c=list("vwxya"))),
        pd.DataFrame(columns(c=pd.Categorical(list("vwxyz")))),
        pd.DataFrame(columns(c=pd.Categorical(list("vwxyz"), list("zyxwv")))),
        pd.DataFrame(columns(d=pd.array([1, None, 2, None, 3], dtype="Int64"))),
        pd.DataFrame(columns(d=pd.array([1, None, 2, None, 4], dtype="Int64"))),
        pd.DataFrame(columns(d=pd.date_range("2024", periods=5))),
        pd.DataFrame(columns(d=pd.date_range("2024", periods=5, tz="UTC"))),
        frame[["b", "a", "c", "d"]],
        frame.rename(columns={"a": "A"}),
        frame.set_index("c"),
        frame.set_index(["c", "a"]),
        frame.iloc[:3],
        frame.iloc[1:4],
        frame["a"],
        frame["a"].rename("b"),
        frame.index,
        frame.columns,
        pd.Index([0, 1, 2, 3, 4]),
    ]


def test_frames_count_by_content() -> None:
    digests = [digest(value) for value in frames()]
    assert digests == [digest(value) for value in frames()]
    assert len(set(digests)) == len(digests)


def test_how_a_frame_was_built_does_not_count() -> None:
    whole = pd.DataFrame(columns())
    built = pd.DataFrame({"a": np.arange(5)})
    for name, column in columns().items():
        built[name] = column
    joined = pd.concat([whole[["a", "b"]], whole[["c", "d"]]], axis=1)
    longer = pd.concat([whole, whole], ignore_index=True).iloc[:5]
    expected = digest(whole)
    for other in (built, joined, whole.copy(), longer.copy()):
        assert digest(other) == expected
    indexed = whole.set_index(["c", "a"])
    kept = indexed[indexed["b"] < 1]
    assert digest(kept) == digest(kept.copy().set_index(kept.index.remove_unused_levels()))


def test_what_lies_under_a_mask_of_pandas_does_not_count() -> None:
    one, other = (
        pd.arrays.IntegerArray(np.array(x), np.array([False, True])) for x in ([1, 2], [1, 3])
    )
    assert digest(pd.Series(one)) == digest(pd.Series(other))


TABLE: dict[str, list[Any]] = {
    "a": list(range(100)),
    "b": [None if n % 3 else n / 2 for n in range(100)],
    "c": [None if n % 7 == 0 else str(n) for n in range(100)],
    "d": [[n] * (n % 3) for n in range(100)],
    "e": [n % 2 == 0 for n in range(100)],
    "f": [{"x": n, "y": str(n)} for n in range(100)],
}


@pytest.mark.parametrize("name", TABLE)
def test_slices_and_chunks_of_an_arrow_table_do_not_count(name: str) -> None:
    table = pa.table({name: TABLE[name]})
    part = pa.table({name: TABLE[name][11:61]}, schema=table.schema)
    expected = digest(part)
    chunked = pa.concat_tables([table.slice(11, 20), table.slice(31, 30)])
    for other in (table.slice(11, 50), chunked, chunked.combine_chunks()):
        assert digest(other) == expected
    assert digest(table.slice(12, 50)) != expected
    assert digest(table.slice(11, 49)) != expected
    [batch] = part.to_batches()
    assert digest(batch) == digest(
        pa.RecordBatch.from_pydict({name: TABLE[name]}, schema=table.schema)[11:61]
    )


def test_arrow_tables_count_by_schema() -> None:
    table = pa.table({"a": pa.array([1, 2]), "b": pa.array(["x", "y"])})
    made = [
        table,
        table.rename_columns(["a", "c"]),
        table.select(["b", "a"]),
        table.cast(pa.schema([("a", pa.int32()), ("b", pa.string())])),
        table.cast(pa.schema([("a", pa.int64()), ("b", pa.large_string())])),
        table.replace_schema_metadata({"k": "v"}),
        table.cast(pa.schema([pa.field("a", pa.int64(), nullable=False), ("b", pa.string())])),
        table.schema,
        table["a"],
        table["b"],
        pa.array([1, None]),
        pa.array([None, 1]),
        pa.array([], pa.int64()),
        pa.array(["x", "x"]).dictionary_encode(),
        pa.array(["x", "y"]).dictionary_encode(),
        pa.array(["x", "z"]).dictionary_encode(),
        pa.StructArray.from_arrays([pa.array(["x", "y"]).dictionary_encode()], ["a"]),
        pa.StructArray.from_arrays([pa.array(["x", "z"]).dictionary_encode()], ["a"]),
    ]
    assert len({digest(value) for value in made}) == len(made)


def test_the_dictionary_of_a_slice_does_not_count() -> None:
    words = pa.array(["x", "y", "z"]).dictionary_encode()
    assert digest(words[1:]) == digest(pa.array(["y", "z"]).dictionary_encode())
    halves = pa.chunked_array([words[:2], words[2:].dictionary_decode().dictionary_encode()])
    assert digest(halves) == digest(pa.chunked_array([words]))
    nothing = pa.chunked_array([], words.type)
    assert digest(nothing) != digest(pa.chunked_array([words]))


def test_polars_frames_count_by_content() -> None:
    def made() -> list[Any]:
        frame = pl.DataFrame(columns())
        return [
            frame,
            frame.select("b", "a", "c", "d"),
            frame.rename({"a": "A"}),
            frame.with_columns(pl.col("a") + 1),
            frame.with_columns(pl.col("a").cast(pl.Int32)),
            frame.with_columns(pl.col("c").cast(pl.Categorical)),
            frame["c"],
            frame["c"].alias("d"),
            frame.head(3),
        ]

    digests = [digest(value) for value in made()]
    assert digests == [digest(value) for value in made()]
    assert len(set(digests)) == len(digests)


def test_slices_of_a_polars_frame_do_not_count() -> None:
    frame = pl.DataFrame(columns())
    expected = digest(frame[1:4])
    assert digest(pl.DataFrame(frame[1:4].to_dict(as_series=False))) == expected
    assert digest(pl.concat([frame[1:2], frame[2:4]], rechunk=False)) == expected
    assert digest(frame[0:3]) != expected


def test_a_frame_of_a_user_s_class_counts_its_class() -> None:
    class Mine(pd.DataFrame):  # type: ignore[misc]
        def go(self) -> int:
            return 1

    class Other(pd.DataFrame):  # type: ignore[misc]
        def go(self) -> int:
            return 2

    Other.__name__ = "Mine"
    assert digest(Mine({"a": [1]})) != digest(Other({"a": [1]}))
