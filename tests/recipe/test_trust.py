"""Trust: reading a recipe runs nothing that was not allowed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from tests.recipe.test_functions import Scaler, helper

import keepset as ks

OWN = helper.__module__


@pytest.fixture
def trap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module that leaves a mark when it is imported."""
    (tmp_path / "trapped.py").write_text(
        "from pathlib import Path\n"
        f"Path({str(tmp_path)!r}, 'sprung').touch()\n"
        "def f(x): return x\n"
        "class C: pass\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path / "sprung"


NAMING_CODE: list[Any] = [
    {"$function": "trapped:f"},
    {"$import": "trapped:C"},
    {"$module": "trapped"},
    {"$object": {"class": "trapped:C", "state": {}}},
    {"$partial": {"function": {"$function": "trapped:f"}, "arguments": [], "keywords": {}}},
    {"$method": {"of": {"$module": "trapped"}, "name": "f"}},
    {"$function": {"name": "f", "source": "lambda x: x", "uses": {"t": {"$module": "trapped"}}}},
    [{"deep": {"$tuple": [{"$dict": [[1, {"$import": "trapped:f"}]]}]}}],
    {"$dataset": [{"stage": "range", "start": 0, "stop": 1, "dtype": {"$dtype": "int64"}},
                  {"stage": "map", "function": {"$function": "trapped:f"}}]},
]  # fmt: skip


@pytest.mark.parametrize("told", NAMING_CODE)
@pytest.mark.parametrize("place", ["function", "output_signature", "name"])
def test_nothing_is_imported_or_made_without_trust(told: Any, place: str, trap: Path) -> None:
    recipe = ks.Dataset.range(3).map(lambda x: x).to_recipe().to_dict()
    recipe["stages"][1]["function"] = {"$function": "trapped:f"}
    recipe["stages"][1][place] = told
    for allowed in ((), ("trap",), ("trapped2", "os")):
        with pytest.raises((ks.UntrustedRecipeError, ks.RecipeError), match=r"stage|name"):
            ks.from_recipe(recipe, allowed_modules=allowed)
    assert not trap.exists()
    assert "trapped" not in sys.modules


def test_the_error_lists_the_stages_that_need_trust() -> None:
    ds = ks.Dataset.range(9).map(helper).filter(lambda x: x > 2).batch(2).map(Scaler.method)
    with pytest.raises(ks.UntrustedRecipeError) as caught:
        ks.from_recipe(ds.to_recipe())
    message = str(caught.value)
    assert f"stage 1, map, imports {OWN}:helper" in message
    assert "stage 2, filter, holds the source of <lambda>" in message
    assert f"stage 4, map, imports {OWN}:Scaler.method" in message
    assert "stage 3" not in message
    assert "trust=True" in message


def test_a_module_is_enough_for_what_is_imported() -> None:
    recipe = ks.Dataset.range(9).map(helper).to_recipe()
    with pytest.raises(ks.UntrustedRecipeError, match=r"allowed_modules=\['tests'\]"):
        ks.from_recipe(recipe)
    for allowed in ([OWN], ["tests"], "tests"):
        ds = ks.from_recipe(recipe, allowed_modules=allowed)
        assert [int(x) for x in ds][:3] == [7, 8, 9]


def test_a_module_is_not_enough_for_source() -> None:
    recipe = ks.Dataset.range(9).map(lambda x: x + 1).to_recipe()
    with pytest.raises(ks.UntrustedRecipeError, match="holds the source of <lambda>"):
        ks.from_recipe(recipe, allowed_modules=["tests", "builtins"])


@pytest.mark.parametrize(
    "path",
    [
        "os:system",
        "storage.local:LocalStore",
        "snapshot.upkeep.removing:remove_snapshot",
        "nodes.map:Map",
        "cli.main:main",
        "..os:system",
        "core.options:dataclass",
    ],
)
def test_only_values_that_say_so_are_made_of_the_library(path: str) -> None:
    recipe = ks.Dataset.range(3).with_options(ks.Options()).to_recipe().to_dict()
    recipe["stages"][1]["chosen"] = {"$keepset": path}
    with pytest.raises(ks.RecipeError, match="stage 1, with_options"):
        ks.from_recipe(recipe)


def test_a_pipeline_without_code_needs_no_trust() -> None:
    ds = ks.Dataset.range(20).shuffle(5, seed=1).batch(3, drop_remainder=True).repeat(2).take(9)
    ks.assert_equal(ks.from_recipe(ds.to_recipe()), ds)


@pytest.mark.parametrize("spelled", [lambda path: path, lambda path: {"$path": path}])
@pytest.mark.parametrize("method", ["snapshot", "cache"])
def test_a_place_to_write_to_needs_trust_however_it_is_spelled(
    method: str, spelled: Any, tmp_path: Path
) -> None:
    path = str(tmp_path / "out")
    told = getattr(ks.Dataset.range(3), method)(path).to_recipe().to_dict()
    stage = told["stages"][1]
    name = "path" if method == "snapshot" else "filename"
    assert stage[name] == path
    stage[name] = spelled(path)
    with pytest.raises(ks.UntrustedRecipeError, match="writes to"):
        list(ks.from_recipe(told, on_change="ignore"))
    assert not list(tmp_path.iterdir())
