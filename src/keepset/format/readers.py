"""Readers of the segments that a manifest names; those of one layout share it."""

from __future__ import annotations

import pyarrow as pa

from keepset.codecs import codec_named
from keepset.core.spec import structure_and_leaves
from keepset.errors import CorruptSnapshotError
from keepset.format.layout import Layout
from keepset.format.manifest import Manifest
from keepset.format.segment import ChunkReader
from keepset.storage.shortage import raise_shortage


def readers_of(manifest: Manifest, url: str) -> list[ChunkReader]:
    """One reader for each segment; ``url`` is where the snapshot is, for messages."""
    layouts: dict[tuple[str, bool], Layout] = {}
    names: dict[int, str] = {}  # most segments share one spec, and to print it takes long
    whole = structure_and_leaves(manifest.spec)[1] if manifest.segments else []
    readers = []
    for segment in manifest.segments:
        if id(segment.spec) not in names:
            names[id(segment.spec)] = repr(segment.spec)
        key = (names[id(segment.spec)], segment.wide)
        where = f"{url}/{segment.entry.name}"
        if key not in layouts:
            try:
                layouts[key] = Layout(segment.spec, segment.wide)
            except (ValueError, OverflowError, pa.ArrowException) as error:
                raise_shortage(error, where)
                raise CorruptSnapshotError(
                    f"{where} is said to hold {segment.spec}, which cannot be ({error}); was it "
                    "written by another program? save it again",
                    path=where,
                ) from error
        # Elements of an earlier, narrower layout may be arrays without a dtype of their own.
        wanted = None if segment.spec is manifest.spec else whole
        readers.append(ChunkReader(layouts[key], codec_named(segment.codec), where, wanted))
    return readers
