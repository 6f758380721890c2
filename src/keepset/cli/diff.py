"""``keepset diff``: whether two data sets are the same."""

from __future__ import annotations

from typing import Any

import click

from keepset.cli.arguments import json_option, options_option, traceback_option
from keepset.cli.output import answer_no, console, plain, show, show_json
from keepset.cli.place import Place
from keepset.core.describe import count_text
from keepset.testing.datasets import assert_equal


@click.command("diff")
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@click.option(
    "-f",
    "--fingerprint",
    "fingerprints",
    multiple=True,
    metavar="PREFIX",
    help="Which snapshot, where a path holds several; a second one is for B.",
)
@options_option
@json_option
@traceback_option
def command(
    first: str, second: str, fingerprints: tuple[str, ...], options: dict[str, Any], as_json: bool
) -> None:
    """Compare two data sets, element by element.

    The type of the elements, how many there are, and every value count; NaN
    equals NaN. How they are kept does not: codec, shards and chunks may differ.
    The first difference is shown.

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
    difference = None
    with console(stderr=True).status(f"comparing {count_text(len(a))}"):
        try:
            assert_equal(a, b)
        except AssertionError as error:
            difference = str(error)
    if as_json:
        urls = {"first": one.store.url, "second": other.store.url}
        show_json({**urls, "is_equal": difference is None, "difference": difference})
    elif difference is None:
        show(plain(f"equal: {count_text(len(a))}", "green"))
    else:
        show(plain(f"different: {difference}", "red"))
    if difference is not None:
        answer_no()


def _options_for(path: str, both: tuple[str, str], options: dict[str, Any]) -> dict[str, Any]:
    """The options, which are for the bucket if only one of the two is in one."""
    if "://" not in path and any("://" in each for each in both):
        return {}
    return options
