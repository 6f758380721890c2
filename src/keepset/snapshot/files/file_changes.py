"""File changes: which files of a pipeline are not what they were, for people to read."""

from __future__ import annotations

from collections.abc import Iterator

from keepset.core.fingerprint.difference import ABSENT, Difference
from keepset.core.fingerprint.facts import Facts
from keepset.snapshot.files.sources import FILES, FileTable, Sources
from keepset.storage.file_hashes import FileHashes
from keepset.storage.files import MODIFIED, SIZE

# How many files are named one by one.
_NAMED = 10


def with_files(
    changes: list[Difference], facts: Facts, old: FileTable | None, new: FileTable | None
) -> list[Difference]:
    """Say which files have changed, where ``changes`` only says that some have.

    Args:
        changes: What differs by the facts: nothing, if the files have their old names and sizes.
        facts: Those of the pipeline that ``new`` belongs to.
        old: The files as they were, if that is known.
        new: The files as they are, if there are any.
    """
    if new is None:
        return changes
    places = list(_places(facts, (facts.kind,)))
    if not changes:
        changes = [
            Difference(place, str(listing), str(listing))
            for place, listing in zip(places, new.listings, strict=True)
        ]
    if old is None or len(old.listings) != len(new.listings):
        return changes
    pairs = dict(zip(places, zip(old.parts(), new.parts(), strict=True), strict=True))
    told = []
    for change in changes:
        if change.path not in pairs:
            told.append(change)
            continue
        was, now = pairs[change.path]
        if was.listings[0].stamp != now.listings[0].stamp:
            told += _between(change.path.removesuffix(f" > {FILES}"), was, now) or [change]
    return told


def table_of_now(old: FileTable | None, sources: Sources, hashes: FileHashes) -> FileTable:
    """The files of a pipeline, and their hashes where only those can tell what has changed.

    That is where a file has its old name and size, but not its old place or time.
    """
    now = FileTable(sources.listings, hashes.known, hashes.hashes)
    if old is not None and len(old.listings) == len(now.listings):
        hashes.compute(_doubtful(old, now))
    return now


def _doubtful(old: FileTable, now: FileTable) -> Iterator[int]:
    first = 0
    for was, part in zip(old.parts(), now.parts(), strict=True):
        (before,), (after,) = was.listings, part.listings
        moved = before.folder != after.folder
        numbers = {name: i for i, name in enumerate(before.names)}
        for j, name in enumerate(after.names):
            i = numbers.get(name)
            if i is None or not was.known[i] or before.facts[i, SIZE] != after.facts[j, SIZE]:
                continue
            if moved or (before.facts[i] != after.facts[j]).any():
                yield first + j
        first += len(after)


def _places(facts: Facts, path: tuple[str, ...]) -> Iterator[str]:
    """Where the files stand in a tree of facts, in the order of the listings."""
    if facts.kind == FILES:
        yield " > ".join(path)
    for label, child in facts.children:
        yield from _places(child, (*path, label))


def _between(where: str, old: FileTable, new: FileTable) -> list[Difference]:
    """What happened to the files of one listing: the first few, and how many more there are."""
    (before,), (after,) = old.listings, new.listings
    found = list(_changes(where, old, new))
    if not found and before.folder != after.folder:
        unknown = f"{before.folder}, of which not all content is known"
        return [Difference(f"{where} > folder", unknown, after.folder)]
    if len(found) > _NAMED:
        more = f"{where} > {len(found) - _NAMED:,} more files"
        found[_NAMED:] = [Difference(more, str(before), str(after))]
    return found


def _changes(where: str, old: FileTable, new: FileTable) -> Iterator[Difference]:
    (before,), (after,) = old.listings, new.listings
    old_numbers = {name: i for i, name in enumerate(before.names)}
    new_numbers = {name: j for j, name in enumerate(after.names)}
    for name, i in old_numbers.items():
        place, j = f"{where} > {_shown(name)}", new_numbers.get(name)
        if j is None:
            yield Difference(place, before.describe(i), ABSENT)
        elif _is_changed(old, i, new, j):
            is_unknown = before.facts[i, SIZE] == after.facts[j, SIZE] and not old.known[i]
            remark = ", content unknown" if is_unknown else ""
            yield Difference(place, before.describe(i) + remark, after.describe(j))
    for name, j in new_numbers.items():
        if name not in old_numbers:
            yield Difference(f"{where} > {_shown(name)}", ABSENT, after.describe(j))


def _is_changed(old: FileTable, i: int, new: FileTable, j: int) -> bool:
    before, after = old.listings[0].facts[i], new.listings[0].facts[j]
    if before[SIZE] != after[SIZE]:
        return True
    if old.known[i] and new.known[j]:
        return bool((old.hashes[i] != new.hashes[j]).any())
    return bool(before[MODIFIED] != after[MODIFIED])


def _shown(name: str) -> str:
    """A name that can be printed, also if it is no text."""
    return name.encode("utf-8", "backslashreplace").decode()
