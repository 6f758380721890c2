"""``keepset inspect``: everything that is known about one snapshot."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import Any

import click
from rich.console import RenderableType

from keepset.cli.arguments import takes_place
from keepset.cli.fingerprint import fingerprint_tree
from keepset.cli.output import counted, facts, plain, show, show_json, table, time_text
from keepset.cli.place import Place
from keepset.cli.specs import shape_text, type_text
from keepset.core.fingerprint import facts_to_json
from keepset.core.ranges import ranges_text
from keepset.core.size_text import size_text
from keepset.core.spec import spec_to_json
from keepset.errors import KeepsetError, RecipeError
from keepset.format.commit import Commit
from keepset.format.layout import Layout
from keepset.recipe.document import Recipe
from keepset.snapshot.looking import Snapshot
from keepset.snapshot.writing.lease import EXPIRY_S, live_holder

_MOST_SHARDS = 8
_MOST_VERSIONS = 10


@click.command("inspect")
@click.option("--segments", is_flag=True, help="List the files that hold the elements.")
@click.option("--recipe", is_flag=True, help="Print nothing but the recipe, as YAML.")
@takes_place()
def command(place: Place, as_json: bool, segments: bool, recipe: bool) -> None:
    """Show everything that is known about a snapshot.

    The type of the elements, how many there are and what they take, the versions
    and who wrote them, and what the fingerprint was found from, stage by stage.
    No element is read.

    \b
    Examples:
      keepset inspect /data/kept/images
      keepset inspect /data/kept --fingerprint 3f2a
      keepset inspect s3://bucket/images --segments
      keepset inspect /data/kept/images --recipe > images.yaml
    """
    kept = place.snapshot()
    if recipe:
        _print_recipe(kept, as_json)
        return
    writer = live_holder(place.store, EXPIRY_S)
    if as_json:
        show_json(_json(kept, None if writer is None else str(writer), segments))
        return
    show(plain(kept.url, "bold"), is_whole=True)
    show("", facts(_summary(kept, None if writer is None else str(writer))))
    if kept.num_elements:
        show("", _elements(kept))
    for title, part in _history(kept):
        show("", plain(title, "bold underline"), part)
    if kept.facts is None and kept.lineage is not None:
        show("", plain("what it was made by", "bold underline"), plain(str(kept.lineage)))
    if kept.facts is not None:
        show("", plain("what the fingerprint was found from", "bold underline"))
        show(fingerprint_tree(kept.facts))
    if segments:
        show("", plain("files", "bold underline"), _segments(kept))


def _print_recipe(kept: Snapshot, as_json: bool) -> None:
    """The recipe alone, so that it can go into a file."""
    text = kept.recipe
    if text is None:
        why = kept.no_recipe or "it was kept before there were recipes, or by another tool"
        raise RecipeError(f"{kept.url} has no recipe: {why}")
    found = Recipe.parse(text, kept.url)
    click.echo(found.to_json() if as_json else found.to_yaml(), nl=False)


def _summary(kept: Snapshot, writer: str | None) -> dict[str, Any]:
    by = kept.created_by
    return {
        "state": _state(kept, writer),
        "elements": f"{kept.num_elements:,}",
        "size": _size(kept),
        "codec": ", ".join(kept.codecs) or "none yet",
        "shards": _shards(kept.shards),
        "files": f"{len(kept.manifest.segments):,} ({counted(len(kept.manifest.chunks), 'chunk')})",
        "created": "not yet" if kept.created is None else time_text(kept.created),
        "created by": ", ".join(f"{name} {value}" for name, value in by.items()),
        "fingerprint": kept.fingerprint
        or ("none: it was saved" if kept.is_complete else "none yet"),
    }


def _state(kept: Snapshot, writer: str | None) -> str:
    state = "complete" if kept.is_complete else "unfinished: the next run goes on from here"
    if kept.waiting:
        state = f"repaired: the next run computes {ranges_text(kept.waiting)}"
    return f"{state}; {writer} writes to it" if writer else state


def _size(kept: Snapshot) -> str:
    """On disk, and as arrays, if that can be told without reading them."""
    text, size = f"{size_text(kept.size_bytes)} on disk", kept.size_bytes
    raw = kept.fixed_bytes
    if not size or not raw:
        return text
    over = "" if kept.memory_bytes is not None else "over "
    return f"{text}, {over}{size_text(raw)} in memory ({over}{raw / size:.2f} to 1)"


def _shards(shards: dict[int, int]) -> str:
    if len(shards) <= 1:
        return str(len(shards))
    if len(shards) <= _MOST_SHARDS:
        counts = ", ".join(f"{count:,} in {shard}" for shard, count in shards.items())
        return f"{len(shards)}: {counts}"
    least, most = min(shards.values()), max(shards.values())
    each = f"{least:,}" if least == most else f"{least:,} to {most:,}"
    return f"{len(shards):,}, of {each} elements"


def _elements(kept: Snapshot) -> RenderableType:
    layout = Layout(kept.element_spec)
    rows = [
        (name, type_text(leaf), shape_text(leaf.shape))
        for name, leaf in zip(layout.names, layout.leaves, strict=True)
    ]
    return table(["column", "dtype", "shape"], rows, foldable=["column"])


def _history(kept: Snapshot) -> list[tuple[str, RenderableType]]:
    versions = _versions(kept)
    if versions is None:
        return [("versions", plain("an older one cannot be read: keepset verify names it", "red"))]
    if len(versions) < 2:
        return []
    rows = [_version_cells(commit) for commit in versions[-_MOST_VERSIONS:]]
    older = len(versions) - len(rows)
    title = f"versions, and {older:,} older ones" if older else "versions"
    columns = ["commit", "elements", "size", "created", "by"]
    return [(title, table(columns, rows, numbers=columns[:3]))]


def _versions(kept: Snapshot) -> list[Commit] | None:
    try:
        return kept.versions
    except KeepsetError:
        return None


def _version_cells(commit: Commit) -> list[object]:
    version = _version_json(commit)
    return [
        commit.number,
        f"{version['elements']:,}",
        size_text(version["size_bytes"]),
        time_text(datetime.fromtimestamp(commit.created_s, UTC)),
        commit.by.get("host", ""),
    ]


def _segments(kept: Snapshot) -> RenderableType:
    rows = [
        (
            each["name"],
            each["codec"],
            size_text(each["size_bytes"]),
            f"{each['chunks']:,}",
            f"{each['elements']:,}",
        )
        for each in _segments_json(kept)
    ]
    columns = ["file", "codec", "size", "chunks", "elements"]
    return table(columns, rows, numbers=columns[2:], foldable=["file"])


def _json(kept: Snapshot, writer: str | None, with_segments: bool) -> dict[str, Any]:
    layout = Layout(kept.element_spec)
    columns = zip(layout.names, layout.leaves, strict=True)
    versions = _versions(kept)
    document = {
        "url": kept.url,
        "is_complete": kept.is_complete,
        "waiting": kept.waiting,
        "writer": writer,
        "elements": kept.num_elements,
        "size_bytes": kept.size_bytes,
        "memory_bytes": kept.memory_bytes,
        "codecs": kept.codecs,
        "shards": kept.shards,
        "segments": len(kept.manifest.segments),
        "chunks": len(kept.manifest.chunks),
        "created": None if kept.created is None else kept.created.isoformat(),
        "created_by": kept.created_by,
        "spec": spec_to_json(kept.element_spec),
        "columns": [{"name": name, **spec_to_json(leaf)} for name, leaf in columns],
        "versions": None if versions is None else [_version_json(each) for each in versions],
        "lineage": None if kept.lineage is None else kept.lineage.to_json(),
        "fingerprint": kept.fingerprint,
        "facts": None if kept.facts is None else facts_to_json(kept.facts),
    }
    return document | ({"files": _segments_json(kept)} if with_segments else {})


def _version_json(commit: Commit) -> dict[str, Any]:
    manifest = commit.body["manifest"]
    return {
        "commit": commit.number,
        "kind": commit.kind,
        "created": datetime.fromtimestamp(commit.created_s, UTC).isoformat(),
        "by": commit.by,
        "elements": manifest["elements"],
        "size_bytes": sum(segment["bytes"] for segment in manifest["segments"]),
    }


def _segments_json(kept: Snapshot) -> list[dict[str, Any]]:
    chunks, elements = Counter[int](), Counter[int]()
    for chunk in kept.manifest.chunks:
        chunks[chunk.segment] += 1
        elements[chunk.segment] += chunk.entry.rows
    return [
        {
            "name": segment.entry.name,
            "codec": segment.codec,
            "size_bytes": segment.entry.size_bytes,
            "chunks": chunks[number],
            "elements": elements[number],
        }
        for number, segment in enumerate(kept.manifest.segments)
    ]
