"""Chunk file: chunks one after another in one file that is either whole or not there.

    head      64 bytes: magic, version, checksum
    frame     one per chunk: header as JSON, then raw buffers (``format.columns``)
    index     a frame that lists the frames (size, rows, CRC-32), the spec, and the writer's note
    footer    64 bytes: where the index is, its CRC-32, checksum

Everything is a multiple of 64 bytes, so that arrays are used where they lie in the mapped file,
and every byte, padding included, is under one of the checksums. Nothing is pickled: reading a
file never runs code. Named tuples come back as named tuples of the same name and fields, and so
do dataclasses, whose own class a file cannot bring along.
"""

from __future__ import annotations

import json
import os
import struct
import sys
import zlib
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from itertools import accumulate
from typing import Any

import numpy as np

from keepset.core.chunk import Chunk
from keepset.core.column import Column, column_spec
from keepset.core.dtypes import Array, string
from keepset.core.spec import Spec, TensorSpec, common_supertype, spec_from_json, spec_to_json
from keepset.core.structure import Structure, structure_of
from keepset.errors import CorruptCacheError, ElementError
from keepset.format.columns import decode_column, encode_column
from keepset.format.draft import Draft
from keepset.storage.mapped_file import mapped_file
from keepset.storage.regular_file import file_to_replace, open_regular

VERSION = 1

_ALIGNMENT = 64
_HEAD = struct.Struct("<8sI48x")
_FOOTER = struct.Struct("<8sQQI32x")
_HEAD_MAGIC, _FOOTER_MAGIC = b"\x93KEEPSET", b"KEEPSET\x94"
_PREFIX = struct.Struct("<Q")
_CRC = struct.Struct("<I")
_ENDS_SIZE = 64  # of the head and the footer, with their checksums
# Rows may take no bytes at all, so their number is limited by itself.
_MOST_ROWS = 1 << 20
# A structure is written as a spec of which only the nesting counts.
_ANY_LEAF = spec_to_json(TensorSpec(None, string))


class ChunkFileWriter:
    """Writes chunks to a file that appears under its name only when it is whole."""

    def __init__(self, path: str) -> None:
        self._draft = Draft(file_to_replace(path))
        self._table: list[tuple[int, int, int]] = []
        self._spec: tuple[Spec] | None = None
        self._draft.file.write(_sealed(_HEAD.pack(_HEAD_MAGIC, VERSION)))
        self._end = _ENDS_SIZE

    def append(self, chunk: Chunk) -> None:
        """Write the elements of ``chunk``, which must be of one structure, as one frame."""
        for start in range(0, len(chunk), _MOST_ROWS):
            self._append(chunk[start : start + _MOST_ROWS])

    def _append(self, chunk: Chunk) -> None:
        structure = _describe(chunk.structure)
        columns = [encode_column(column) for column in chunk.columns]
        header = {
            "rows": len(chunk),
            "structure": json.loads(structure),
            "columns": [column.facts for column in columns],
        }
        self._widen(_parse_structure(structure), [column.examples for column in columns])
        size, crc = self._write_frame(header, [buffer for c in columns for buffer in c.buffers])
        self._table.append((size, len(chunk), crc))

    def _widen(self, structure: Structure, columns: list[Column]) -> None:
        """Make the spec cover another chunk; where nothing covers all, none is recorded."""
        if self._spec is None and self._table:
            return
        try:
            spec = structure.build(list(map(column_spec, columns)))
            self._spec = (common_supertype([*(self._spec or ()), spec]),)
        except ElementError:
            self._spec = None

    def _write_frame(self, header: dict[str, Any], buffers: list[Array]) -> tuple[int, int]:
        header["buffers"] = [len(buffer) for buffer in buffers]
        text = json.dumps(header, separators=(",", ":")).encode()
        pieces = [memoryview(_PREFIX.pack(len(text)) + text), *(b.data for b in buffers)]
        size = crc = 0
        for piece in pieces:
            for part in (piece, bytes(_padded(len(piece)) - len(piece))):
                self._draft.file.write(part)
                crc = zlib.crc32(part, crc)
            size += _padded(len(piece))
        self._end += size
        return size, crc

    def commit(self, note: Any = None) -> None:
        """Put the file in place, at once and whole, instead of one that is there.

        ``note`` is any JSON; the reader gives it back.
        """
        offset = self._end
        spec = None if self._spec is None else [spec_to_json(self._spec[0])]
        header = {"byteorder": sys.byteorder, "spec": spec, "note": note}
        table = np.array(self._table, np.int64).reshape(-1)
        size, crc = self._write_frame(header, [table.view(np.uint8)])
        self._draft.file.write(_sealed(_FOOTER.pack(_FOOTER_MAGIC, offset, size, crc)))
        self._draft.commit()

    def discard(self) -> None:
        """Leave nothing behind. Harmless after ``commit``; dropping the writer does the same."""
        self._draft.discard()


