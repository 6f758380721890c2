"""Recipes as text: JSON and YAML, errors that point at a line, and the published schema."""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.stand_ins import is_stand_in

import keepset as ks
from keepset.core.node import Node
from keepset.recipe.schema import schema
from keepset.recipe.stages import STAGES, stage_name

DOCS = Path(__file__).parents[2] / "docs" / "format"

YAML = """\
keepset_recipe: 1
stages:
- stage: range
  start: 0
  stop: 10
  dtype: {$dtype: int64}
- stage: batch
  batch_size: 4
"""


def test_what_people_write_is_read(tmp_path: Path) -> None:
    expected = [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert [batch.tolist() for batch in ks.from_recipe(YAML)] == expected
    (tmp_path / "r.yaml").write_text(YAML)
    assert [batch.tolist() for batch in ks.from_recipe(tmp_path / "r.yaml")] == expected
    recipe = ks.Recipe.read(tmp_path / "r.yaml")
    recipe.save(tmp_path / "r.json")
    assert json.loads((tmp_path / "r.json").read_text()) == recipe.to_dict()
    assert ks.Recipe.read(tmp_path / "r.json") == recipe
    assert sorted(p.name for p in tmp_path.iterdir()) == ["r.json", "r.yaml"]


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("keepset_recipe: 1", "keepset_recipe: 2", 1, "version 2"),
        ("keepset_recipe: 1", "other: 1", 1, "not a recipe"),
        ("stage: batch", "stage: bach", 7, "must be one of"),
        ("batch_size: 4", "batch_sise: 4", 7, "batch_sise"),
        ("batch_size: 4", "batch_size: 0", 7, "batch_size"),
        ("batch_size: 4", "batch_size: [", 9, "expected"),
        ("batch_size: 4", "inputs: [1]\n  batch_size: 4", 7, "inputs"),
        ("batch_size: 4", "inputs: 0\n  batch_size: 4", 8, "inputs must be array"),
        ("batch_size: 4", "batch_size: {$unknown: 4}", 7, r"\$unknown"),
        ("- stage: batch", "- stage: zip\n- stage: batch", 7, "layout"),
        ("stages:", "extra: 1\nstages:", 1, "extra"),
        ("stop: 10", "stop: &a 10", None, None),
        ("batch_size: 4", "batch_size: *a", 8, "alias|anchors|undefined"),
    ],
)
def test_errors_point_at_the_line(old: str, new: str, line: int | None, words: str | None) -> None:
    text = YAML.replace(old, new)
    assert text != YAML
    if words is None:
        ks.from_recipe(text)
        return
    with pytest.raises(ks.RecipeError, match=words) as caught:
        ks.from_recipe(text)
    assert f"line {line}" in str(caught.value) or line == 1 or "alias" in str(caught.value)


def test_aliases_are_refused() -> None:
    bomb = "keepset_recipe: 1\nstages: &a\n- stage: range\n  start: *a\n"
    with pytest.raises(ks.RecipeError, match="anchors and aliases"):
        ks.from_recipe(bomb)


@pytest.mark.parametrize("text", ["", "[]\n", "3\n", "{}\n", "\n\n", "!!python/object:os.system\n"])
def test_what_is_no_recipe_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "odd.yaml"
    path.write_text(text)
    with pytest.raises(ks.RecipeError, match=r"odd\.yaml"):
        ks.from_recipe(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ks.RecipeError, match="UTF-8"):
        ks.from_recipe(path)
    with pytest.raises(FileNotFoundError):
        ks.from_recipe(tmp_path / "missing.yaml")


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text()
    | st.binary() | st.complex_numbers(allow_nan=False)
    | st.builds(np.int32, st.integers(-9, 9)) | st.builds(np.float16, st.floats(-9, 9))
    | st.builds(lambda n: np.arange(n, dtype=np.float32), st.integers(0, 200))
    | st.builds(lambda n: np.arange(n, dtype=np.int16).reshape(-1, 1), st.integers(0, 9)),
    lambda inner: st.lists(inner, max_size=4)
    | st.lists(inner, max_size=4).map(tuple)
    | st.dictionaries(st.text(max_size=3) | st.integers(), inner, max_size=4)
    | st.sets(st.integers() | st.text(max_size=3), max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(value=PLAIN)
def test_every_plain_value_comes_back(value: Any) -> None:
    ds = ks.Dataset.range(1).map(lambda x: (x, value))
    recipe = ds.to_recipe()
    for text in (recipe.to_json(), recipe.to_yaml()):
        again = ks.from_recipe(ks.Recipe.parse(text), trust=True, on_change="error")
        [cell] = again._node.function.__closure__  # type: ignore[attr-defined]
        assert same(cell.cell_contents, value)


def same(one: Any, other: Any) -> bool:
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and one.shape == other.shape and bool((one == other).all())
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, float | np.floating):
        return bool(one == other) or bool(one != one and other != other)
    return bool(one == other)


def test_the_published_schema_is_that_of_the_code() -> None:
    """After a change: ``python -m keepset.recipe.schema > docs/format/recipe-1.schema.json``."""
    assert json.loads((DOCS / "recipe-1.schema.json").read_text()) == schema()


def test_every_stage_of_the_library_has_a_name() -> None:
    for module in pkgutil.walk_packages(ks.__path__, "keepset."):
        if not module.name.startswith(("keepset.tf", "keepset.adapters", "keepset.__main__")):
            importlib.import_module(module.name)
    known = {kind for kind in subclasses(Node) if kind.__module__.startswith("keepset.")}
    concrete = {kind for kind in known if not inspect.isabstract(kind) and not is_stand_in(kind)}
    named = {f"keepset.{place.replace(':', '.')}" for place in STAGES.values()}
    assert {f"{kind.__module__}.{kind.__name__}" for kind in concrete} <= named
    assert stage_name(ks.Dataset.range(1)._node) == "range"


def subclasses(kind: type) -> set[type]:
    found: set[type] = set(kind.__subclasses__())
    return found.union(*map(subclasses, found))
