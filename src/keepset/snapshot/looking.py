"""Snapshot: a look at what is kept at a path, without reading its elements."""

from __future__ import annotations

import math
import os
from collections import Counter
from datetime import UTC, datetime
from typing import Any, Self

from keepset.core.cached import cached_property
from keepset.core.dtypes import StringType
from keepset.core.fingerprint import Facts, facts_from_json
from keepset.core.lineage import Lineage
from keepset.core.ranges import Ranges, ranges_of
from keepset.core.size_text import size_text
from keepset.core.spec import LeafSpec, Spec, TensorSpec, structure_and_leaves, with_open_rows
from keepset.format.commit import Commit
from keepset.format.log import Log, LogState
from keepset.format.manifest import Manifest, Segment
from keepset.snapshot.reading.opening import newest_at
from keepset.snapshot.reading.recipes import read_recipe
from keepset.storage import Store, open_store


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
        self._look_at(*newest_at(open_store(path, **options), fingerprint))

    @classmethod
    def of(cls, store: Store) -> Self:
        """What is kept right in a store."""
        found = cls.__new__(cls)
        found._look_at(store, Log(store).state())
        return found

    def _look_at(self, store: Store, state: LogState) -> None:
        self._store, self._log, self._state = store, Log(store), state

    @property
    def url(self) -> str:
        return self._store.url

    @property
    def is_complete(self) -> bool:
        """Whether all elements are kept; if not, there is the beginning of a first pass."""
        return self._state.version is not None

    @property
    def is_removed(self) -> bool:
        """Whether the snapshot was removed as a whole, and nothing was stored since."""
        return self._state.removal is not None

    @cached_property
    def manifest(self) -> Manifest:
        if self._state.version is not None:
            return self._state.version.manifest
        if self._state.damaged is not None:
            return self._state.damaged.manifest
        return self._state.kept or Manifest(None, 0)

    @property
    def element_spec(self) -> Spec:
        return with_open_rows(self.manifest.spec)

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
    def memory_bytes(self) -> int | None:
        """What the elements take in memory; None where they differ in size."""
        sizes = [_fixed_bytes(leaf) for leaf in structure_and_leaves(self.element_spec)[1]]
        return None if None in sizes else self.fixed_bytes

    @property
    def fixed_bytes(self) -> int:
        """What those leaves take in memory that have the same size in every element."""
        leaves = structure_and_leaves(self.element_spec)[1]
        return self.num_elements * sum(_fixed_bytes(leaf) or 0 for leaf in leaves)

    @property
    def waiting(self) -> Ranges:
        """The elements that a repair has dropped, and that the next run computes again."""
        damaged = self._state.damaged
        if damaged is None:
            return ()
        return ranges_of(damaged.manifest.positions(damaged.chunks).values())

    @property
    def needed_segments(self) -> list[Segment]:
        """The files that elements are read from."""
        dropped = set() if self._state.damaged is None else set(self._state.damaged.chunks)
        chunks = enumerate(self.manifest.chunks)
        used = {chunk.segment for number, chunk in chunks if number not in dropped}
        return [self.manifest.segments[number] for number in sorted(used)]

    @property
    def shards(self) -> dict[int, int]:
        """How many elements each shard has."""
        counts: Counter[int] = Counter()
        for chunk in self.manifest.chunks:
            counts[chunk.shard] += chunk.entry.rows
        return dict(sorted(counts.items()))

    @property
    def files(self) -> list[str]:
        """The files of the elements: all of them are one data set to Arrow, Polars and DuckDB."""
        return [self._store.object_url(s.entry.name) for s in self.manifest.segments]

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

    @cached_property
    def _newest(self) -> Commit | None:
        """The commit that says what is kept now; what only fences off a dead writer does not."""
        state = self._state
        if state.version is not None:
            return state.version.commit
        if state.damaged is not None:
            return state.damaged.commit
        if state.appends:
            return state.appends[-1].commit
        return next((each for each in self._log.backwards() if each.kind != "fence"), None)

    @property
    def created(self) -> datetime | None:
        """When what is kept now was committed, by the clock of the machine that made it."""
        newest = self._newest
        return None if newest is None else datetime.fromtimestamp(newest.created_s, UTC)

    @property
    def created_by(self) -> dict[str, Any]:
        """What made it: versions and machine."""
        return {} if self._newest is None else self._newest.by

    @property
    def fingerprint(self) -> str | None:
        """Which pipeline it is of; None for what was saved."""
        found: str | None = self._told("fingerprint")
        return found

    @cached_property
    def facts(self) -> Facts | None:
        """What the fingerprint was found from, stage by stage."""
        found = self._told("facts")
        return None if found is None else facts_from_json(found)

    @cached_property
    def lineage(self) -> Lineage | None:
        """The stages that it was made by, the last one first. Print it to read it."""
        return Lineage.from_json(self._told("lineage"))

    @property
    def recipe(self) -> str | None:
        """The recipe by which it was made, as JSON, if there is one."""
        digest = self._told("recipe")
        return None if digest is None else read_recipe(self._store, {"recipe": digest})

    @property
    def no_recipe(self) -> str | None:
        """Why there is no recipe, if that is known."""
        found: str | None = self._told("no_recipe")
        return found

    def _told(self, key: str) -> Any:
        """What the log says under a key, in the newest commit that says it."""
        newest = self._newest
        if newest is None:
            return None
        value = newest.body.get(key)
        if value is not None or newest.kind == "replace":
            return value
        told = (each.body.get(key) for each in reversed(self.history))
        return next((value for value in told if value is not None), None)

    def __repr__(self) -> str:
        state = "complete" if self.is_complete else "unfinished"
        return (
            f"<Snapshot {self.url!r}: {state}, {self.num_elements:,} elements, "
            f"{size_text(self.size_bytes)}, {self.element_spec}>"
        )


def _fixed_bytes(leaf: LeafSpec) -> int | None:
    """What a leaf takes in memory, if that is the same for every element."""
    if not isinstance(leaf, TensorSpec) or isinstance(leaf.dtype, StringType):
        return None
    sizes = [None] if leaf.shape is None else leaf.shape
    known = [size for size in sizes if size is not None]
    return math.prod(known) * leaf.dtype.itemsize if len(known) == len(sizes) else None
