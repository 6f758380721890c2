"""Output: tables for people, JSON for programs, sizes and times in words."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NoReturn

import click
from rich.console import Console, Group, RenderableType
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from keepset.cli.printable import printable

# What goes to a file or into a pipe is not cut to the width of a terminal.
_WIDE = 10_000
_DAY_S = 86_400
_AGES = {
    "year": 365 * _DAY_S,
    "month": 30 * _DAY_S,
    "day": _DAY_S,
    "hour": 3600,
    "minute": 60,
}


def console(*, stderr: bool = False) -> Console:
    """A stream as wide as its terminal, or as wide as it takes where there is none."""
    stream = sys.stderr if stderr else sys.stdout
    has_width = stream.isatty() or "COLUMNS" in os.environ
    return Console(
        stderr=stderr,
        width=None if has_width else _WIDE,
        markup=False,
        highlight=False,
        emoji=False,
    )


def show(*parts: RenderableType, is_whole: bool = False) -> None:
    """Print things below each other on standard output.

    Args:
        parts: Tables and texts.
        is_whole: Whether to leave it to the terminal where long lines are broken, so that what
            is copied from it has no breaks.
    """
    target = console()
    with target.capture() as captured:
        target.print(Group(*parts), soft_wrap=is_whole)
    # Without the blanks that fill up a column.
    sys.stdout.write("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))


def show_problems(problems: Mapping[str, Exception]) -> None:
    """Print why snapshots cannot be used, below the name of each."""
    for name, error in problems.items():
        show(plain(name or ".", "bold"), indented(error, "red"))


def note(text: str) -> None:
    """Tell people something that is not part of the answer, after what was answered so far."""
    sys.stdout.flush()
    click.echo(printable(text), err=True)


def show_json(value: Any) -> None:
    """Print one JSON document."""
    sys.stdout.write(json.dumps(value, indent=2, allow_nan=False) + "\n")


def answer_no() -> NoReturn:
    """End with the exit code that says no."""
    click.get_current_context().exit(1)


def plain(text: object, style: str = "") -> Text:
    """Text as it stands, without markup."""
    return Text(printable(text), style)


def indented(text: object, style: str = "") -> Padding:
    """Text a little to the right."""
    return Padding(plain(text, style), (0, 0, 0, 2))


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    numbers: Collection[str] = (),
    foldable: Collection[str] = (),
) -> Table:
    """A table without lines.

    Args:
        columns: The titles.
        rows: The cells of each row, as text or as anything that has one.
        numbers: The columns that stand on the right.
        foldable: The columns that go on in a second line where the terminal is too narrow.
    """
    shown = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for title in columns:
        folds = title in foldable
        shown.add_column(
            title,
            justify="right" if title in numbers else "left",
            no_wrap=not folds,
            overflow="fold" if folds else "ellipsis",
        )
    for row in rows:
        shown.add_row(*(cell if isinstance(cell, Text) else plain(cell) for cell in row))
    return shown


def facts(pairs: Mapping[str, object]) -> Table:
    """Names and what they are, below each other."""
    shown = Table.grid(padding=(0, 2, 0, 0))
    shown.add_column(no_wrap=True, style="bold")
    shown.add_column(overflow="fold")
    for name, value in pairs.items():
        shown.add_row(name, value if isinstance(value, Text) else plain(value))
    return shown


def fits(shown: RenderableType) -> bool:
    """Whether something is shown whole in the width that there is."""
    target = console()
    unlimited = target.options.update(max_width=_WIDE)
    return Measurement.get(target, unlimited, shown).maximum <= target.width


def counted(count: int, thing: str) -> str:
    """How many of something: ``1 chunk``, ``1,000 chunks``."""
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def age_text(when: datetime, now: datetime | None = None) -> str:
    """How long ago something was: ``3 hours ago``."""
    seconds = ((now or datetime.now(UTC)) - when).total_seconds()
    for unit, length in _AGES.items():
        if seconds >= length:
            return f"{counted(int(seconds // length), unit)} ago"
    # A clock that runs ahead elsewhere is not worth a word.
    return f"{seconds:.0f} s ago" if seconds >= 1 else "now"


def time_text(when: datetime) -> str:
    """A moment and how long ago it was."""
    return f"{when.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC ({age_text(when)})"
