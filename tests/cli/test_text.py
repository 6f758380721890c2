"""What commands show of elements with ``str``."""

from pathlib import Path
from typing import Any

import pytest
from tests.cli.commands import answer, keepset

import keepset as ks

SPEC = {"list": ks.TensorSpec((None,), ks.text), "word": ks.TensorSpec((), ks.text)}


@pytest.fixture
def place(tmp_path: Path) -> str:
    rows: list[Any] = [{"list": ["a", "é"], "word": "red \x1b[31m"}, {"list": [], "word": "x" * 99}]
    ks.Dataset.from_generator(lambda: iter(rows), output_signature=SPEC).save(str(tmp_path / "a"))
    return str(tmp_path / "a")


def test_cat_shows_text_and_obeys_none_of_it(place: str) -> None:
    first, second, third, fourth = answer("cat", place).splitlines()
    assert first.split() == ["0", "list", "text[2]", '["a"', '"é"]']
    assert second.split(maxsplit=2) == ["word", "text", r'"red \x1b[31m"']
    assert third.split() == ["1", "list", "text[0]", "[]"]
    assert fourth.endswith("99 characters")
    assert answer("cat", place, "--json").startswith('{"list": ["a", ')


def test_inspect_names_the_dtype(place: str) -> None:
    assert [line.split() for line in answer("inspect", place).splitlines() if "text" in line] == [
        ["list", "text", "[?]"],
        ["word", "text", "scalar"],
    ]


def test_diff_tells_text_from_bytes(place: str, tmp_path: Path) -> None:
    other = str(tmp_path / "b")
    ks.Dataset.load(place).map(lambda row: row).save(other)
    result = keepset("diff", place, other)
    assert result.exit_code == 1
    assert "text and string" in result.stdout
    assert keepset("diff", place, place).exit_code == 0
