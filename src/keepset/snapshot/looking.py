"""Snapshot: a look at what is kept at a path, without reading its elements."""

from __future__ import annotations

import os
from collections import Counter
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from keepset.core.fingerprint import Facts, facts_from_json
from keepset.core.spec import Spec
from keepset.format.commit import Commit
from keepset.format.log import Log, LogState
from keepset.format.manifest import Manifest
from keepset.snapshot.opening import folder_of
from keepset.snapshot.progress import size_text
from keepset.storage import open_store


class Snapshot:
    """Opens a saved data set or a snapshot for looking at, finished or not.

    Example:
        >>> import tempfile
        >>> path = tempfile.mkdtemp()
        >>> Dataset.range(1000).save(path, "LZ4")
        >>> found = Snapshot(path)
        >>> found.num_elements, found.codecs, found.is_complete
        (1000, ['LZ4'], True)
    """

    def __init__(
        self, path: str | os.PathLike[str], *, fingerprint: str | None = None, **options: Any
    ) -> None:
        root = open_store(path, **options)
        folder = folder_of(root, fingerprint)
        self._store = root.sub(f"{folder}/") if folder else root
        self._log = Log(self._store)
        self._state: LogState = self._log.state()

    @property
    def url(self) -> str:
        return self._store.url

    @property
    def is_complete(self) -> bool:
        """Whether all elements are kept; if not, there is the beginning of a first pass."""
        return self._state.version is not None

    @property
    def manifest(self) -> Manifest:
        if self._state.version is not None:
            return self._state.version.manifest
        return self._state.kept or Manifest(None, 0)

    @property
    def element_spec(self) -> Spec:
        return self.manifest.spec

    @property
    def num_elements(self) -> int:
        return self.manifest.elements

    @property
    def size_bytes(self) -> int:
        """What the elements take on disk."""
        return self.manifest.stored_bytes

    @property
    def raw_bytes(self) -> int:
        """What they would take without compression, where that is known, or did take."""
        return sum(chunk.entry.raw_bytes for chunk in self.manifest.chunks)

    @property
    def shards(self) -> dict[int, int]:
        """How many elements each shard has."""
        counts: Counter[int] = Counter()
        for chunk in self.manifest.chunks:
            counts[chunk.shard] += chunk.entry.rows
        return dict(sorted(counts.items()))

    @property
    def codecs(self) -> list[str]:
        return sorted({segment.codec for segment in self.manifest.segments})

    @cached_property
    def history(self) -> list[Commit]:
        """All commits, oldest first."""
        return list(self._log.history())

    @property
    def versions(self) -> list[Commit]:
        """The whole data sets that were kept here, oldest first; the last one is read."""
        return [commit for commit in self.history if commit.kind in ("complete", "replace")]

    @property
    def _newest(self) -> Commit | None:
        return self.history[-1] if self.history else None

    @property
    def created(self) -> datetime | None:
        """When the newest commit was made, by the clock of the machine that made it."""
        newest = self._newest
        return None if newest is None else datetime.fromtimestamp(newest.created_s, UTC)

    @property
    def created_by(self) -> dict[str, Any]:
        """What made it: versions and machine."""
        return {} if self._newest is None else self._newest.by

    @property
    def fingerprint(self) -> str | None:
        """Which pipeline it is of; None for what was saved."""
        return None if self._newest is None else self._newest.body.get("fingerprint")

    @cached_property
    def facts(self) -> Facts | None:
        """What the fingerprint was found from, stage by stage."""
        for commit in reversed(self.history):
            if commit.body.get("facts") is not None:
                return facts_from_json(commit.body["facts"])
        return None

    def __repr__(self) -> str:
        state = "complete" if self.is_complete else "unfinished"
        return (
            f"<Snapshot {self.url!r}: {state}, {self.num_elements:,} elements, "
            f"{size_text(self.size_bytes)}, {self.element_spec}>"
        )
