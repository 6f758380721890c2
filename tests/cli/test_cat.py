"""cat: elements as people read them, and as other programs do."""

from __future__ import annotations

import json
from collections import namedtuple
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tests.cli.commands import answer, complaint, damage, keep_a_part, keepset, numbers, process

import keepset as ks
from keepset.cli.elements import element_json, element_lines

Point = namedtuple("Point", "x y")


def lines(path: Path, *arguments: Any) -> list[Any]:
    """The JSON objects that cat prints."""
    return [json.loads(line) for line in answer("cat", path, *arguments, "--json").splitlines()]


def test_the_first_ten_are_printed(tmp_path: Path) -> None:
    numbers(100).save(tmp_path)
    result = keepset("cat", tmp_path)
    shown = result.stdout.splitlines()
    assert shown[:4] == [
        "0  v  float32[7]  [0. 0. 0. 0. 0. 0. 0.]",
        "   x  int64       0",
        "1  v  float32[7]  [1. 1. 1. 1. 1. 1. 1.]",
        "   x  int64       1",
    ]
    assert len(shown) == 20
    assert result.stderr == "10 of 100 elements; --limit 0 prints all, --offset others\n"


def test_some_from_the_middle(tmp_path: Path) -> None:
    numbers(100).save(tmp_path)
    assert [e["x"] for e in lines(tmp_path, "--offset", 97, "--limit", 2)] == [97, 98]
    assert [e["x"] for e in lines(tmp_path, "--offset", 97)] == [97, 98, 99]
    assert len(lines(tmp_path, "--limit", 0)) == 100
    assert "100 is behind the last of 100 elements" in complaint(
        "cat", tmp_path, "--offset", 100, code=2
    )


def test_some_columns(tmp_path: Path) -> None:
    numbers(3).save(tmp_path)
    assert lines(tmp_path, "--column", "x") == [{"x": 0}, {"x": 1}, {"x": 2}]
    assert list(lines(tmp_path, "-c", "x", "-c", "v")[0]) == ["x", "v"]
    assert "there is no y; there is x, v" in complaint("cat", tmp_path, "-c", "y", code=2)
    ks.Dataset.range(3).save(tmp_path / "plain")
    assert "are not dicts" in complaint("cat", tmp_path / "plain", "-c", "y", code=2)


def test_a_column_that_is_not_read_may_be_damaged(tmp_path: Path) -> None:
    ks.Dataset.from_tensor_slices({"a": np.arange(1000), "b": np.arange(1000)}).save(tmp_path)
    damage(tmp_path, byte=-2000)  # in the last column
    assert len(lines(tmp_path, "-c", "a", "--limit", 0)) == 1000
    assert "fails in column 'b'" in complaint("cat", tmp_path)


def test_what_is_kept_of_a_first_pass_is_printed(tmp_path: Path) -> None:
    kept = keep_a_part(tmp_path)
    assert "it is not finished" in keepset("cat", tmp_path).stderr
    assert [e["x"] for e in lines(tmp_path, "--limit", 0)] == list(range(kept))


def test_lines_end_at_the_edge_of_the_terminal(tmp_path: Path) -> None:
    ks.Dataset.from_tensors(np.linspace(0, 1, 16)).save(tmp_path)
    [line] = keepset("cat", tmp_path, columns=40).stdout.splitlines()
    assert len(line) == 40
    assert line.endswith("…")
    assert "…" not in answer("cat", tmp_path)


