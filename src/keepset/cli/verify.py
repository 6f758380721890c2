"""``keepset verify``: every chunk is checked, and what is damaged can be dropped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import click
from rich.padding import Padding
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from keepset.cli.arguments import takes_place
from keepset.cli.output import answer_no, console, plain, show, show_json, table
from keepset.cli.place import Place
from keepset.core.ranges import ranges_text
from keepset.core.size_text import size_text
from keepset.errors import KeepsetError
from keepset.snapshot.looking import Snapshot
from keepset.snapshot.upkeep.checking import Report, check_snapshot
from keepset.snapshot.upkeep.repairing import Repair, repair_snapshot
from keepset.snapshot.writing.progress import is_wanted
from keepset.storage import Store

# With the figures it fits into 80 columns.
_BAR_WIDTH = 20


@dataclass(frozen=True)
class _Checked:
    name: str
    report: Report
    repair: Repair | None


@click.command("verify")
@click.option("--repair", is_flag=True, help="Drop what is damaged, and nothing else.")
@takes_place()
def command(place: Place, as_json: bool, repair: bool) -> None:
    """Check every chunk, and drop what is damaged if you say so.

    Reads every snapshot and saved dataset at PATH and below it, compares it with
    its checksums, and names each file that is damaged, where, and which elements
    are lost with it. Nothing is changed.

    With --repair, what is damaged is dropped and nothing else. The next pass of
    the pipeline computes just these elements again. Of a saved dataset the
    others become a new version: save it again to have all of them.

    \b
    Examples:
      keepset verify /data/kept
      keepset verify /data/kept --fingerprint 3f2a --repair
      keepset verify s3://bucket/images --json

    Exits with 1 if something is damaged and was not repaired, and with 3 if a
    snapshot could not be checked or repaired; the others are all the same.
    """
    stores = [(folder, place.store_of(folder)) for folder in place.folders]
    checked, problems = [], {}
    with _progress([store for _, store in stores]) as on_chunk:
        for name, store in stores:
            report, fix = None, None
            try:
                report = check_snapshot(store, on_chunk)
                fix = repair_snapshot(store, report) if repair and not report.is_sound else None
            except KeepsetError as error:
                problems[name] = error  # the others are checked all the same
            if report is not None:
                checked.append(_Checked(name, report, fix))
    if len(problems) == len(stores) and not as_json:
        raise next(iter(problems.values()))
    is_sound = all(each.report.is_sound for each in checked)
    skipped = _skipped(place, checked)
    if as_json:
        document = {
            "url": place.root.url,
            "is_sound": is_sound and not problems,
            "snapshots": [_json(each) for each in checked],
            "problems": {name: str(error) for name, error in problems.items()},
            "skipped": skipped,
        }
        show_json(document)
    else:
        _show(checked, problems, skipped)
        if not is_sound and not repair:
            show("", "to drop only what is damaged, add --repair")
    if problems:
        raise next(iter(problems.values()))
    if not is_sound and not repair:
        answer_no()


def _skipped(place: Place, checked: list[_Checked]) -> dict[str, str]:
    """What is neither a file nor a folder, and nothing that is read depends on, by its name."""
    if place.root.is_remote:
        return {}
    named = {
        f"{each.name}/{damage.name}" if each.name else damage.name
        for each in checked
        for damage in each.report.damages
    }
    found = {info.name: place.root.obstacle(info.name) for info in place.root.list("")}
    return {name: what for name, what in found.items() if what and name not in named}


def _show(
    checked: list[_Checked], problems: Mapping[str, KeepsetError], skipped: Mapping[str, str]
) -> None:
    read = {each.name for each in checked}
    unread = [
        [name or ".", plain("unreadable", "bold red"), "?", "?", "?"]
        for name in problems
        if name not in read
    ]
    show(
        table(
            ["name", "result", "elements", "chunks", "size"],
            [*(_cells(each) for each in checked), *unread],
            numbers=["elements", "chunks", "size"],
            foldable=["name"],
        )
    )
    for each in checked:
        if not each.report.damages and not each.report.waiting:
            continue
        show("", plain(each.name or ".", "bold"))
        for damage in each.report.damages:
            show(_indented(damage, "yellow" if damage.is_void else "red"))
        if each.report.waiting:
            waiting = ranges_text(each.report.waiting)
            show(_indented(f"the next run of the pipeline computes {waiting}", "yellow"))
        if each.repair is not None:
            show(*(_indented(line, "green") for line in str(each.repair).splitlines()))
    for name, error in problems.items():
        show("", plain(name or ".", "bold"), _indented(error, "red"))
    if skipped:
        show("", plain("skipped", "bold"))
        show(*(_indented(f"{name}: it is {what}", "yellow") for name, what in skipped.items()))


def _indented(text: object, style: str) -> Padding:
    return Padding(plain(text, style), (0, 0, 0, 2))


def _cells(each: _Checked) -> list[object]:
    report = each.report
    result = plain("sound", "green")
    if not report.is_sound:
        result = (
            plain("damaged", "bold red") if each.repair is None else plain("repaired", "yellow")
        )
    return [
        each.name or ".",
        result,
        f"{report.elements:,}",
        f"{report.chunks:,}",
        size_text(report.size_bytes),
    ]


def _json(each: _Checked) -> dict[str, Any]:
    report, repair = each.report, each.repair
    return {
        "name": each.name,
        "url": report.url,
        "is_sound": report.is_sound,
        "elements": report.elements,
        "chunks": report.chunks,
        "size_bytes": report.size_bytes,
        "damages": [
            {
                "name": damage.name,
                "what": damage.what,
                "byte": damage.byte,
                "elements": damage.elements,
                "is_needed": damage.is_needed,
            }
            for damage in report.damages
        ],
        "waiting": report.waiting,
        "repair": repair
        and {
            "dropped_commits": repair.dropped_commits,
            "dropped": repair.dropped,
            "rewritten": repair.rewritten,
            "computed_again": repair.computed_again,
        },
    }


@contextmanager
def _progress(stores: list[Store]) -> Iterator[Any]:
    """A bar of the bytes that were checked, where there is a terminal; what is told of them."""
    if not is_wanted():
        yield None
        return
    bar = Progress(
        TextColumn("checking"),
        BarColumn(_BAR_WIDTH),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=console(stderr=True),
        transient=True,
    )
    with bar:
        task = bar.add_task("checking", total=sum(map(_size, stores)))
        yield lambda size_bytes: bar.advance(task, size_bytes)


def _size(store: Store) -> int:
    try:
        return Snapshot.of(store).size_bytes
    except KeepsetError:
        return 0  # the check says what is wrong with it
