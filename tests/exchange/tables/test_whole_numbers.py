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
        ([1, 2**63, -1], str(2**63), "string"),
        ([-1, 2**63], str(2**63), "string"),
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


def test_hexadecimal_ids_are_texts_and_no_numbers(tmp_path: Path) -> None:
    path = tmp_path / "some.csv"
    for ids in (["0x10", "0x00ff"], ["0xFFFFFFFFFFFFFFFF", "-1"], ["7", "0X1F"]):
        path.write_text("\n".join(["x", *ids]))
        assert [row["x"].decode() for row in ks.read_csv(path)] == ids
    for types in (None, {"x": "int64"}):
        path.write_text("x\n" + "1\n" * 600_000 + "0x10\n")
        with pytest.raises(ks.CorruptRecordError, match=r"line 600002: 'x' has '0x10'.*'string'"):
            list(ks.read_csv(path, types=types).skip(599_999))
    path.write_text("x,id\n" + "1,0x10\n2,0x20\n")
    assert [row["x"].item() for row in ks.read_csv(path)] == [1, 2]


@pytest.mark.parametrize("quote", ["", '"'])
def test_whole_numbers_may_have_a_plus_sign(quote: str, tmp_path: Path) -> None:
    path = tmp_path / "some.csv"

    def read(*cells: str, **options: Any) -> list[Any]:
        path.write_text("x,y\n" + "".join(f"{quote}{cell}{quote},\n" for cell in cells))
        return [row["x"].item() for row in ks.read_csv(path, columns=["x"], **options)]

    assert read("+5", "6", " +7 ") == [5, 6, 7]
    assert read("+5", str(2**53 + 1)) == [5, 2**53 + 1]
    assert read("+5", str(2**64 - 1)) == [5, 2**64 - 1]
    assert read("+5", "", missing={"x": -1}) == [5, -1]
    assert read("+5", "6", types={"x": "uint8"}) == [5, 6]
    assert read("+5", "6.5") == [5.0, 6.5]
    assert read(*["1"] * 600_000, "+5")[-1] == 5
    with pytest.raises(ks.CorruptRecordError, match=r"line 3: 'x' has '\+256', which is no uint8"):
        read("+5", "+256", types={"x": "uint8"})


@pytest.mark.parametrize("form", ["csv", "json lines"])
def test_a_type_that_is_given_is_taken_at_its_word(form: str, tmp_path: Path) -> None:
    """What the guide says of ``types``: floats are the nearest ones, integers are exact."""
    write, read = FORMATS[form]

    def found(number: Number, dtype: str) -> Any:
        [row] = read(write(tmp_path, [number]), types={"x": dtype})
        return row["x"]

    assert found(16777217, "float32") == np.float32(16777216)
    assert found(2**53 + 1, "float64") == 2.0**53
    assert found(1e39, "float32") == np.float32(np.inf)
    for number, dtype in ((300, "uint8"), (-1, "uint64"), (1.5, "int64"), (2**63, "int64")):
        with pytest.raises(ks.CorruptRecordError, match=f"which is no {dtype}"):
            found(number, dtype)


def test_a_number_beyond_the_range_of_floats_is_an_error_and_the_word_for_it_is_not(
    tmp_path: Path,
) -> None:
    path = tmp_path / "some.csv"
    for text in ("1e400", "-1.5E+999", ".5e500"):
        path.write_text(f"x\n0.5\n{text}\n")
        with pytest.raises(ks.CorruptRecordError, match=r"line 3: 'x' has"):
            list(ks.read_csv(path))
    path.write_text("x\n0.5\ninf\n1e300\n1e-400\n")
    assert [float(row["x"]) for row in ks.read_csv(path)] == [0.5, np.inf, 1e300, 0.0]
    path.write_text("x\n0.5\n1e400\n")
    assert [float(row["x"]) for row in ks.read_csv(path, types={"x": "float64"})] == [0.5, np.inf]
