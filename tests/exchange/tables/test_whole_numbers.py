"""Whole numbers of any size are read as they are written, or are an error: never rounded."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import keepset as ks
from keepset.exchange.tables import text_blocks

Number = int | float
IN_FOLDER = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50, deadline=None
)
SIGNED, UNSIGNED = st.integers(-(2**63), 2**63 - 1), st.integers(0, 2**64 - 1)
NEAR = st.sampled_from([2**53, 2**63, 2**64, -(2**53), -(2**63), 10**20, 0])
WHOLE = st.one_of(
    st.integers(-100, 100),
    SIGNED,
    UNSIGNED,
    st.builds(lambda number, more: number + more, NEAR, st.integers(-3, 3)),
    st.integers(-(2**80), 2**80),
)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)


def csv_of(folder: Path, numbers: Sequence[Number]) -> Path:
    path = folder / "some.csv"
    path.write_text("x\n" + "".join(f"{number!r}\n" for number in numbers))
    return path


def json_of(folder: Path, numbers: Sequence[Number]) -> Path:
    path = folder / "some.jsonl"
    path.write_text("".join(json.dumps({"x": number}) + "\n" for number in numbers))
    return path


def nested_of(folder: Path, numbers: Sequence[Number]) -> Path:
    path = folder / "nested.jsonl"
    path.write_text("".join(json.dumps({"a": {"x": [number]}}) + "\n" for number in numbers))
    return path


def read_nested(path: Path) -> ks.Dataset:
    return ks.read_json_lines(path).map(lambda row: {"x": row["a"]["x"][0]})


FORMATS: dict[str, tuple[Callable[..., Path], Callable[..., ks.Dataset]]] = {
    "csv": (csv_of, ks.read_csv),
    "json lines": (json_of, ks.read_json_lines),
    "nested": (nested_of, read_nested),
}
formats = pytest.mark.parametrize("form", FORMATS)


def expected(numbers: Sequence[Number]) -> str | None:
    """The dtype of a column of these numbers; None if there is none."""
    whole = [number for number in numbers if isinstance(number, int)]
    if len(whole) == len(numbers):
        if all(-(2**63) <= number < 2**63 for number in whole):
            return "int64"
        return "uint64" if all(0 <= number < 2**64 for number in whole) else None
    in_range = all(-(2**63) <= number < 2**64 for number in whole)
    return "float64" if in_range and all(int(float(n)) == n for n in whole) else None


@formats
@IN_FOLDER
@given(numbers=st.lists(WHOLE | FLOATS, min_size=1, max_size=6))
def test_numbers_are_exact_or_an_error(form: str, numbers: list[Number], tmp_path: Path) -> None:
    write, read = FORMATS[form]
    path = write(tmp_path, numbers)
    dtype = expected(numbers)
    if dtype is None:
        with pytest.raises(ks.CorruptRecordError, match=r"some|nested") as caught:
            list(read(path))
        assert "line" in str(caught.value)
        return
    values = [row["x"] for row in read(path)]
    assert [value.item() for value in values] == numbers
    assert {value.dtype.name for value in values} == {dtype}


@formats
@IN_FOLDER
@given(
    first=st.sampled_from([1, -1, 2**63, 0.5]),
    late=st.lists(WHOLE | FLOATS, min_size=1, max_size=3),
)
def test_numbers_that_come_late_are_exact_or_an_error(
    form: str, first: Number, late: list[Number], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_blocks, "BLOCK_BYTES", 64)
    write, read = FORMATS[form]
    numbers = [first] * 60 + late  # more than a block
    path = write(tmp_path, numbers)
    # Types are those of the first rows, so that a few more are refused.
    if expected(numbers) is not None and expected(numbers) == expected([first]):
        assert [row["x"].item() for row in read(path)] == numbers
    else:
        with pytest.raises(ks.CorruptRecordError, match="line"):
            list(read(path))


@pytest.mark.parametrize("form", ["csv", "jsonl"])
@settings(IN_FOLDER, max_examples=20)
@given(rows=st.lists(st.tuples(SIGNED, UNSIGNED, FLOATS), min_size=1))
def test_numbers_come_back_as_they_were_written(
    form: str, rows: list[tuple[int, int, float]], tmp_path: Path
) -> None:
    dtypes = {"i": "int64", "u": "uint64", "f": "float64"}
    columns = dict(zip(dtypes, zip(*rows, strict=True), strict=True))
    ds = ks.Dataset.from_tensor_slices(
        {name: np.array(columns[name], dtype) for name, dtype in dtypes.items()}
    )
    path = tmp_path / f"some.{form}"
    write, read = (
        (ds.write_csv, ks.read_csv) if form == "csv" else (ds.write_json_lines, ks.read_json_lines)
    )
    write(path)
    for types in (None, dtypes):
        found = list(read(path, types=types))
        for name, values in columns.items():
            assert [row[name].item() for row in found] == list(values)


@pytest.mark.parametrize(
    ("numbers", "value", "way_out"),
    [
        ([1, 2**63, -1], str(2**63), "uint64"),
        ([1, 2**64], str(2**64), "string"),
        ([0.5, 2**53 + 1], str(2**53 + 1), "string"),
        ([0.5, 2**64], str(2**64), "string"),
        ([1, 2, 10**4000], "1" + "0" * 50, "string"),
    ],
)
def test_the_error_names_line_column_value_and_a_way_out(
    numbers: list[Number], value: str, way_out: str, tmp_path: Path
) -> None:
    lines = [repr(number) for number in numbers]
    path = tmp_path / "some.csv"
    path.write_text("x\n" + "\n".join(lines) + "\n")
    with pytest.raises(ks.CorruptRecordError) as caught:
        list(ks.read_csv(path))
    message = str(caught.value)
    line = 2 + next(i for i, text in enumerate(lines) if text.startswith(value))
    for part in (str(path), f"line {line}:", "'x'", value[:50], f"types={{'x': '{way_out}'}}"):
        assert part in message
    if way_out == "string":
        texts = [row["x"].decode() for row in ks.read_csv(path, types={"x": "string"})]
        assert texts == lines


def test_the_user_may_ask_for_floats_that_are_rounded(tmp_path: Path) -> None:
    numbers: list[Any] = [0.5, 2**53 + 1, 10**30]
    for write, read in (FORMATS["csv"], FORMATS["json lines"]):
        values = [row["x"].item() for row in read(write(tmp_path, numbers), types={"x": "float64"})]
        assert values == [0.5, 2.0**53, 1e30]


def test_bad_numbers_can_be_left_out(tmp_path: Path) -> None:
    for write, read in (FORMATS["csv"], FORMATS["json lines"]):
        path = write(tmp_path, [0.5, 2**53 + 1, 1.5])
        with pytest.warns(ks.CorruptRecordWarning, match="1 bad row"):
            values = [row["x"].item() for row in read(path, on_bad_row="skip")]
        assert values == [0.5, 1.5]


def test_hexadecimal_numbers_do_not_become_negative(tmp_path: Path) -> None:
    path = tmp_path / "some.csv"
    path.write_text("x\n0xFFFFFFFFFFFFFFFF\n0x1F\n")
    assert [row["x"].item() for row in ks.read_csv(path)] == [2**64 - 1, 31]
    path.write_text("x\n0xFFFFFFFFFFFFFFFF\n-1\n")
    with pytest.raises(ks.CorruptRecordError, match="0xFFFFFFFFFFFFFFFF"):
        list(ks.read_csv(path))
