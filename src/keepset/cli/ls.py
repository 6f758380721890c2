"""``keepset ls``: what is kept at a path and below it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click
from rich.table import Table

from keepset.cli.arguments import takes_place
from keepset.cli.names import short_names
from keepset.cli.output import (
    age_text,
    answer_no,
    counted,
    fits,
    note,
    plain,
    show,
    show_json,
    table,
)
from keepset.cli.place import Place
from keepset.core.ranges import ranges_text
from keepset.core.size_text import size_text
from keepset.snapshot.listing import Listed, list_snapshots

_STYLES = {"complete": "green", "being written": "cyan", "unfinished": "yellow"}
_UNKNOWN = "?"
# Columns that go where the terminal is narrow; inspect has them all.
_DISPENSABLE = ("shards", "codec", "versions")


@click.command("ls")
@takes_place(several=True)
def command(place: Place, as_json: bool) -> None:
    """List what is kept at a path and below it.

    A saved dataset is listed by its folder, a snapshot by the fingerprint of
    its pipeline. "unfinished" is the beginning of a first pass that stopped: the
    next run goes on from there. "repaired" lacks elements that were damaged: the
    next run computes these.

    Only the logs are read and the sizes of the files are compared. To have every
    chunk checked, use "keepset verify".

    \b
    Examples:
      keepset ls /data/kept
      keepset ls s3://bucket/kept -o region=eu-west-1
      keepset ls /data/kept --json | jq '.snapshots[].state'

    Exits with 1 if nothing is kept.
    """
    found = list_snapshots(place.root)
    if as_json:
        show_json({"url": place.root.url, "snapshots": [snapshot_json(each) for each in found]})
    elif found:
        _show(found, place)
    else:
        note(f"nothing is kept at {place.root.url}")
    if not found:
        answer_no()


def _show(found: Sequence[Listed], place: Place) -> None:
    show(snapshot_table(found))
    short = short_names([each.name for each in found])
    total = size_text(sum(each.disk_bytes for each in found))
    show(plain(f"\n{counted(len(found), 'snapshot')}, {total} on disk", "dim"))
    for each in found:
        name = short[each.name] or "."
        if each.holder is not None:
            show(plain(f"{name}: {each.holder} writes to it"))
        if each.snapshot is not None and each.snapshot.waiting:
            waiting = ranges_text(each.snapshot.waiting)
            show(plain(f"{name}: the next run of the pipeline computes {waiting}", "yellow"))
        if each.problem:
            show(plain(f"{name}: {each.problem}", "red"))
    if any(each.state == "damaged" for each in found):
        show(plain(f"check it all: keepset verify {place.path}"), is_whole=True)


def snapshot_table(found: Sequence[Listed]) -> Table:
    """What is kept, with fingerprints cut short where the terminal is narrow."""
    names = [each.name for each in found]
    whole = _table(found, {name: name for name in names})
    counts = range(len(_DISPENSABLE) + 1)
    short = [_table(found, short_names(names), _DISPENSABLE[:count]) for count in counts]
    return next(filter(fits, [whole, *short]), short[-1])


def _table(found: Sequence[Listed], names: dict[str, str], without: Sequence[str] = ()) -> Table:
    rows = [[names[each.name] or ".", *_cells(each)] for each in found]
    columns = ["name", "state", "elements", "size", "codec", "shards", "versions", "created"]
    # What is the same for everything that is kept is not worth the room.
    dull = {"shards": ("1", "0", _UNKNOWN), "versions": ("1", "0", _UNKNOWN)}
    shown = [
        number
        for number, title in enumerate(columns)
        if title not in without and any(str(row[number]) not in dull.get(title, ()) for row in rows)
    ]
    return table(
        [columns[number] for number in shown],
        [[row[number] for number in shown] for row in rows],
        numbers=("elements", "size", "shards", "versions"),
        foldable=("name",),
    )


def _cells(each: Listed) -> list[object]:
    state = plain(each.state, _STYLES.get(each.state, "bold red"))
    kept = each.snapshot
    if kept is None:
        return [state, _UNKNOWN, size_text(each.disk_bytes), _UNKNOWN, _UNKNOWN, _UNKNOWN, _UNKNOWN]
    return [
        state,
        f"{kept.num_elements:,}",
        size_text(kept.size_bytes),
        ", ".join(kept.codecs),
        len(kept.shards),
        _UNKNOWN if each.versions is None else each.versions,
        _UNKNOWN if kept.created is None else age_text(kept.created),
    ]


def snapshot_json(each: Listed) -> dict[str, Any]:
    """What is known about a snapshot without reading its elements."""
    kept = each.snapshot
    created = None if kept is None else kept.created
    return {
        "name": each.name,
        "url": each.url,
        "state": each.state,
        "disk_bytes": each.disk_bytes,
        "elements": kept and kept.num_elements,
        "size_bytes": kept and kept.size_bytes,
        "codecs": kept and kept.codecs,
        "shards": kept and len(kept.shards),
        "fingerprint": kept and kept.fingerprint,
        "created": created and created.isoformat(),
        "versions": each.versions,
        "writer": None if each.holder is None else str(each.holder),
        "problem": each.problem or None,
    }
