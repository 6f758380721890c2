"""Nonsense in recipes: whatever a document says, it is an error of ours or a pipeline."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import keepset as ks
from keepset.recipe.stages import STAGES

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 2**65) | st.floats() | st.text(max_size=5)
    | st.sampled_from(["int64", "float32", "string", "os:system", "0", "range", "/etc/passwd"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["$tuple", "$dict", "$array", "$dtype", "$spec", "$keepset", "$function", "$again",
             "$element", "$chunk", "$rows", "$structure", "$random", "$dataset", "$scalar", "$set",
             "$range", "$slice", "$data", "$bytes", "$base64", "$float", "$complex", "$partial",
             "$method", "$object", "$import", "$module", "$path", "$ellipsis", "dtype", "shape"]
        ), inner, max_size=2),
    max_leaves=8,
)  # fmt: skip


def pipelines() -> list[ks.Dataset]:
    numbers = ks.Dataset.range(9)
    return [
        numbers.batch(2).shuffle(3, seed=1).repeat(2),
        ks.Dataset.zip(numbers, numbers.skip(1)).take(3),
        ks.Dataset.from_tensor_slices({"a": np.arange(6.0), "b": [b"x"] * 6}).padded_batch(2),
        numbers.with_options(ks.Options(threads=1)).prefetch(2).enumerate(),
        ks.Dataset.sample_from_datasets([numbers, numbers], seed=3).ragged_batch(2),
    ]


RECIPES = [ds.to_recipe().to_dict() for ds in pipelines()]


def places(told: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """All places of a document."""
    inner = told.items() if isinstance(told, dict) else enumerate(told)
    found = []
    for key, value in inner:
        found.append((*path, key))
        if isinstance(value, dict | list):
            found += places(value, (*path, key))
    return found


@settings(max_examples=300)
@given(data=st.data())
def test_nonsense_is_an_error_of_ours(data: st.DataObject) -> None:
    recipe = copy.deepcopy(data.draw(st.sampled_from(RECIPES)))
    for _ in range(data.draw(st.integers(1, 3))):
        *above, last = data.draw(st.sampled_from(places(recipe)))
        around: Any = recipe
        for key in above:
            around = around[key]
        around[last] = data.draw(JSON | st.just(copy.deepcopy(around[last])))
    _try(recipe)


@settings(max_examples=200)
@given(
    name=st.sampled_from(sorted(STAGES)),
    given_parameters=st.dictionaries(
        st.sampled_from(["start", "stop", "tensors", "batch_size", "count", "location", "columns",
                         "files", "layout", "chunk", "function", "path", "source", "dtype"]),
        JSON, max_size=4,
    ),
)  # fmt: skip
def test_any_stage_with_any_parameters(name: str, given_parameters: dict[str, Any]) -> None:
    first = {"stage": "range", "start": 0, "stop": 5, "dtype": {"$dtype": "int64"}}
    _try({"keepset_recipe": 1, "stages": [first, {"stage": name, **given_parameters}]})


def _try(recipe: Any) -> None:
    try:
        ds = ks.from_recipe(recipe, on_change="ignore")
    except ks.KeepsetError:
        return
    assert isinstance(ds, ks.Dataset)


@pytest.mark.parametrize("text", ["[" * 1500, '{"a":' * 1500, "- " * 1500 + "a", "a: {" * 1500])
def test_what_is_nested_too_deep_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "deep.yaml"
    path.write_text(text)
    with pytest.raises(ks.RecipeError, match=r"deep\.yaml"):
        ks.from_recipe(path)
