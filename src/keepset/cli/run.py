"""``keepset run``: a recipe becomes data that is kept."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

import click
import numpy as np

from keepset.cli.arguments import json_option, options_option, pairs, traceback_option
from keepset.cli.completion import complete_compression, complete_path, complete_recipe
from keepset.cli.output import counted, plain, show, show_json
from keepset.core.dtypes import Array
from keepset.core.lineage import Lineage
from keepset.core.node import Node
from keepset.core.size_text import size_text
from keepset.dataset import Dataset
from keepset.dataset.recipes import ON_CHANGE, nodes_of
from keepset.errors import InvalidArgumentError, KeepsetError, RecipeError
from keepset.recipe.changes import changes_since
from keepset.recipe.document import Recipe
from keepset.recipe.imports import Trust
from keepset.recipe.permissions import needs_of
from keepset.snapshot.explaining import explain_node
from keepset.snapshot.looking import Snapshot
from keepset.storage import local_path


@click.command("run")
@click.argument(
    "recipe", type=click.Path(exists=True, dir_okay=False), shell_complete=complete_recipe
)
@click.option(
    "--to",
    "target",
    metavar="PATH",
    shell_complete=complete_path,
    help="Where to store it: a folder or a url.",
)
@click.option("--dry-run", is_flag=True, help="Show what would be run, and run nothing.")
@click.option("--limit", type=click.IntRange(min=0), metavar="N", help="Only the first N elements.")
@click.option("--trust", is_flag=True, help="Run the code that the recipe holds: read it first.")
@click.option(
    "--allow",
    "allowed",
    multiple=True,
    metavar="MODULE",
    help="Import functions from this module or package; may be given again.",
)
@click.option(
    "--moved",
    multiple=True,
    metavar="OLD=NEW",
    callback=pairs,
    help="Files of the folder OLD are in NEW now; may be given again.",
)
@click.option(
    "--data",
    multiple=True,
    metavar="NAME=FILE",
    callback=pairs,
    help="What the recipe only names: an array from a .npy file, a secret from a .txt file.",
)
@click.option(
    "--on-change",
    type=click.Choice(ON_CHANGE),
    default="warn",
    show_default=True,
    help="If files or functions are not what they were.",
)
@click.option(
    "--compression",
    metavar="NAME",
    default="AUTO",
    shell_complete=complete_compression,
    help="LZ4, ZSTD, GZIP or SNAPPY.",
)
@click.option(
    "--progress/--no-progress", default=None, help="Show how far it is, or not; as a terminal asks."
)
@options_option
@json_option
@traceback_option
def command(
    recipe: str,
    target: str | None,
    dry_run: bool,
    limit: int | None,
    trust: bool,
    allowed: tuple[str, ...],
    moved: dict[str, str],
    data: dict[str, str],
    on_change: str,
    compression: str,
    progress: bool | None,
    options: dict[str, Any],
    as_json: bool,
) -> None:
    """Run a recipe, and keep what it gives.

    RECIPE is a file of JSON or YAML, as Dataset.to_recipe() and keepset inspect
    --recipe write it. No code that it holds or names runs unless you say so with
    --trust or --allow. Files and functions that are not what they were when it was
    written are reported before anything runs.

    A run that was interrupted goes on where it was when the same command is run
    again, and what is kept already is not computed again.

    \b
    Examples:
      keepset run images.yaml --to /data/kept/images --trust
      keepset run images.yaml --dry-run
      keepset run images.yaml --to /tmp/some --limit 100 --allow mypackage
      keepset run images.yaml --to kept --trust --moved /old/images=/mnt/images
    """
    if recipe.endswith(".py"):
        raise RecipeError(
            f"{recipe} is a program and no recipe; write one with dataset.to_recipe() or `keepset "
            f"inspect PATH --recipe`, or run it with `python {recipe}`"
        )
    found = Recipe.read(recipe)

    def stages() -> list[Node]:
        named = {name: _content(path) for name, path in data.items()}
        return nodes_of(found, Trust(trust, allowed), named, moved, {})

    if dry_run:
        _dry_run(found, stages, as_json)
        return
    if target is None:
        raise click.UsageError("say where to keep it with --to PATH, or look at it with --dry-run")
    nodes = stages()
    if on_change != "ignore":
        _report(changes_since(found, nodes), on_change)
    ds: Dataset = Dataset(nodes[-1])
    if limit is not None:
        ds = ds.take(limit)
    _keep(ds, target, compression, progress, options, as_json)


def _content(path: str) -> Array | str:
    """A text, or an array where it lies on the disk; nothing is unpickled."""
    path = local_path(path, "--data")
    try:
        if path.endswith(".txt"):
            with open(path, encoding="utf-8") as file:
                return file.read().removesuffix("\n")
        array: Array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise InvalidArgumentError(
            f"{path} is no .npy file of numbers, and no .txt file: {error}"
        ) from error
    return array


def _report(changes: list[str], on_change: str) -> None:
    for change in changes:
        click.echo(f"changed: {change}", err=True)
    if changes and on_change == "error":
        raise RecipeError(
            f"{counted(len(changes), 'stage')} not what it was when the recipe was written; run "
            "it all the same with --on-change warn"
        )


def _keep(
    ds: Dataset,
    target: str,
    compression: str,
    progress: bool | None,
    options: dict[str, Any],
    as_json: bool,
) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kept = ds.snapshot(
            target,
            compression,
            on_pending="error",
            on_write_error="raise",
            progress=progress,
            **options,
        )
    for warning in caught:
        click.echo(f"warning: {warning.message}", err=True)
    name = explain_node(kept._node, target, options).fingerprint
    was_there = _look(target, name, options)
    count = 0
    if was_there is None or not was_there.is_complete:
        count = sum(1 for _ in kept)
    found = Snapshot(target, fingerprint=name, **options)
    if as_json:
        show_json(
            {
                "url": found.url,
                "elements": found.num_elements,
                "computed": count,
                "size_bytes": found.size_bytes,
            }
        )
        return
    size = size_text(found.size_bytes)
    if not count:
        show(plain(f"{target} has all {found.num_elements:,} elements already ({size})"))
        return
    show(plain(f"{counted(found.num_elements, 'element')} kept in {target} ({size})"))


def _look(target: str, fingerprint: str, options: dict[str, Any]) -> Snapshot | None:
    try:
        return Snapshot(target, fingerprint=fingerprint, **options)
    except KeepsetError:
        return None  # nothing is kept yet


def _dry_run(recipe: Recipe, stages: Callable[[], list[Node]], as_json: bool) -> None:
    """What there is to know without running anything."""
    needs = [list(dict.fromkeys(need.what for need in needs_of(stage))) for stage in recipe.stages]
    nodes: list[Node] = []
    changes: list[str] = []
    try:
        nodes = stages()
        changes = changes_since(recipe, nodes)
        problem = None
    except KeepsetError as error:
        problem = str(error)
    if as_json:
        show_json(
            {
                "stages": [stage["stage"] for stage in recipe.stages],
                "needs": needs,
                "changes": changes,
                "problem": problem,
            }
        )
        return
    if nodes:
        show(plain(str(Lineage.of(nodes[-1]))))
        known = nodes[-1].known_spec()
        length = nodes[-1].cardinality()
        show(plain(f"{length:,} elements" if length >= 0 else "elements of an unknown number"))
        if known is not None:
            show(plain(f"of {known[0]}"))
    else:
        show(plain("\n".join(stage["stage"] for stage in recipe.stages)))
    for number, what in enumerate(needs):
        for each in what:
            show(plain(f"stage {number}, {recipe.stages[number]['stage']}, {each}"))
    for change in changes:
        show(plain(f"changed: {change}", "yellow"))
    if problem is not None:
        click.echo(f"it would not run: {problem}", err=True)
        sys.exit(1)
