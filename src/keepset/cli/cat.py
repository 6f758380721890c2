"""``keepset cat``: elements on standard output."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from typing import Final, TextIO

import click

from keepset.cli.arguments import takes_place
from keepset.cli.elements import element_json, element_lines
from keepset.cli.output import console, note
from keepset.cli.place import Place
from keepset.dataset import Dataset
from keepset.snapshot.writing.progress import Progress

_SHOWN_AFTER_S: Final = 2.0


@click.command("cat")
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(min=0),
    default=10,
    show_default=True,
    metavar="N",
    help="How many elements; 0 for all.",
)
@click.option(
    "--offset",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="The position of the first element.",
)
@click.option(
    "-c",
    "--column",
    "columns",
    multiple=True,
    metavar="NAME",
    help="Read only this entry of elements that are dicts. May be repeated.",
)
@takes_place()
def command(place: Place, as_json: bool, limit: int, offset: int, columns: tuple[str, ...]) -> None:
    """Print elements.

    Arrays are abbreviated, strings are text in quotes, or b'...' where they are
    not UTF-8. With --json there is one object per line, with all values: a single
    value is under "value", the items of a tuple under "0", "1", and so on. Strings
    are text, or {"base64": ...} where they are not UTF-8; what JSON has no number
    for is a string: "NaN", "Infinity", "-Infinity".

    Of a snapshot that is not finished, what is stored so far is printed.

    \b
    Examples:
      keepset cat /data/kept/images --limit 3
      keepset cat /data/kept/images --offset 777 --limit 1
      keepset cat /data/kept/images --column label --limit 0 --json | jq .label
    """
    ds = _some_columns(place.dataset_so_far(), columns)
    length = len(ds)
    if offset and offset >= length:
        raise click.BadParameter(
            f"{offset} is behind the last of {length:,} elements", param_hint="'--offset'"
        )
    part = ds[offset : offset + limit] if limit else ds[offset:]
    if as_json:
        _write(part, (json.dumps(element_json(element), allow_nan=False) for element in part))
        return
    _write(part, _lines(part, offset))
    if not place.snapshot().is_complete:
        note("it is not finished: these are of what is kept so far")
    shown = len(part)
    if shown < length and limit:
        note(f"{shown:,} of {length:,} elements; --limit 0 prints all, --offset others")


def _some_columns(ds: Dataset, columns: tuple[str, ...]) -> Dataset:
    if not columns:
        return ds
    spec = ds.element_spec
    if not isinstance(spec, dict):
        raise click.BadParameter(
            "the elements are not dicts and have no columns to choose from",
            param_hint="'--column'",
        )
    # On a command line all keys are text.
    keys = {str(key): key for key in spec}
    unknown = [name for name in columns if name not in keys]
    if unknown:
        raise click.BadParameter(
            f"there is no {', '.join(unknown)}; there is {', '.join(keys)}", param_hint="'--column'"
        )
    return ds.select(*(keys[name] for name in columns))


def _lines(part: Dataset, offset: int) -> Iterator[str]:
    """The lines of all elements; those of one in a text."""
    width = console().width if sys.stdout.isatty() or "COLUMNS" in os.environ else None
    digits = len(str(offset + len(part) - 1))
    for position, element in enumerate(part, offset):
        head = f"{position:>{digits}}  "
        lines = []
        for line in element_lines(element):
            text = head + line
            if width is not None and len(text) > width:
                text = text[: width - 1] + "…"
            lines.append(text)
            head = " " * len(head)
        yield "\n".join(lines)


def _write(part: Dataset, texts: Iterable[str]) -> None:
    """Print a text for each element, and show how far it is where they go to a file."""
    # Behind a pipe there may be a program that prints at the same terminal.
    wanted = None if _is_file(sys.stdout) else False
    shown = Progress("printing", len(part), wanted, delay_s=_SHOWN_AFTER_S)
    whole = False
    try:
        for text in texts:
            shown.add_written(sys.stdout.write(text + "\n"))
            shown.advance(1)
        whole = True
    finally:
        shown.close(whole)


def _is_file(stream: TextIO) -> bool:
    try:
        return stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
    except (OSError, ValueError):
        return False  # it stands for a stream, as in a test
