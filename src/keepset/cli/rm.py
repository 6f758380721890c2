"""``keepset rm``: a snapshot is removed as a whole, after it was shown."""

from __future__ import annotations

import click

from keepset.cli.arguments import takes_place
from keepset.cli.confirm import confirmed, dry_run_option, yes_option
from keepset.cli.ls import snapshot_json, snapshot_table
from keepset.cli.output import answer_no, counted, plain, show, show_json, show_problems
from keepset.cli.place import Place
from keepset.core.size_text import size_text
from keepset.errors import KeepsetError
from keepset.snapshot.listing import list_snapshots
from keepset.snapshot.upkeep.removing import remove_snapshot


@click.command("rm")
@click.option("--all", "every", is_flag=True, help="Remove all snapshots at PATH and below it.")
@dry_run_option
@yes_option
@takes_place()
def command(place: Place, as_json: bool, dry_run: bool, yes: bool, every: bool) -> None:
    """Remove a snapshot.

    It is shown first. On a terminal you are asked; elsewhere nothing is removed
    unless there is --yes. While another process writes to it, it is not removed.
    Files beside it that are not part of it stay.

    \b
    Examples:
      keepset rm /data/kept/images
      keepset rm /data/kept --fingerprint 3f2a --yes
      keepset rm /data/kept/experiments --all --dry-run
      keepset rm /data/kept/experiments --all --yes

    Exits with 0 with --dry-run, and with 1 if nothing was removed: without --yes
    off a terminal, or because you answered no. Exits with 3 if a snapshot could
    not be removed; the others are removed all the same.
    """
    if every and place.fingerprint is not None:
        raise click.UsageError("choose either --all or --fingerprint")
    if not every and place.fingerprint is None and len(place.folders) > 1:
        raise click.UsageError(
            f"{place.root.url} holds {len(place.folders)} snapshots; choose one with --fingerprint "
            "PREFIX or by its folder, or add --all"
        )
    urls = [place.store_of(folder).url for folder in place.folders] if every else [place.store.url]
    found = [each for each in list_snapshots(place.root) if each.url in urls]
    size = size_text(sum(each.disk_bytes for each in found))
    count = "this snapshot" if len(found) == 1 else f"these {counted(len(found), 'snapshot')}"
    if not as_json:
        show(snapshot_table(found), "")
    removed, problems = None, dict[str, KeepsetError]()
    if not dry_run and confirmed(f"remove {count} ({size})?", yes=yes, may_ask=not as_json):
        removed = 0
        for each in found:
            try:
                removed += remove_snapshot(place.store_of(each.name))
            except KeepsetError as error:
                problems[each.name] = error
    if as_json:
        document = {"url": place.root.url, "snapshots": [snapshot_json(each) for each in found]}
        told = {name: str(error) for name, error in problems.items()}
        is_done = removed is not None and not problems
        show_json({**document, "problems": told, "is_done": is_done, "removed_bytes": removed or 0})
    elif removed is not None:
        show_problems(problems)
        if len(problems) < len(found):
            show(plain(f"{size_text(removed)} removed", "green"))
    if problems:
        raise next(iter(problems.values()))  # the others are gone
    if removed is None and not dry_run:
        answer_no()
