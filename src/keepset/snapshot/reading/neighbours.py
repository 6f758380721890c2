"""Neighbours: the snapshots at one path, read one by one where they are near, else at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from keepset.errors import CorruptSnapshotError, NewerFormatError
from keepset.storage import Store
from keepset.workers.threads import map_at_once

T = TypeVar("T")

# As many snapshots at a path are looked at.
MOST: Final = 256
_AT_ONCE: Final = 16


def read_neighbours(root: Store, names: list[str], read: Callable[[Store], T]) -> dict[str, T]:
    """What ``read`` says of each snapshot; a damaged one is left out, as asking for it says so."""

    def one(name: str) -> tuple[str, T] | None:
        try:
            return name, read(root.sub(f"{name}/") if name else root)
        except (CorruptSnapshotError, NewerFormatError):
            return None

    names = names[:MOST]
    if not root.is_remote or len(names) < 2:
        return dict(filter(None, map(one, names)))
    # An object store takes as long to answer one question as many.
    return dict(filter(None, map_at_once(one, names, _AT_ONCE)))
