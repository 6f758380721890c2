"""Explaining: whether a pipeline would be replayed, and if not, what has changed."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

from keepset.core.fingerprint import Difference, Facts, differences
from keepset.core.node import Node
from keepset.snapshot.identity import snapshot_facts
from keepset.snapshot.looking import Snapshot
from keepset.snapshot.opening import fingerprints_at
from keepset.snapshot.stage import SnapshotStage
from keepset.storage import open_store


@dataclass(frozen=True)
class Explanation:
    """Why a pipeline is computed again, or that it is not. Print it to read it.

    Attributes:
        hit: Whether what is kept would be used.
        fingerprint: That of the pipeline.
        kept_elements: How many of its elements are kept; all of them if ``is_complete``.
        nearest: On a miss, the kept fingerprint that differs least.
        changes: What differs from it, old and new.
    """

    url: str
    hit: bool
    fingerprint: str
    is_complete: bool = False
    kept_elements: int = 0
    nearest: str | None = None
    changes: list[Difference] = field(default_factory=list)

    def __str__(self) -> str:
        if self.hit:
            how = (
                "is replayed" if self.is_complete else "goes on with the elements that are missing"
            )
            return (
                f"hit: {self.kept_elements:,} elements are kept in {self.url}; the pipeline {how}"
            )
        if self.nearest is None:
            return f"miss: nothing is kept in {self.url} yet"
        lines = [f"miss: {self.url} keeps no snapshot of this pipeline"]
        lines.append(f"the nearest, {self.nearest}, differs in")
        for change in self.changes:
            lines.append(f"  {change}")
            lines += [f"    {line}" for line in change.source_diff().splitlines()]
        return "\n".join(lines)


def explain_node(
    node: Node, path: str | os.PathLike[str], options: dict[str, Any] | None = None
) -> Explanation:
    """Compare a pipeline with what is kept at a path."""
    given = options or {}
    store = open_store(path, **given)
    name, facts = _identity(node)
    kept = fingerprints_at(store)
    if name in kept:
        found = Snapshot(path, fingerprint=name, **given)
        return Explanation(store.url, True, name, found.is_complete, found.num_elements)
    others = [(other, Snapshot(path, fingerprint=other, **given).facts) for other in kept]
    compared = [
        (differences(old, facts, name=facts.kind), other)
        for other, old in others
        if old is not None and facts is not None
    ]
    if not compared:
        return Explanation(store.url, False, name)
    changes, nearest = min(compared, key=lambda pair: len(pair[0]))
    return Explanation(store.url, False, name, nearest=nearest, changes=changes)


def _identity(node: Node) -> tuple[str, Facts | None]:
    """The fingerprint of a pipeline, or the one of the snapshot that it ends with."""
    if isinstance(node, SnapshotStage):
        if node.facts is None:
            return node.fingerprint, None
        facts = snapshot_facts(node.parent, node.shard_func)
    else:
        facts = snapshot_facts(node, None)
    return facts.digest, facts
