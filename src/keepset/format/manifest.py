"""Manifest: all that is needed to read what was kept, in one JSON value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from keepset.codecs import CODECS
from keepset.core.dtypes import Array
from keepset.core.record import record
from keepset.core.spec import (
    Spec,
    common_supertype,
    spec_from_json,
    spec_to_json,
    structure_and_leaves,
)
from keepset.errors import KeepsetError
from keepset.format.order import Order, join_orders, order_from_json, order_of
from keepset.format.segment import ChunkEntry, SegmentEntry

_LARGEST = 1 << 62  # so that sums of a few fit into 64 bits
_INTEGERS = {int}  # and not bool


class Segment(NamedTuple):
    """A segment, and how its chunks are to be read."""

    entry: SegmentEntry
    spec: Spec
    wide: bool
    codec: str


class KeptChunk(NamedTuple):
    """A chunk: the number of its segment, the shard that it belongs to, and its place."""

    segment: int
    shard: int
    entry: ChunkEntry


@record
class Manifest:
    """Elements in the order in which they came.

    ``order`` tells the shard of each element, and is None if there is only shard 0; the chunks of
    one shard are in order.
    """

    spec: Spec | None
    elements: int
    segments: tuple[Segment, ...] = ()
    chunks: tuple[KeptChunk, ...] = ()
    order: Order | None = None

    @property
    def stored_bytes(self) -> int:
        return sum(segment.entry.size_bytes for segment in self.segments)

    @property
    def segment_names(self) -> set[str]:
        return {segment.entry.name for segment in self.segments}

    def positions(self, numbers: Sequence[int]) -> dict[int, Array]:
        """Where the elements of these chunks are among all, chunk by chunk."""
        wanted, found = set(numbers), {}
        ends: dict[int, int] = {}
        for number, chunk in enumerate(self.chunks):
            start = ends.get(chunk.shard, 0)
            stop = ends[chunk.shard] = start + chunk.entry.rows
            if number in wanted and self.order is None:
                found[number] = np.arange(start, stop)
            elif number in wanted and self.order is not None:
                found[number] = self.order.positions(chunk.shard, start, stop)
        return found

    def replaced(self, numbers: Sequence[int], others: Manifest) -> Manifest:
        """The same elements, with ``others``' chunks in the places of these."""
        first = len(self.segments)
        chunks = list(self.chunks)
        for number, chunk in zip(numbers, others.chunks, strict=True):
            chunks[number] = chunk._replace(segment=chunk.segment + first)
        spec = common_supertype([self.spec, others.spec]) if others.chunks else self.spec
        segments = self.segments + others.segments
        return replace(self, spec=spec, segments=segments, chunks=tuple(chunks))._trimmed()

    def without(self, numbers: Sequence[int]) -> Manifest:
        """The elements that are not in these chunks."""
        gone = self.positions(numbers).values()
        lost = np.concatenate([np.empty(0, np.int64), *gone])
        order = self.order
        if order is not None:
            order = order_of(np.delete(order.between(0, self.elements), lost))
        chunks = tuple(c for n, c in enumerate(self.chunks) if n not in set(numbers))
        elements = self.elements - len(lost)
        return replace(self, elements=elements, chunks=chunks, order=order)._trimmed()

    def _trimmed(self) -> Manifest:
        """Without the segments that no chunk is in."""
        used = sorted({chunk.segment for chunk in self.chunks})
        places = {old: new for new, old in enumerate(used)}
        return replace(
            self,
            segments=tuple(self.segments[old] for old in used),
            chunks=tuple(c._replace(segment=places[c.segment]) for c in self.chunks),
        )

    def to_json(self) -> dict[str, Any]:
        specs: list[Any] = []
        segments = []
        for segment in self.segments:
            spec = spec_to_json(segment.spec)
            if spec not in specs:
                specs.append(spec)
            e = segment.entry
            ends = [[e.head_bytes, e.head_checksum], [e.foot_bytes, e.foot_checksum]]
            segments.append(
                {
                    "name": e.name,
                    "bytes": e.size_bytes,
                    "head": ends[0],
                    "foot": ends[1],
                    "spec": specs.index(spec),
                    "wide": segment.wide,
                    "codec": segment.codec,
                }
            )
        return {
            "elements": self.elements,
            "spec": spec_to_json(self.spec),
            "specs": specs,
            "segments": segments,
            "chunks": [
                [c.segment, c.shard, e.offset, e.rows, e.raw_bytes, list(e.ends), list(e.checksums)]
                for c in self.chunks
                for e in [c.entry]
            ],
            "order": None if self.order is None else self.order.to_json(),
        }


