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
dry_run_option: Callable[[Any], Any] = click.option(
    "--dry-run", is_flag=True, help="Show what would be removed, and remove nothing."
)


def confirmed(question: str, *, yes: bool, may_ask: bool) -> bool:
    """Whether to remove something: ``--yes`` was given, or a person at a terminal agrees.

    A caller that gets a no prints its answer and ends with ``answer_no``, so that a script does
    not take "nothing was removed" for success.
    """
    if yes:
        return True
    if may_ask and sys.stdin.isatty() and sys.stderr.isatty():
        if click.confirm(question, err=True):
            return True
        note("nothing was removed")
        return False
    note("nothing was removed; add --yes")
    return False
