"""Sources: the files that a pipeline names, and the table of them that a snapshot keeps."""

from __future__ import annotations

import json
import os
import zlib
from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow as pa

from keepset.core.cached import cached_property
from keepset.core.dtypes import Array
from keepset.core.fingerprint.facts import digest_of
from keepset.errors import ObjectMissingError
from keepset.format.version import FORMAT_VERSION
from keepset.storage import Store
from keepset.storage.file_hashes import HASH, HASH_BYTES, FileHashes
from keepset.storage.files import Listing

FOLDER = "sources/"
TABLE = f"{FOLDER}files.arrows.gz"
# What the files are called in a tree of facts.
FILES = "files"
_GZIP = 31  # what zlib calls its window with the head and the checksum of a gzip file around it
# Real tables shrink to a tenth or so. A file that claims to hold more than this is not read.
_MOST_EXPANSION, _ALWAYS_BYTES = 200, 1 << 20
_SCHEMA = pa.schema(
    [
        pa.field("name", pa.large_binary(), nullable=False),
        pa.field("size", pa.int64(), nullable=False),
        pa.field("modified", pa.int64(), nullable=False),
        pa.field("changed", pa.int64(), nullable=False),
        pa.field("content", pa.binary(HASH_BYTES)),
    ]
)


class Sources:
    """The files of a pipeline, as they stood when its fingerprint was taken.

    ``outline`` is the fingerprint of the pipeline in which the files count by name and size. What
    is kept at a path under the same outline and another stamp may be of the same content or not.
    """

    def __init__(self, outline: str, listings: tuple[Listing, ...]) -> None:
        self.outline, self.listings = outline, listings

    @cached_property
    def stamp(self) -> str:
        """A digest of how all files stand."""
        return digest_of(*(bytes.fromhex(listing.stamp) for listing in self.listings)).hex()[:16]

    @property
    def fingerprint(self) -> str:
        return f"{self.outline}-{self.stamp}"

    def path(self, number: int) -> str:
        """Where a file is; the numbers run through all listings."""
        for listing in self.listings:
            if number < len(listing):
                return listing.path(number)
            number -= len(listing)
        raise IndexError(number)

    def hashes(self) -> FileHashes:
        """What takes the hashes of these files: none is known yet."""
        return FileHashes(sum(map(len, self.listings)), self.path)

    @cached_property
    def facts(self) -> Array:
        return np.concatenate([listing.facts for listing in self.listings])

    def unchanged(self) -> Array:
        """Look again: which files stand as they did."""
        return np.concatenate([listing.unchanged() for listing in self.listings])


class FileTable:
    """Files and the hashes of their content, as far as they are known.

    The rows of ``known`` and ``hashes`` are those of all listings, one after another.
    """

    def __init__(self, listings: tuple[Listing, ...], known: Array, hashes: Array) -> None:
        self.listings, self.known, self.hashes = listings, known, hashes

    def parts(self) -> list[FileTable]:
        """A table for each listing."""
        ends = np.cumsum([0, *map(len, self.listings)]).tolist()
        return [
            FileTable((listing,), self.known[start:stop], self.hashes[start:stop])
            for listing, start, stop in zip(self.listings, ends, ends[1:], strict=False)
        ]

    def to_bytes(self) -> bytes:
        """An Arrow stream in a gzip file, whose checksum tells damage."""
        described = {
            "format": FORMAT_VERSION,
            "hash": HASH,
            "listings": [{"folder": each.folder, "files": len(each)} for each in self.listings],
        }
        names = [os.fsencode(name) for each in self.listings for name in each.names]
        facts = np.concatenate([each.facts for each in self.listings])
        columns = [
            pa.array(names, _SCHEMA.field("name").type),
            *(pa.array(np.ascontiguousarray(facts[:, i])) for i in range(3)),
            _hash_column(self.known, self.hashes),
        ]
        schema = _SCHEMA.with_metadata({"keepset": json.dumps(described)})
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, schema) as writer:
            writer.write_batch(pa.record_batch(columns, schema=schema))
        pack = zlib.compressobj(1, zlib.DEFLATED, _GZIP)
        return pack.compress(sink.getvalue()) + pack.flush()


def read_table(store: Store) -> FileTable | None:
    """The table of a snapshot; None if there is none, or none that can be trusted.

    Without it nothing is lost but an explanation, or a comparison that would have saved work.
    """
    try:
        return parse_table(store.read(TABLE))
    except (ObjectMissingError, ValueError):
        return None


def parse_table(data: bytes) -> FileTable:
    """Read what :meth:`FileTable.to_bytes` made; a ValueError if it is damaged."""
    try:
        unpack = zlib.decompressobj(_GZIP)
        raw = unpack.decompress(data, len(data) * _MOST_EXPANSION + _ALWAYS_BYTES)
        if not unpack.eof:
            raise ValueError("it ends too early, or is larger than it can be")
        with pa.ipc.open_stream(raw) as reader:
            described = json.loads(reader.schema.metadata[b"keepset"])
            table = reader.read_all()
        table.validate(full=True)
        if not table.schema.equals(_SCHEMA) or described["hash"] != HASH:
            raise ValueError("its columns are not known here")
        return _from_arrow(table.combine_chunks(), described["listings"])
    except (
        *(zlib.error, pa.ArrowException, OSError),
        *(KeyError, TypeError, OverflowError, RecursionError),
    ) as error:
        raise ValueError(f"the table of files is damaged: {error}") from error


def _from_arrow(table: pa.Table, described: list[dict[str, Any]]) -> FileTable:
    names = [os.fsdecode(name) for name in table["name"].to_pylist()]
    facts = np.stack([table[i].to_numpy() for i in (1, 2, 3)], axis=1)
    counts = [each["files"] for each in described]
    if not all(type(count) is int and count >= 0 for count in counts):
        raise ValueError("a number of files is not a whole number from 0 up")
    ends = list(accumulate(counts, initial=0))
    if ends[-1] != len(names):
        raise ValueError(f"it has {len(names)} rows and should have {ends[-1]}")
    listings = []
    for each, start, stop in zip(described, ends, ends[1:], strict=False):
        folder = str(each["folder"])
        root = os.path.join(folder, "")
        listings.append(Listing(root, folder, tuple(names[start:stop]), facts[start:stop]))
    content = table["content"].combine_chunks()
    known = content.is_valid().to_numpy(zero_copy_only=False)
    hashes = np.zeros((len(names), HASH_BYTES), np.uint8)
    packed = b"".join(content.drop_null().to_pylist())
    hashes[known] = np.frombuffer(packed, np.uint8).reshape(-1, HASH_BYTES)
    return FileTable(tuple(listings), known, hashes)


def _hash_column(known: Array, hashes: Array) -> pa.Array:
    packed = pa.py_buffer(np.ascontiguousarray(hashes))
    valid = pa.py_buffer(np.packbits(known, bitorder="little"))
    return pa.Array.from_buffers(pa.binary(HASH_BYTES), len(known), [valid, packed])