def manifest_from_json(value: Any) -> Manifest:
    """Read what ``to_json`` wrote; anything odd is a ValueError."""
    try:
        specs = [spec_from_json(spec) for spec in value["specs"]]
        segments = tuple(_segment(facts, specs) for facts in value["segments"])
        leaves = {id(spec): len(structure_and_leaves(spec)[1]) for spec in specs}
        pieces = [_pieces(segment, leaves[id(segment.spec)]) for segment in segments]
        chunks = tuple(_chunk(facts, segments, pieces) for facts in value["chunks"])
        order = value["order"]
        manifest = Manifest(
            spec=spec_from_json(value["spec"]),
            elements=int(value["elements"]),
            segments=segments,
            chunks=chunks,
            order=None if order is None else order_from_json(order),
        )
    except (KeyError, TypeError, IndexError, AttributeError, OverflowError, KeepsetError) as error:
        raise ValueError(f"a manifest is not as it should be ({error})") from error
    _check_counts(manifest)
    _check_structures(manifest)
    return manifest


def join(manifests: Sequence[Manifest]) -> Manifest:
    """What several writers or commits kept, one after another."""
    segments: list[Segment] = []
    chunks: list[KeptChunk] = []
    for manifest in manifests:
        first = len(segments)
        segments += manifest.segments
        chunks += [chunk._replace(segment=chunk.segment + first) for chunk in manifest.chunks]
    filled = [manifest for manifest in manifests if manifest.elements]
    specs = [m.spec for m in filled] or [m.spec for m in manifests[:1]]
    return Manifest(
        spec=common_supertype(specs) if specs else None,
        elements=sum(manifest.elements for manifest in manifests),
        segments=tuple(segments),
        chunks=tuple(chunks),
        order=_join_orders(filled),
    )


def _join_orders(manifests: Sequence[Manifest]) -> Order | None:
    if all(manifest.order is None for manifest in manifests):
        return None
    only_shard = np.zeros(1, np.int64)
    return join_orders([m.order or Order(only_shard, m.elements) for m in manifests])


def _segment(facts: Any, specs: list[Spec]) -> Segment:
    (head, head_checksum), (foot, foot_checksum) = facts["head"], facts["foot"]
    name, codec = facts["name"], facts["codec"]
    if not isinstance(name, str) or not name.startswith("segments/") or ".." in name:
        raise ValueError(f"{name!r:.80} is not the name of a segment")
    if codec not in CODECS:
        raise ValueError(f"there is no compression {codec!r:.40}")
    sizes = size, head, foot = facts["bytes"], head, foot
    are_sizes = _INTEGERS.issuperset(map(type, sizes)) and min(sizes) >= 0 and max(sizes) < _LARGEST
    if not are_sizes or head + foot > size:
        raise ValueError(f"{name} is listed with sizes that cannot be")
    entry = SegmentEntry(name, size, head, int(head_checksum), foot, int(foot_checksum))
    return Segment(entry, specs[facts["spec"]], bool(facts["wide"]), codec)


def _pieces(segment: Segment, leaves: int) -> int:
    """How many pieces a chunk of a segment has, each with a checksum of its own."""
    return 1 if CODECS[segment.codec].is_framed else 1 + leaves


def _chunk(facts: Any, segments: Sequence[Segment], pieces: Sequence[int]) -> KeptChunk:
    segment, shard, offset, rows, raw_bytes, ends, checksums = facts
    entry = ChunkEntry(offset, rows, tuple(ends), tuple(checksums), raw_bytes)
    sound = (
        _INTEGERS.issuperset(map(type, (segment, shard, offset, rows, raw_bytes, *ends)))
        and 0 <= segment < len(segments)
        and offset >= 0
        and rows > 0
        and raw_bytes >= 0
        and len(ends) == len(checksums) == pieces[segment]
        and ends[0] >= 0
        and ends == sorted(ends)
        and offset + ends[-1] <= segments[segment].entry.size_bytes
    )
    if not sound:
        raise ValueError("a chunk is listed with numbers that cannot be")
    return KeptChunk(segment, shard, entry)


def _check_structures(manifest: Manifest) -> None:
    """The elements of each segment must be nested as all of them are said to be."""
    specs = {id(segment.spec): segment.spec for segment in manifest.segments}
    whole = structure_and_leaves(manifest.spec)[0] if specs else None
    for spec in specs.values():
        structure = structure_and_leaves(spec)[0]
        if structure != whole:
            raise ValueError(f"elements of {structure} are kept where there should be {whole}")


def _check_counts(manifest: Manifest) -> None:
    """The chunks must hold what the order tells, shard by shard."""
    if not 0 <= manifest.elements < _LARGEST:
        raise ValueError(f"{manifest.elements} elements cannot be")
    kept: dict[int, int] = {}
    for chunk in manifest.chunks:
        kept[chunk.shard] = kept.get(chunk.shard, 0) + chunk.entry.rows
    told = {0: manifest.elements} if manifest.elements else {}
    if manifest.order is not None:
        told = manifest.order.counts()
    if kept != told or sum(kept.values()) != manifest.elements:
        raise ValueError(
            f"{sum(kept.values())} elements are kept in {len(kept)} shards where there should be "
            f"{manifest.elements} in {len(told)}"
        )
