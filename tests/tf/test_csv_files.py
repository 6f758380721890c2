"""CSV as TensorFlow reads it: whole numbers are not rounded unless the user says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keepset.tf as ktf
from keepset.errors import ElementError


def read(path: Path, lines: list[str], **given: Any) -> list[Any]:
    path.write_text("x\n" + "\n".join(lines) + "\n")
    ds = ktf.data.experimental.make_csv_dataset(str(path), 1, num_epochs=1, shuffle=False, **given)
    return [np.asarray(batch["x"])[0] for batch in ds]


@pytest.mark.parametrize(
    ("lines", "dtype"),
    [
        (["1", "2"], "int32"),
        (["1", str(2**40)], "int64"),
        (["1", str(2**64 - 1)], "uint64"),
        (["1", "0.5"], "float32"),
        (["16777217", "0.5"], "float64"),
        (["1e300", "0.5"], "float64"),
    ],
)
def test_types_are_found_that_hold_every_number(
    lines: list[str], dtype: str, tmp_path: Path
) -> None:
    values = read(tmp_path / "a.csv", lines)
    assert [value.dtype.name for value in values] == [dtype] * 2
    wanted = [float(each) if "float" in dtype else int(each) for each in lines]
    assert [value.item() for value in values] == wanted


@pytest.mark.parametrize(
    ("lines", "line"),
    [
        ([str(2**64)], 2),
        (["-1", str(2**63 + 1)], 3),
        (["-1", str(2**63)], 3),
        ([str(2**53 + 1), "0.5"], 3),
    ],
)
def test_a_number_that_no_type_holds_is_an_error(
    lines: list[str], line: int, tmp_path: Path
) -> None:
    with pytest.raises(ElementError, match=rf"a\.csv: line {line}: 'x' has .*column_defaults"):
        read(tmp_path / "a.csv", lines)
    values = read(tmp_path / "a.csv", lines, column_defaults=[np.float64(0)])
    assert values == [float(each) for each in lines]
    assert read(tmp_path / "a.csv", lines, column_defaults=[b""]) == [
        each.encode() for each in lines
    ]


def test_a_number_that_comes_late_is_an_error_too(tmp_path: Path) -> None:
    lines = ["0.5"] * 5 + [str(2**53 + 1)]
    with pytest.raises(ElementError, match="would round"):
        read(tmp_path / "a.csv", lines, num_rows_for_inference=5)
