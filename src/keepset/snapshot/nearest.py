"""Nearest: the stored snapshot that differs least from a pipeline, and in what."""

from __future__ import annotations

from typing import NamedTuple

from keepset.core.fingerprint import Difference, Facts, differences
from keepset.snapshot.files.file_changes import table_of_now, with_files
from keepset.snapshot.files.sources import read_table
from keepset.snapshot.identity.pipeline_identity import Identity
from keepset.snapshot.looking import Snapshot
from keepset.snapshot.reading.neighbours import read_neighbours
from keepset.storage import Store


class Nearest(NamedTuple):
    """A stored snapshot, its facts, and what differs from it, old and new."""

    name: str
    facts: Facts | None
    changes: list[Difference]


def nearest(root: Store, names: list[str], identity: Identity) -> Nearest | None:
    """Find the snapshot that differs least from a pipeline of which none is stored.

    Args:
        root: Where the snapshots are.
        names: Their fingerprints.
        identity: That of the pipeline.
    """
    found = read_neighbours(root, names, Snapshot.of)
    compared = {
        name: differences(snapshot.facts, identity.facts, name=identity.facts.kind)
        for name, snapshot in found.items()
        if snapshot.facts is not None
    }
    if not compared:
        return None
    fewest = min(map(len, compared.values()))
    compared = {name: changes for name, changes in compared.items() if len(changes) == fewest}
    if identity.sources is not None:
        hashes = identity.sources.hashes()
        for name, changes in compared.items():
            old = read_table(root.sub(f"{name}/"))
            new = table_of_now(old, identity.sources, hashes)
            compared[name] = with_files(changes, identity.facts, old, new)
    best = min(compared, key=lambda name: (len(compared[name]), _age(found[name])))
    return Nearest(best, found[best].facts, compared[best])


def _age(snapshot: Snapshot) -> float:
    return 0.0 if snapshot.created is None else -snapshot.created.timestamp()
