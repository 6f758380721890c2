"""Checking: whether everything that is kept can still be read, down to the last chunk."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise

from keepset.core.checksum import crc32c
from keepset.core.ranges import Ranges, ranges_of, ranges_text
from keepset.errors import CorruptSnapshotError, ObjectMissingError, StorageError
from keepset.format.commit import SELF_CONTAINED, Commit, commit_name, commit_number
from keepset.format.log import Log, LogState
from keepset.format.manifest import Manifest
from keepset.format.place import check_place
from keepset.format.readers import readers_of
from keepset.format.segment import ChunkEntry, ChunkReader
from keepset.snapshot.reading.recipes import FOLDER as RECIPES
from keepset.snapshot.reading.recipes import recipe_name
from keepset.snapshot.upkeep.removing import FOLDERS
from keepset.storage import Store
from keepset.storage.shortage import shortages_of
from keepset.workers.threads import map_at_once


@dataclass(frozen=True)
class Damage:
    """Something that can no longer be trusted: an object, where in it, and what it costs.

    ``chunk`` is its place in the manifest, if it is one. What is not ``is_needed`` costs nothing.
    An old commit ``is_void`` if a newer one says all there is to know: it may stay as it is.
    """

    name: str
    what: str
    byte: int | None = None
    chunk: int | None = None
    elements: Ranges = ()
    is_needed: bool = True
    is_void: bool = False

    def __str__(self) -> str:
        at = "" if self.byte is None else f" at byte {self.byte}"
        costs = f"; {ranges_text(self.elements)}" if self.elements else ""
        if not self.is_needed:
            costs = "; nothing that is read depends on it"
        return f"{self.name}{at}: {self.what}{costs}"


@dataclass(frozen=True)
class Report:
    """What was found. ``waiting`` are elements that an earlier repair has dropped."""

    url: str
    elements: int
    chunks: int
    size_bytes: int
    damages: tuple[Damage, ...]
    waiting: Ranges = ()
    state: LogState = field(default_factory=LogState, repr=False)
    # The commits that are there, and the number of the first that is of no use.
    commits: tuple[int, ...] = ()
    usable: int = 0

    @property
    def is_sound(self) -> bool:
        return all(damage.is_void for damage in self.damages)

    @property
    def manifest(self) -> Manifest:
        return _manifest_of(self.state)


def check_snapshot(store: Store, on_chunk: Callable[[int], None] | None = None) -> Report:
    """Read every commit, every chunk and what is around the chunks, and compare checksums.

    Damage is what was read as a whole and is wrong, or what is not there. Where reading fails, for
    want of memory or of open files, or as the disk or the network says no, that is an error.

    ``on_chunk`` is told the size of each chunk that was read, in any thread.
    """
    with shortages_of(store.url):
        return _checked(store, on_chunk)


def _checked(store: Store, on_chunk: Callable[[int], None] | None) -> Report:
    for folder in FOLDERS:
        check_place(store, folder)  # no repair can write there
    log = Log(store)
    commits = _commits(log)
    state, usable, reasons = _fold(commits)
    damages = list(_log_damages(commits, usable, reasons))
    manifest = _manifest_of(state)
    dropped = set() if state.damaged is None else set(state.damaged.chunks)
    damages += _segment_damages(store, manifest, dropped, on_chunk)
    damages += _recipe_damages(store)
    return Report(
        url=store.url,
        elements=manifest.elements,
        chunks=len(manifest.chunks),
        size_bytes=manifest.stored_bytes,
        damages=tuple(damages),
        waiting=ranges_of(manifest.positions(sorted(dropped)).values()),
        state=state,
        commits=tuple(commits),
        usable=usable,
    )


def _manifest_of(state: LogState) -> Manifest:
    if state.version is not None:
        return state.version.manifest
    if state.damaged is not None:
        return state.damaged.manifest
    return state.kept or Manifest(None, 0)


# The log:


def _commits(log: Log) -> dict[int, Commit | Damage]:
    """Every commit that is there by its number, or what is the matter with it."""
    commits: dict[int, Commit | Damage] = {}
    for number in log.numbers():
        try:
            commits[number] = log.read(number)
        except ObjectMissingError:
            continue  # removed while we look
        except CorruptSnapshotError as error:
            what = f"it is damaged ({error.__cause__})"
            commits[number] = Damage(commit_name(number), what)
    return commits


def _gaps(commits: Mapping[int, object]) -> dict[int, Damage]:
    """What is missing between commits that are there, by the number of the commit behind it."""
    gaps = {}
    for before, number in pairwise(commits):
        if number > before + 1:
            missing = number - before - 1
            what = (
                "it is missing" if missing == 1 else f"it and {missing - 1} behind it are missing"
            )
            gaps[number] = Damage(commit_name(before + 1), what)
    return gaps


def _fold(commits: Mapping[int, Commit | Damage]) -> tuple[LogState, int, list[Damage]]:
    """What the log says as far as it can be trusted, the first commit that cannot, and why."""
    gaps = _gaps(commits)
    reasons: list[Damage] = []
    top = max(commits, default=-1) + 1
    while True:
        state, reason = _fold_below(commits, gaps, top)
        if reason is None:
            return state, top, reasons
        reasons.append(reason)
        top = _number_of(reason)


def _fold_below(
    commits: Mapping[int, Commit | Damage], gaps: Mapping[int, Damage], top: int
) -> tuple[LogState, Damage | None]:
    """What the commits below a number say, or why they do not."""
    chain: list[Commit] = []
    for number in sorted((number for number in commits if number < top), reverse=True):
        commit = commits[number]
        if isinstance(commit, Damage):
            return LogState(), commit
        chain.append(commit)
        if commit.kind in SELF_CONTAINED:
            break
        if number in gaps:
            return LogState(), gaps[number]
    else:
        if chain and chain[-1].number > 0:
            return LogState(), Damage(commit_name(chain[-1].number - 1), "it is missing")
    state = LogState()
    for commit in reversed(chain):
        try:
            state.add(commit, commit_name(commit.number))
        except CorruptSnapshotError as error:
            what = f"it says something that cannot be ({error.__cause__})"
            return LogState(), Damage(commit_name(commit.number), what)
    state.anchor = state.last
    return state, None


def _log_damages(
    commits: Mapping[int, Commit | Damage], usable: int, reasons: Iterable[Damage]
) -> Iterator[Damage]:
    """All that is the matter with the log, in order, and what of it costs nothing."""
    found = {damage.name: damage for damage in reasons}
    broken = (commit for commit in commits.values() if isinstance(commit, Damage))
    for damage in (*_gaps(commits).values(), *broken):
        is_needed = damage.name in found or _number_of(damage) >= usable
        found[damage.name] = replace(damage, is_needed=is_needed, is_void=not is_needed)
    yield from sorted(found.values(), key=_number_of)


def _number_of(damage: Damage) -> int:
    number = commit_number(damage.name)
    assert number is not None
    return number


# What says how it was made, which nothing that is read depends on:


def _recipe_damages(store: Store) -> Iterator[Damage]:
    for name in sorted(store.names(RECIPES)):
        what = _obstacle(store, name)
        if what is None and not _is_sound_recipe(store, name):
            what = "its content is not what it was"
        if what is not None:
            yield Damage(name, what, is_needed=False)


def _is_sound_recipe(store: Store, name: str) -> bool:
    try:
        return recipe_name(store.read(name)) == name
    except ObjectMissingError:
        return True  # removed while we look


# The segments:


def _segment_damages(
    store: Store, manifest: Manifest, dropped: set[int], on_chunk: Callable[[int], None] | None
) -> Iterator[Damage]:
    readers = readers_of(manifest, store.url)
    sizes = {segment.entry.name: _size(store, segment.entry.name) for segment in manifest.segments}
    # Of a file whose chunks were all dropped nothing is read any more.
    used = {chunk.segment for n, chunk in enumerate(manifest.chunks) if n not in dropped}
    for entry in (manifest.segments[number].entry for number in sorted(used)):
        size, what = sizes[entry.name], _obstacle(store, entry.name)
        if what is not None:
            yield Damage(entry.name, what)
        elif size is None:
            yield Damage(entry.name, "the file is missing")
        elif size != entry.size_bytes:
            yield Damage(entry.name, f"it has {size} bytes, and {entry.size_bytes} were kept")
        else:
            yield from _around(store, manifest, entry.name)

    def check(number: int) -> str | None:
        chunk = manifest.chunks[number]
        name = manifest.segments[chunk.segment].entry.name
        what = _chunk_damage(store, manifest, number, readers[chunk.segment], sizes[name])
        if on_chunk is not None:
            on_chunk(chunk.entry.stored_bytes)
        return what

    numbers = [n for n in range(len(manifest.chunks)) if n not in dropped]
    found = zip(numbers, map_at_once(check, numbers, os.cpu_count() or 1), strict=True)
    bad = {number: what for number, what in found if what is not None}
    positions = manifest.positions(list(bad))
    for number, what in bad.items():
        chunk = manifest.chunks[number]
        name = manifest.segments[chunk.segment].entry.name
        yield Damage(name, what, chunk.entry.offset, number, ranges_of([positions[number]]))


def _size(store: Store, name: str) -> int | None:
    try:
        return store.size(name)
    except ObjectMissingError:
        return None
    except StorageError:
        if store.obstacle(name) is None:
            raise
        return None


def _obstacle(store: Store, name: str) -> str | None:
    """What is in the place of a file, as a sentence."""
    what = store.obstacle(name)
    return None if what is None else f"{what} is in its place"


def _around(store: Store, manifest: Manifest, name: str) -> Iterator[Damage]:
    """Check what is before the first chunk of a segment and behind the last."""
    entry = next(s.entry for s in manifest.segments if s.entry.name == name)
    foot = entry.size_bytes - entry.foot_bytes
    for where, offset, length, checksum in (
        ("head", 0, entry.head_bytes, entry.head_checksum),
        ("foot", foot, entry.foot_bytes, entry.foot_checksum),
    ):
        if crc32c(store.read_range(name, offset, length)) != checksum:
            what = f"its {where} fails its checksum, so that other programs cannot open it"
            yield Damage(name, what, offset)


def _chunk_damage(
    store: Store, manifest: Manifest, number: int, reader: ChunkReader, size: int | None
) -> str | None:
    chunk = manifest.chunks[number]
    entry, name = chunk.entry, manifest.segments[chunk.segment].entry.name
    end = entry.offset + entry.stored_bytes
    if size is None or end > size:
        return f"the chunk of {entry.rows} elements is cut off or missing"
    data = store.read_range(name, entry.offset, entry.stored_bytes)
    try:
        reader.check(memoryview(data), entry)
    except CorruptSnapshotError:
        return f"the chunk of {entry.rows} elements fails its checksum"
    _decode(reader, data, entry, store.object_url(name))
    return None


def _decode(reader: ChunkReader, data: memoryview | bytes, entry: ChunkEntry, where: str) -> None:
    """Read a chunk whose checksums fit: what was written is there, so a failure is no damage."""
    try:
        reader.read(data, entry)
    except CorruptSnapshotError as error:
        raise CorruptSnapshotError(
            f"{where}: the chunk of {entry.rows} elements at byte {entry.offset} is as it was "
            f"written, and cannot be decoded here ({error.__cause__}); nothing is dropped. Read it "
            "with the versions of keepset and pyarrow that wrote it, or remove the snapshot with "
            "`keepset rm` and write it again",
            path=where,
            byte=entry.offset,
        ) from error
