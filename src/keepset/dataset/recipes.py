"""Recipes of data sets, and data sets of recipes."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Final

from keepset.core.node import Node
from keepset.dataset import Dataset
from keepset.dataset.kept_stages import snapshot_stage
from keepset.errors import (
    InvalidArgumentError,
    RecipeChangedWarning,
    RecipeError,
    UntrustedRecipeError,
)
from keepset.recipe.changes import changes_since
from keepset.recipe.document import Recipe
from keepset.recipe.imports import Trust
from keepset.recipe.permissions import check_trust
from keepset.recipe.reading import Builder, RecipeReader

ON_CHANGE: Final = ("warn", "error", "ignore")


def from_recipe(
    recipe: Recipe | Mapping[str, Any] | str | os.PathLike[str],
    *,
    trust: bool = False,
    allowed_modules: Sequence[str] = (),
    data: Mapping[str, Any] | None = None,
    moved: Mapping[str, str] | None = None,
    on_change: str = "warn",
    **options: Any,
) -> Dataset:
    """The pipeline that a recipe tells of.

    Reading a recipe never runs code by itself. Functions that it names are imported only from
    modules that are allowed; those whose source it holds are made only with ``trust=True``. What is
    missing is an error that names the stages.

    Args:
        recipe: A recipe, the file of one (JSON or YAML), or its content as a dict.
        trust: Whether its code may run: read it first.
        allowed_modules: Modules, or packages with all that is in them, from which functions may be
            imported.
        data: What the recipe names and does not hold, by the names in it: large arrays, and secrets
            such as ``{"1.function > fetch > API_KEY": key}``.
        moved: Where files and what was kept are now: ``{"/old/folder": "/new/folder"}``.
        on_change: What to do if files or functions are not what they were when the recipe was
            written: ``"warn"``, ``"error"`` or ``"ignore"``.
        options: For files in object stores: credentials, endpoint and such.

    Example:
        >>> recipe = Dataset.range(10).batch(4).to_recipe()
        >>> [batch.tolist() for batch in from_recipe(recipe)]
        [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    """
    if on_change not in ON_CHANGE:
        choices = ", ".join(map(repr, ON_CHANGE))
        raise InvalidArgumentError(f"on_change must be one of {choices}, not {on_change!r}")
    found = _recipe_of(recipe)
    allowed = (allowed_modules,) if isinstance(allowed_modules, str) else tuple(allowed_modules)
    nodes = nodes_of(found, Trust(trust, allowed), data or {}, moved or {}, options)
    changes = [] if on_change == "ignore" else changes_since(found, nodes)
    if changes:
        text = "not what it was when the recipe was written: " + "; ".join(changes)
        if on_change == "error":
            raise RecipeError(f"{text}; pass on_change='warn' to run it all the same")
        warnings.warn(text, RecipeChangedWarning, stacklevel=2)
    return Dataset(nodes[-1])


def _recipe_of(recipe: Any) -> Recipe:
    if isinstance(recipe, Recipe):
        return recipe
    if isinstance(recipe, Mapping):
        return Recipe(recipe)
    if isinstance(recipe, str) and "\n" in recipe:
        return Recipe.parse(recipe)
    if isinstance(recipe, str | os.PathLike):
        return Recipe.read(recipe)
    raise InvalidArgumentError(
        f"a recipe is a file, a dict or a Recipe, not {type(recipe).__name__}"
    )


def nodes_of(
    recipe: Recipe,
    trust: Trust,
    data: Mapping[str, Any],
    moved: Mapping[str, str],
    options: Mapping[str, Any],
) -> list[Node]:
    """The stages of a recipe."""
    check_trust(recipe.stages, trust)
    reader = RecipeReader(trust, Dataset, _BUILDERS, data, moved, options)
    try:
        return reader.nodes(recipe.stages)
    except UntrustedRecipeError:
        raise
    except RecipeError as error:
        if error.stage is None:
            raise
        line = recipe.line_of(error.stage)
        raise RecipeError(
            f"{recipe.place_of(error.stage)}: {error}", stage=error.stage, line=line
        ) from error


def _snapshot(inputs: list[Node], parameters: dict[str, Any]) -> Node:
    """A snapshot whose fingerprint is found anew, unless it was given by hand."""
    [parent] = inputs
    given = dict(parameters)
    reader = given.pop("reader", None)
    return snapshot_stage(
        Dataset,
        parent,
        given.pop("path"),
        compression=given.pop("compression", "AUTO"),
        reader_func=None if reader is None else reader.reader_func,
        num_shards=None if reader is None else reader.num_shards,
        shard_func=given.pop("shard_func", None),
        fingerprint=given.pop("fingerprint", None),
        strict=given.pop("strict", False),
        ignore=given.pop("ignore", ()),
        writable=False,
        options=given.pop("store_options", None) or {},
        **{key: value for key, value in given.items() if key != "name"},
    )


_BUILDERS: Final[dict[str, Builder]] = {"snapshot": _snapshot}
