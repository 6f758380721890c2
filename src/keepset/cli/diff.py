"""``keepset diff``: whether two datasets are the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from keepset.cli.arguments import json_option, options_option, traceback_option
from keepset.cli.completion import complete_fingerprint, complete_path
from keepset.cli.output import answer_no, console, plain, show, show_json
from keepset.cli.place import Place
from keepset.snapshot.writing.progress import is_wanted
from keepset.testing.comparison import Comparison, compare

# With the figures it fits into 80 columns.
_BAR_WIDTH = 20


@click.command("diff")
@click.argument("first", metavar="A", shell_complete=complete_path)
@click.argument("second", metavar="B", shell_complete=complete_path)
@click.option(
    "-f",
    "--fingerprint",
    "fingerprints",
    multiple=True,
    metavar="PREFIX",
    shell_complete=complete_fingerprint("first", "second"),
    help="Which snapshot, where a path holds several; a second one is for B.",
)
@options_option
@json_option
@traceback_option
def command(
    first: str, second: str, fingerprints: tuple[str, ...], options: dict[str, Any], as_json: bool
) -> None:
    """Compare two datasets, element by element.

    The type of the elements, how many there are, and every value count; NaN
    equals NaN. How they are kept does not: codec, shards and chunks may differ.
    Shown are the first difference and how many elements differ in each leaf.

    \b
    Examples:
      keepset diff /data/kept/old /data/kept/new
      keepset diff /data/kept /data/kept -f 3f2a -f 91b0
      keepset diff /data/kept/images s3://bucket/images

    Exits with 0 if they are equal and with 1 if they differ.
    """
    if len(fingerprints) > 2:
        raise click.BadParameter("give one for A and one for B", param_hint="'--fingerprint'")
    chosen = [*fingerprints, *fingerprints[-1:], None, None]
    one, other = (
        Place(path, _options_for(path, (first, second), options), fingerprint)
        for path, fingerprint in zip((first, second), chosen, strict=False)
    )
    a, b = one.dataset(), other.dataset()
    with _progress(min(len(a), len(b))) as on_element:
        found = compare(a, b, on_element)
    difference = None if found.is_equal else str(found)
    if difference is None and a.element_spec != b.element_spec:
        difference = f"the specs differ: {a.element_spec} and {b.element_spec}"
    note = ""
    if one.store.url == other.store.url:
        note = "; A and B are one snapshot, give -f twice for two"
    if as_json:
        show_json({"first": one.store.url, "second": other.store.url, **_json(found, difference)})
    elif difference is None:
        show(plain(f"{found}{note}", "green"))
    else:
        show(plain(f"different: {difference}", "red"))
    if difference is not None:
        answer_no()


def _json(found: Comparison, difference: str | None) -> dict[str, Any]:
    at = found.first
    return {
        "is_equal": difference is None,
        "difference": difference,
        "compared": found.compared,
        "different": found.different,
        "leaves": found.leaves,
        "first_difference": at
        and {"element": at[0], "leaf": at[1].name, "first": at[1].old, "second": at[1].new},
    }


@contextmanager
def _progress(elements: int) -> Iterator[Callable[[], None] | None]:
    """A bar of the elements that were compared, where there is a terminal."""
    if not is_wanted():
        yield None
        return
    columns = (
        TextColumn("comparing"),
        BarColumn(_BAR_WIDTH),
        TextColumn("{task.completed:,} of {task.total:,} elements"),
        _Rate(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task("comparing", total=elements)
        yield lambda: bar.advance(task)


class _Rate(ProgressColumn):
    """Elements in a second."""

    def render(self, task: Task) -> Text:
        return Text("" if task.speed is None else f"{task.speed:,.0f}/s")


def _options_for(path: str, both: tuple[str, str], options: dict[str, Any]) -> dict[str, Any]:
    """The options, which are for the bucket if only one of the two is in one."""
    if "://" not in path and any("://" in each for each in both):
        return {}
    return options