@pytest.mark.parametrize(
    ("element", "text"),
    [
        (np.int64(5), ["int64  5"]),
        (b"cat", ['string  "cat"']),
        ("café".encode(), ['string  "café"']),
        ("café", ['text  "café"']),
        (b"\xc3", [r"string  b'\xc3'"]),
        (b'a\x1b[31m "b"\n\\', [r'string  "a\x1b[31m \"b\"\n\\"']),
        (b"", ['string  ""']),
        (b"x" * 1000, ["string  " + f'"{"x" * 80}"' + "... 1,000 characters"]),
        (b"\xff" * 1000, ["string  " + repr(b"\xff" * 80) + "... 1,000 bytes"]),
        (np.arange(100), ["int64[100]  [ 0 1 2 ... 97 98 99]"]),
        (np.zeros((0, 3)), ["float64[0, 3]  []"]),
        (np.zeros((9, 9)), ["float64[9, 9]  [[0. 0. ... 0. 0.] [0. 0. ... 0. 0.] ... "
                            "[0. 0. ... 0. 0.] [0. 0. ... 0. 0.]]"]),
        (np.array([b"a", b"\xff"], object), [r"""string[2]  ["a" b'\xff']"""]),
        (np.array([["a  b", "ü"], ["", "c"]], object), ['text[2, 2]  [["a  b" "ü"] ["" "c"]]']),
        ({"name": "Zoë".encode(), "n": np.int8(1)}, ["n     int8    1", 'name  string  "Zoë"']),
        (
            ks.Ragged(np.array([b"a", b"\xc3\xa9"], object), [0, 2]),
            ['string ragged  1 rows, values ["a" "é"]'],
        ),
        (ks.Ragged([1, 2, 3], [0, 2, 2, 3]), ["int64 ragged  3 rows, values [1 2 3]"]),
        (
            ks.Sparse([[0, 1]], [5], [2, 2]),
            ["int64 sparse  1 entries in [2, 2], values [5]"],
        ),
        ((np.int8(1), {"a": np.bool_(True)}), ["0    int8  1", "1.a  bool  True"]),
        (None, ["None"]),
        ((), ["()"]),
    ],
)  # fmt: skip
def test_elements_for_people(element: Any, text: list[str]) -> None:
    assert element_lines(element) == text


@pytest.mark.parametrize(
    ("element", "value"),
    [
        (np.int64(5), {"value": 5}),
        (np.uint64(2**64 - 1), {"value": 2**64 - 1}),
        (np.bool_(True), {"value": True}),
        (np.float32(0.5), {"value": 0.5}),
        (np.array([np.nan, np.inf, -np.inf, 1]), {"value": ["NaN", "Infinity", "-Infinity", 1.0]}),
        (np.array([[1], [2]], np.int8), {"value": [[1], [2]]}),
        (np.zeros((2, 0)), {"value": [[], []]}),
        (b"caf\xc3\xa9", {"value": "café"}),
        ("café", {"value": "café"}),
        (np.array(["a", "é"], object), {"value": ["a", "é"]}),
        (b"\xff\x00", {"value": {"base64": "/wA="}}),
        (np.array([[b"a"], [b"\xff"]], object), {"value": [["a"], [{"base64": "/w=="}]]}),
        (np.complex64(1 + 2j), {"value": {"real": 1.0, "imag": 2.0}}),
        (np.array([np.nan + 1j]), {"value": [{"real": "NaN", "imag": 1.0}]}),
        (np.datetime64("2026-01-02T03:04:05", "s"), {"value": "2026-01-02T03:04:05"}),
        (np.array(["NaT"], "M8[ns]"), {"value": ["NaT"]}),
        (np.timedelta64(5, "s"), {"value": "5 seconds"}),
        (ml_dtypes.bfloat16(0.5), {"value": 0.5}),
        (np.array([1, -2], ml_dtypes.int4), {"value": [1, -2]}),
        (np.array([np.nan], ml_dtypes.float8_e5m2), {"value": ["NaN"]}),
        (np.longdouble(0.5), {"value": 0.5}),
        (ks.Ragged([1.0, np.nan], [0, 2, 2]), {"value": [[1.0, "NaN"], []]}),
        (
            ks.Sparse([[0, 1]], [5], [2, 2]),
            {"value": {"indices": [[0, 1]], "values": [5], "dense_shape": [2, 2]}},
        ),
        ((np.int64(1), (np.int64(2), None)), {"0": 1, "1": [2, None]}),
        (Point(np.int64(1), {"z": b"t"}), {"x": 1, "y": {"z": "t"}}),
        ({3: np.int64(1)}, {"3": 1}),
        (None, {"value": None}),
    ],
)
def test_elements_as_json(element: Any, value: Any) -> None:
    assert element_json(element) == value
    json.dumps(element_json(element), allow_nan=False)


def test_text_is_readable_at_a_shell(tmp_path: Path) -> None:
    ks.Dataset.from_tensor_slices(["é".encode(), b"\xff"]).save(tmp_path)
    assert process("cat", tmp_path).stdout == """0  string  "é"\n1  string  b'\\xff'\n"""


def test_every_line_is_strict_json(tmp_path: Path) -> None:
    ks.Dataset.range(3).map(lambda x: {"f": np.float64(0) / x if x else np.float64("nan")}).save(
        tmp_path
    )
    assert answer("cat", tmp_path, "--json") == '{"f": "NaN"}\n{"f": 0.0}\n{"f": 0.0}\n'
