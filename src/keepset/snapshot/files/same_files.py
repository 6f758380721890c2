"""Same files: finds what was kept of files that have been moved, copied or touched since."""

from __future__ import annotations

import json
import sys
import time
from contextlib import suppress

import numpy as np

from keepset.core.size_text import size_text
from keepset.errors import CorruptSnapshotError, NewerFormatError, StorageError
from keepset.format.log import Log
from keepset.snapshot.files.sources import FOLDER, FileTable, Sources, read_table
from keepset.snapshot.reading.opening import fingerprints_at
from keepset.storage import Store
from keepset.storage.file_hashes import FileHashes
from keepset.storage.files import SIZE

# Reading less than this takes no time that anybody would wonder about.
_WORTH_A_WORD_BYTES = 1 << 30


def find_same(root: Store, sources: Sources, hashes: FileHashes | None = None) -> str | None:
    """The fingerprint of a finished snapshot of the same pipeline, over files of the same content.

    Names within the data set and sizes are the same by the outline. Where the folder or a time
    differs the content decides. That takes reading those files once: the answer is remembered.

    Args:
        root: Where the snapshots are.
        sources: The files of the pipeline.
        hashes: Takes what has to be computed of the files' hashes.
    """
    whole = [name for name in _alike(root, sources) if _is_whole(_sub(root, name))]
    remembered = f"{FOLDER}{sources.stamp}.json"
    for name in whole:
        if _sub(root, name).exists(remembered):
            return name
    hashes = hashes or sources.hashes()
    for name in whole:
        table = read_table(_sub(root, name))
        if table is not None and _is_same(table, sources, hashes):
            # A place that may only be read is read all the same, and compared again next time.
            with suppress(StorageError):
                _sub(root, name).put(remembered, _note(sources))
            return name
    return None


def _alike(root: Store, sources: Sources) -> list[str]:
    start = f"{sources.outline}-"
    return [name for name in fingerprints_at(root) if name.startswith(start)]


def _is_whole(store: Store) -> bool:
    try:
        return Log(store).state().version is not None
    except (CorruptSnapshotError, NewerFormatError):
        return False  # whoever asks for it will hear of it; this pipeline can do without


def _sub(root: Store, name: str) -> Store:
    return root.sub(f"{name}/")


def _note(sources: Sources) -> bytes:
    folders = [listing.folder for listing in sources.listings]
    note = {"stamp": sources.stamp, "folders": folders, "created": time.time()}
    return json.dumps(note).encode()


def _is_same(table: FileTable, sources: Sources, hashes: FileHashes) -> bool:
    if [each.outline for each in table.listings] != [each.outline for each in sources.listings]:
        return False
    # Files in the same place with the same times are taken for the same, as everywhere.
    alike = [old.alike(new) for old, new in zip(table.listings, sources.listings, strict=True)]
    doubtful = np.flatnonzero(~np.concatenate(alike)).tolist()
    if not table.known[doubtful].all():
        return False  # nobody knows what was in some of them

    def is_equal(number: int) -> bool:
        return bool(hashes.known[number] and (hashes.hashes[number] == table.hashes[number]).all())

    _announce(sources, doubtful)
    hashes.compute(doubtful, go_on=is_equal)
    # A file that changed while it was hashed is no longer the one that the stamp stands for.
    return all(map(is_equal, doubtful)) and bool(sources.unchanged().all())


def _announce(sources: Sources, numbers: list[int]) -> None:
    """Say why it takes a while before the first element comes, to whoever sits at a terminal."""
    size_bytes = int(sources.facts[numbers, SIZE].sum())
    if size_bytes >= _WORTH_A_WORD_BYTES and sys.stderr.isatty():
        sys.stderr.write(
            f"keepset: files were moved, copied or touched; comparing {size_text(size_bytes)} in "
            f"{len(numbers):,} of them, once\n"
        )
