"""Parameters of a recipe are of the types that stages declare, or it is an error with a line."""

from __future__ import annotations

from pathlib import Path

import pytest

import keepset as ks

HEAD = """keepset_recipe: 1
stages:
- stage: range
  start: 0
  stop: 9
  dtype: {$dtype: int64}
"""


@pytest.mark.parametrize(
    ("stage", "said"),
    [
        ("{stage: take, count: ten}", r"count of take is 'ten', a str; it must be int"),
        ("{stage: take, count: null}", r"count of take is None, a NoneType; it must be int"),
        ("{stage: take, count: true}", r"count of take is True, a bool; it must be int"),
        ("{stage: batch, batch_size: [2]}", r"batch_size of batch is \[2\], a list"),
        ("{stage: batch, batch_size: 2, drop_remainder: 1}", r"drop_remainder of batch .* bool"),
        ("{stage: map, function: 3}", r"function of map is 3, a int; it must be a function"),
        ("{stage: rebatch, batch_size: [1, x]}", r"batch_size .*int or a list of int"),
        ("{stage: shuffle, buffer_size: 2, source: {$random: {seed: x}}}", r"seed of \$random"),
        ("{stage: zip, layout: {$structure: {$tuple: [1, 2]}}}", r"1 datasets for the 2 places"),
    ],
)
def test_another_type_is_an_error_with_its_line(tmp_path: Path, stage: str, said: str) -> None:
    path = tmp_path / "odd.yaml"
    path.write_text(f"{HEAD}- {stage}\n")
    with pytest.raises(ks.RecipeError, match=rf"odd\.yaml, line 7: stage 1, .*{said}"):
        ks.from_recipe(path)


def test_a_list_will_do_for_a_tuple(tmp_path: Path) -> None:
    path = tmp_path / "list.yaml"
    path.write_text(
        f"{HEAD}- {{stage: batch, batch_size: 3}}\n- {{stage: rebatch, batch_size: [2, 1]}}\n"
    )
    assert [len(batch) for batch in ks.from_recipe(path)] == [2, 1, 2, 1, 2, 1]


def test_a_date_stays_a_text(tmp_path: Path) -> None:
    path = tmp_path / "date.yaml"
    path.write_text(f"{HEAD}  name: 2026-01-01\n")
    assert ks.Recipe.read(path).stages[0]["name"] == "2026-01-01"


def test_a_range_has_no_more_elements_than_can_be_counted() -> None:
    with pytest.raises(ks.InvalidArgumentError, match="pass a smaller stop"):
        ks.Dataset.range(2**64)
    assert len(ks.Dataset.range(9, 0, -2)) == len(range(9, 0, -2))
