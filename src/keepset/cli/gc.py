"""``keepset gc``: what no version and no writer needs is removed, after it was shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import click
from rich.table import Table

from keepset.cli.arguments import takes_place
from keepset.cli.confirm import confirmed, dry_run_option, yes_option
from keepset.cli.output import (
    answer_no,
    counted,
    note,
    plain,
    show,
    show_json,
    show_problems,
    table,
)
from keepset.cli.place import Place
from keepset.cli.quantities import Duration, Size
from keepset.core.size_text import size_text
from keepset.errors import KeepsetError
from keepset.snapshot.upkeep.collecting import GRACE_S, Plan, Removal, collect, plan_collection


@click.command("gc")
@click.option(
    "--keep-latest",
    type=click.IntRange(min=1),
    metavar="N",
    help="Remove old snapshots but for the N that were written to last.",
)
@click.option(
    "--max-bytes",
    type=Size(),
    help="Remove old snapshots until the others take no more than this, as in 500MB or 2GiB.",
)
@click.option(
    "--grace",
    type=Duration(),
    default=GRACE_S,
    show_default="1h",
    help="Spare what became superfluous within this time: a reader may still use it.",
)
@dry_run_option
@yes_option
@takes_place(several=True)
def command(
    place: Place,
    as_json: bool,
    dry_run: bool,
    yes: bool,
    keep_latest: int | None,
    max_bytes: float | None,
    grace: float,
) -> None:
    """Remove what no version and no writer needs.

    That is what replaced versions and interrupted passes have left behind, at PATH
    and below it; and, with --keep-latest or --max-bytes, whole snapshots of a
    pipeline as it once was. What a live writer is writing stays.

    What would go is shown first, and why. On a terminal you are asked; elsewhere
    nothing is removed unless there is --yes.

    \b
    Examples:
      keepset gc /data/kept --dry-run
      keepset gc /data/kept
      keepset gc /data/kept/images --keep-latest 2 --yes
      keepset gc /data/kept/images --max-bytes 50GB --grace 7d

    Exits with 0 if there is nothing to remove or with --dry-run, and with 1 if
    something was not removed: without --yes off a terminal, or because you
    answered no. Exits with 3 if a snapshot could not be read, or something of it
    could not be removed; the others are collected all the same.
    """
    plan = plan_collection(
        place.root,
        grace_s=grace,
        keep_latest=keep_latest,
        max_bytes=None if max_bytes is None else int(max_bytes),
    )
    if not as_json:
        _show(plan)
        if not plan.removals and plan.older_snapshots and keep_latest is None and max_bytes is None:
            note(_hint(plan.older_snapshots))
    removed, is_wanted = None, bool(plan.removals) and not dry_run
    failed: dict[str, KeepsetError] = {}
    if is_wanted and confirmed(f"remove {_total(plan)}?", yes=yes, may_ask=not as_json):
        removed = collect(place.root, plan, failed)
    if as_json:
        show_json(_json(plan, removed, failed))
    elif removed is not None:
        show_problems(failed)
        show(plain(f"{size_text(removed)} removed", "yellow" if failed else "green"))
    for error in (*failed.values(), *plan.problems.values()):
        raise error
    if is_wanted and removed is None:
        answer_no()


def _show(plan: Plan) -> None:
    if plan.problems:
        show_problems(plan.problems)
        show("")
    if plan.spared:
        show(plain("stays for now", "bold underline"), _table(plan.spared), "")
    if plan.removals:
        show(plain("goes", "bold underline"), _table(plan.removals), "")
        show(plain(_total(plan)))
    else:
        show(plain("there is nothing to remove", "green"))


def _hint(older: int) -> str:
    snapshots = "1 snapshot has" if older == 1 else f"{older:,} snapshots have"
    them = "it" if older == 1 else "them"
    return f"{snapshots} a newer one at the same path; --keep-latest 1 removes {them}"


def _total(plan: Plan) -> str:
    return f"{counted(len(plan.removals), 'thing')} ({size_text(plan.size_bytes)})"


def _table(removals: Sequence[Removal]) -> Table:
    rows = [(each.name, size_text(each.size_bytes), each.why) for each in removals]
    return table(["name", "size", "why"], rows, numbers=["size"], foldable=["name", "why"])


def _json(plan: Plan, removed: int | None, failed: Mapping[str, KeepsetError]) -> dict[str, Any]:
    return {
        "url": plan.url,
        "removals": [asdict(each) for each in plan.removals],
        "spared": [asdict(each) for each in plan.spared],
        "size_bytes": plan.size_bytes,
        "older_snapshots": plan.older_snapshots,
        "problems": {name: str(error) for name, error in {**plan.problems, **failed}.items()},
        "is_done": removed is not None,
        "removed_bytes": removed or 0,
    }