class ChunkFileReader:
    """Reads a chunk file through a memory map; arrays are read-only views of it.

    Raises:
        CorruptCacheError: Part of the file is missing or changed. What opening needs is checked at
            once, each chunk when it is first read.
        OSError: The file cannot be opened.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        with open_regular(path) as file:
            facts = os.fstat(file.fileno())
            self.identity = file_identity(facts)
            if facts.st_size < 2 * _ENDS_SIZE:
                raise self._damage("the file", 0, f"has only {facts.st_size} bytes")
            self._bytes: Array = np.frombuffer(mapped_file(file.fileno()), np.uint8)
        self._verified: set[int] = set()
        self._check_head()
        offset, end = self._find_index()
        with self._parsing("the index", offset):
            header, (table,) = _parse_frame(self._bytes[offset:end])
            if header["byteorder"] != sys.byteorder:
                raise ValueError(f"is from a {header['byteorder']!r}-endian machine")
            self._place_frames(table.view(np.int64).reshape(-1, 3), offset)
            # As in Node.known_spec: in a one-tuple if it is known, because None is a spec as well.
            spec = header["spec"]
            self.spec: tuple[Spec] | None = None if spec is None else (spec_from_json(spec[0]),)
            self.note: Any = header["note"]

    def _check_head(self) -> None:
        raw = self._bytes[:_ENDS_SIZE].tobytes()
        magic, version = _HEAD.unpack_from(raw)
        if magic != _HEAD_MAGIC:
            raise self._damage("the head", 0, "is not that of a Keepset cache file")
        if raw != _sealed(raw[: _HEAD.size]):
            raise self._damage("the head", 0, "fails its checksum")
        if version != VERSION:
            raise self._damage("the head", 0, f"names version {version}, but {VERSION} is known")

    def _find_index(self) -> tuple[int, int]:
        end = len(self._bytes) - _ENDS_SIZE
        raw = self._bytes[end:].tobytes()
        magic, offset, size, crc = _FOOTER.unpack_from(raw)
        if magic != _FOOTER_MAGIC or raw != _sealed(raw[: _FOOTER.size]):
            raise self._damage(
                "the footer", end, "fails its checksum: the file has been cut or changed"
            )
        if (
            offset < _ENDS_SIZE
            or offset + size != end
            or zlib.crc32(self._bytes[offset:end].data) != crc
        ):
            raise self._damage("the index", min(offset, end), "fails its checksum")
        return offset, end

    def _place_frames(self, table: Array, end: int) -> None:
        sizes, rows, self._crcs = table.T.tolist()
        if any(size < 1 or size % _ALIGNMENT for size in sizes) or sum(sizes) != end - _ENDS_SIZE:
            raise ValueError("lists frames that do not fill the file")
        if any(not 0 < count <= _MOST_ROWS for count in rows):
            raise ValueError("lists frames with an impossible number of rows")
        self._offsets = list(accumulate(sizes, initial=_ENDS_SIZE))
        # The number of the first element of each chunk, and at last the number of all elements.
        self.first_rows: list[int] = list(accumulate(rows, initial=0))

    def __len__(self) -> int:
        """The number of chunks."""
        return len(self._crcs)

    def chunk(self, number: int) -> Chunk:
        start, stop = self._offsets[number : number + 2]
        raw = self._bytes[start:stop]
        if number not in self._verified:
            if zlib.crc32(raw.data) != self._crcs[number]:
                raise self._damage(f"chunk {number}", start, "fails its checksum")
            self._verified.add(number)
        with self._parsing(f"chunk {number}", start):
            rows = self.first_rows[number + 1] - self.first_rows[number]
            return _parse_chunk(raw, rows)

    @contextmanager
    def _parsing(self, what: str, byte: int) -> Iterator[None]:
        """Whatever goes wrong with bytes that passed their checksum is damage as well."""
        try:
            yield
        except (
            ArithmeticError,
            LookupError,
            RecursionError,
            SyntaxError,
            TypeError,
            ValueError,
        ) as error:
            raise self._damage(what, byte, f"cannot be understood ({error})") from error

    def _damage(self, what: str, byte: int, reason: str) -> CorruptCacheError:
        message = f"{self._path}: {what} at byte {byte} {reason}"
        return CorruptCacheError(
            f"{message}; delete the file to compute it again", path=self._path, byte=byte
        )


def file_identity(facts: os.stat_result) -> tuple[int, ...]:
    """What tells a file from the one that replaces it under the same name."""
    return facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns


def _sealed(data: bytes) -> bytes:
    return data + _CRC.pack(zlib.crc32(data))


def _padded(size: int) -> int:
    return size + -size % _ALIGNMENT


def _parse_frame(raw: Array) -> tuple[dict[str, Any], deque[Array]]:
    """The header of a frame and its buffers, which must fill it exactly."""
    (length,) = _PREFIX.unpack(raw[: _PREFIX.size].tobytes())
    if length > len(raw) - _PREFIX.size:
        raise ValueError("its header is longer than the frame")
    header = json.loads(raw[_PREFIX.size : _PREFIX.size + length].tobytes())
    position = _padded(_PREFIX.size + length)
    buffers: deque[Array] = deque()
    for size in header["buffers"]:
        if not 0 <= size <= len(raw) - position:
            raise ValueError("its buffers are longer than the frame")
        buffers.append(raw[position : position + size])
        position += _padded(size)
    if position != len(raw):
        raise ValueError("its buffers do not fill the frame")
    return header, buffers


def _parse_chunk(raw: Array, rows: int) -> Chunk:
    header, buffers = _parse_frame(raw)
    if header["rows"] != rows:
        raise ValueError("it has another number of rows than the index says")
    structure = _parse_structure(json.dumps(header["structure"]))
    columns = [decode_column(facts, rows, buffers) for facts in header["columns"]]
    if buffers or len(columns) != structure.num_leaves:
        raise ValueError("its columns are not those of its structure")
    return Chunk.from_columns(structure, columns, rows)


def _describe(structure: Structure) -> str:
    """A structure as JSON text; an error if a file cannot hold it."""
    try:
        described = json.dumps(_structure_to_json(structure))
        if _parse_structure(described) == structure:
            return described
        reason = "it would come back as another one"
    except (TypeError, ValueError) as error:
        reason = str(error)
    raise ElementError(
        f"the structure {structure} cannot be kept in a file ({reason}); use strings as keys and "
        "public names for fields"
    )


def _structure_to_json(structure: Structure) -> Any:
    """As ``spec_to_json``, but makes no instance of a user's class, which may check its values."""
    if structure.is_leaf:
        return _ANY_LEAF
    children = list(map(_structure_to_json, structure.children))
    if structure.kind == "tuple":
        return {"tuple": children}
    pairs = dict(zip(structure.keys, children, strict=True))
    if structure.kind == "dict":
        order: Any = structure.record or structure.keys
        return {"dict": [[key, pairs[key]] for key in order]}
    if structure.kind == "record":
        assert structure.record is not None
        return {"record": structure.record.__name__, "fields": list(pairs.items())}
    return None


@lru_cache(maxsize=4096)
def _parse_structure(text: str) -> Structure:
    # Remembered, so that the rows of all chunks are of one and the same named tuple class.
    return structure_of(spec_from_json(json.loads(text)))
