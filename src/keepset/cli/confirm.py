"""Asking before something is removed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import click

from keepset.cli.output import note

yes_option: Callable[[Any], Any] = click.option(
    "-y", "--yes", is_flag=True, help="Do it without asking."
)


def confirmed(question: str, *, yes: bool, may_ask: bool) -> bool:
    """Whether to go on: as ``--yes`` says, or as somebody at a terminal does."""
    if yes:
        return True
    if may_ask and sys.stdin.isatty() and sys.stderr.isatty():
        return click.confirm(question, err=True)
    note("nothing was removed; add --yes to do it")
    return False
