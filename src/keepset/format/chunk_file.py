"""Chunk file: chunks one after another in one file that is either whole or not there.

    head      64 bytes: magic, version, checksum
    frame     one per chunk: header as JSON, then raw buffers
    index     a frame that lists the frames (size, rows, CRC-32), the spec, and the writer's note
    footer    64 bytes: where the index is, its CRC-32, checksum

Everything is a multiple of 64 bytes, so that arrays are used where they lie in the mapped file,
and every byte, padding included, is under one of the checksums. Nothing is pickled: reading a
file never runs code. Named tuples come back as named tuples of the same name and fields, and so
do dataclasses, whose own class a file cannot bring along.
"""

from __future__ import annotations

import json
import mmap
import os
import re
import secrets
import shutil
import struct
import sys
import weakref
import zlib
from bisect import bisect_right
from collections import deque, namedtuple
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import IO, Any, Protocol, TypeAlias

import numpy as np

from keepset.core.chunk import Chunk
from keepset.core.column import Column, column_spec
from keepset.core.dtypes import Array, as_dtype, dtype_name, is_numeric
from keepset.core.ragged import Ragged
from keepset.core.sparse import Sparse
from keepset.core.spec import Spec, common_supertype, spec_from_json, spec_of, spec_to_json
from keepset.core.structure import Structure, structure_of
from keepset.errors import CorruptCacheError, ElementError

VERSION = 1

_ALIGNMENT = 64
_HEAD = struct.Struct("<8sI48xI")
_FOOTER = struct.Struct("<8sQQI32xI")
_HEAD_MAGIC, _FOOTER_MAGIC = b"\x93KEEPSET", b"KEEPSET\x94"
_PREFIX = struct.Struct("<Q")
# Rows may take no bytes at all, so their number is limited by itself.
_MOST_ROWS = 1 << 20
_FRAMES_AT_HAND = 256
_BYTE = np.dtype(np.uint8)
_DTYPE_NAME = re.compile(r"(bool|u?int|b?float|complex|c?longdouble|(date|time)\w+64)[\w\[\]]*")
_LENGTHS = ("uint8", "uint16", "uint32", "uint64")

# ("array", dtype, rank), ("ragged", splits' dtype, type of the values), ... as in _dismantle.
LeafType: TypeAlias = tuple[Any, ...]
Rows: TypeAlias = "slice | Array"
ALL = slice(None)


class ChunkFileWriter:
    """Writes chunks to a file that appears under its name only when it is whole.

    Until ``commit`` the file has no name at all where the system can do that, so that even a killed
    process leaves nothing behind; elsewhere it has a temporary one beside the final one.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._folder = os.path.dirname(path) or "."
        self._file, self._draft = _open_draft(self._folder, path)
        self._discard = weakref.finalize(self, _discard, self._file, self._draft)
        self._table: list[tuple[int, int, int]] = []
        self._structure: Structure | None = None
        self._specs: list[Spec] | None = None
        head = _HEAD.pack(_HEAD_MAGIC, VERSION, 0)[:-4]
        self._file.write(head + struct.pack("<I", zlib.crc32(head)))
        self._end = _HEAD.size

    def append(self, chunk: Chunk) -> None:
        """Write the elements of ``chunk``, which must be of one structure, as one frame."""
        for start in range(0, len(chunk), _MOST_ROWS):
            self._append(chunk[start : start + _MOST_ROWS])

    def _append(self, chunk: Chunk) -> None:
        structure = _describe(chunk.structure)
        header: dict[str, Any] = {"rows": len(chunk), "structure": json.loads(structure)}
        columns = [_encode_column(column) for column in chunk.columns]
        header["columns"] = [column for column, _, _ in columns]
        buffers = [buffer for _, group, _ in columns for buffer in group]
        size, crc = self._write_frame(header, buffers)
        self._table.append((size, len(chunk), crc))
        self._widen(_parse_structure(structure), [spec for _, _, spec in columns])

    def _widen(self, structure: Structure, leaves: list[list[Spec]]) -> None:
        """Make the spec cover another chunk; one that nothing covers is not recorded."""
        if self._structure is None:
            self._structure, self._specs = structure, [group[0] for group in leaves]
        if self._specs is None or structure != self._structure:
            self._specs = None
            return
        try:
            pairs = zip(self._specs, leaves, strict=True)
            self._specs = [common_supertype([spec, *group]) for spec, group in pairs]
        except ElementError:
            self._specs = None

    def _write_frame(self, header: dict[str, Any], buffers: list[Array]) -> tuple[int, int]:
        header["buffers"] = [len(buffer) for buffer in buffers]
        text = json.dumps(header, separators=(",", ":")).encode()
        pieces = [memoryview(_PREFIX.pack(len(text)) + text), *(b.data for b in buffers)]
        size = crc = 0
        for piece in pieces:
            padding = memoryview(bytes(-len(piece) % _ALIGNMENT))
            for part in (piece, padding):
                self._file.write(part)
                crc = zlib.crc32(part, crc)
            size += len(piece) + len(padding)
        self._end += size
        return size, crc

    def commit(self, note: Any = None) -> None:
        """Make the file durable and put it in place, at once and whole.

        A file of that name is replaced. ``note`` is any JSON; the reader gives it back.
        """
        offset = self._end
        spec = None
        if self._structure is not None and self._specs is not None:
            spec = [spec_to_json(self._structure.build(self._specs))]
        header = {"byteorder": sys.byteorder, "spec": spec, "note": note}
        table = np.array(self._table, np.int64).reshape(-1, 3)
        size, crc = self._write_frame(header, [_raw(table)])
        footer = _FOOTER.pack(_FOOTER_MAGIC, offset, size, crc, 0)[:-4]
        self._file.write(footer + struct.pack("<I", zlib.crc32(footer)))
        self._file.flush()
        os.fsync(self._file.fileno())
        if self._draft is None:
            _give_name(self._file.fileno(), self.path)
        else:
            os.replace(self._draft, self.path)
        self._discard.detach()
        self._file.close()
        _sync_folder(self._folder)

    def discard(self) -> None:
        """Leave nothing behind. Harmless after ``commit``; dropping the writer does the same."""
        self._discard()


def _open_draft(folder: str, path: str) -> tuple[IO[bytes], str | None]:
    """A new file to write to, and its name if it has to have one."""
    if hasattr(os, "O_TMPFILE"):
        # Whatever is the matter here, opening a file with a name says it better.
        with suppress(OSError):
            file = os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o666)
            if os.path.exists(f"/proc/self/fd/{file}"):
                return os.fdopen(file, "wb"), None
            os.close(file)
    draft = _draft_name(path)
    return os.fdopen(os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666), "wb"), draft


def _draft_name(path: str) -> str:
    folder, name = os.path.split(path)
    return os.path.join(folder, f".{name}.{secrets.token_hex(8)}.tmp")


def _discard(file: IO[bytes], draft: str | None) -> None:
    with suppress(OSError):
        file.close()
    if draft is not None:
        with suppress(OSError):
            os.unlink(draft)


def _give_name(file: int, path: str) -> None:
    """Put a file without a name under ``path``, in place of what is there."""
    source = f"/proc/self/fd/{file}"
    # A folder must be passed, though it is not used: else Python does not follow the link.
    with suppress(OSError):
        os.link(source, path, src_dir_fd=file, follow_symlinks=True)
        return
    # Something is there already. A link cannot replace it, but a rename can.
    draft = _draft_name(path)
    try:
        try:
            os.link(source, draft, src_dir_fd=file, follow_symlinks=True)
        except OSError:
            _copy(source, draft)
        os.replace(draft, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(draft)
        raise


def _copy(source: str, target: str) -> None:
    with open(source, "rb") as reader, open(target, "xb") as writer:
        shutil.copyfileobj(reader, writer, 1 << 20)
        writer.flush()
        os.fsync(writer.fileno())


def _sync_folder(folder: str) -> None:
    # Some file systems cannot do this; the file itself is durable all the same.
    with suppress(OSError):
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


class ChunkFileReader:
    """Reads a chunk file through a memory map; arrays are read-only views of it.

    Raises:
        CorruptCacheError: Part of the file is missing or changed. What opening needs is checked at
            once, each chunk when it is first read.
        OSError: The file cannot be opened.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        with open(path, "rb") as file:
            self.identity = file_identity(os.fstat(file.fileno()))
            size = os.fstat(file.fileno()).st_size
            if size < _HEAD.size + _FOOTER.size:
                raise self._damage("the file", 0, f"has only {size} bytes")
            self._bytes = np.frombuffer(
                mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ), _BYTE
            )
        self._check_head()
        offset, header, table = self._read_index()
        with self._parsing("the index", offset):
            self._spec_of(header)
            self._place_frames(table, offset)
        self._verified: set[int] = set()
        self._frames: dict[int, _Frame] = {}

    def _check_head(self) -> None:
        raw = self._bytes[: _HEAD.size].tobytes()
        magic, version, crc = _HEAD.unpack(raw)
        if magic != _HEAD_MAGIC:
            raise self._damage("the head", 0, "is not that of a Keepset cache file")
        if crc != zlib.crc32(raw[:-4]):
            raise self._damage("the head", 0, "fails its checksum")
        if version != VERSION:
            raise self._damage("the head", 0, f"names version {version}, but {VERSION} is known")

    def _read_index(self) -> tuple[int, dict[str, Any], Array]:
        end = len(self._bytes) - _FOOTER.size
        raw = self._bytes[end:].tobytes()
        magic, offset, size, crc, own_crc = _FOOTER.unpack(raw)
        if magic != _FOOTER_MAGIC or own_crc != zlib.crc32(raw[:-4]):
            raise self._damage(
                "the footer", end, "fails its checksum: the file has been cut or changed"
            )
        if (
            offset < _HEAD.size
            or offset + size != end
            or zlib.crc32(self._bytes[offset:end].data) != crc
        ):
            raise self._damage("the index", min(offset, end), "fails its checksum")
        with self._parsing("the index", offset):
            header, (table,) = _parse_frame(self._bytes[offset:end])
            if header["byteorder"] != sys.byteorder:
                raise ValueError(f"is from a {header['byteorder']!r}-endian machine")
            return offset, header, table.view(np.int64).reshape(-1, 3)

    def _spec_of(self, header: dict[str, Any]) -> None:
        # As in Node.known_spec: in a one-tuple if it is known, because None is a spec as well.
        spec = header["spec"]
        self.spec: tuple[Spec] | None = None if spec is None else (spec_from_json(spec[0]),)
        self.note: Any = header["note"]

    def _place_frames(self, table: Array, end: int) -> None:
        sizes, rows, self._crcs = table.T.tolist() if len(table) else ([], [], [])
        if any(size < 1 or size % _ALIGNMENT for size in sizes) or sum(sizes) != end - _HEAD.size:
            raise ValueError("lists frames that do not fill the file")
        if any(not 0 < count <= _MOST_ROWS for count in rows):
            raise ValueError("lists frames with an impossible number of rows")
        self._offsets = _running(_HEAD.size, sizes)
        # The number of the first element of each chunk, and at last the number of all elements.
        self.first_rows: list[int] = _running(0, rows)
        self.rows: int = self.first_rows[-1]

    def __len__(self) -> int:
        """The number of chunks."""
        return len(self._crcs)

    def find(self, row: int) -> int:
        """The number of the chunk that holds element ``row``."""
        return bisect_right(self.first_rows, row, hi=len(self)) - 1

    def chunk(self, number: int, rows: Rows = ALL) -> Chunk:
        """A chunk, or some rows of it (a slice or positions); only those are decoded."""
        frame = self._frames.get(number) or self._open_frame(number)
        with self._parsing(f"chunk {number}", self._offsets[number]):
            return frame.chunk(rows)

    def verify(self) -> None:
        """Read everything, so that any damage is found."""
        for number in range(len(self)):
            self.chunk(number)

    def _open_frame(self, number: int) -> _Frame:
        start, stop = self._offsets[number : number + 2]
        raw = self._bytes[start:stop]
        if number not in self._verified:
            if zlib.crc32(raw.data) != self._crcs[number]:
                raise self._damage(f"chunk {number}", start, "fails its checksum")
            self._verified.add(number)
        with self._parsing(f"chunk {number}", start):
            frame = _Frame(*_parse_frame(raw))
            if frame.rows != self.first_rows[number + 1] - self.first_rows[number]:
                raise ValueError("has another number of rows than the index says")
        if len(self._frames) >= _FRAMES_AT_HAND:
            self._frames.clear()
        self._frames[number] = frame
        return frame

    @contextmanager
    def _parsing(self, what: str, byte: int) -> Iterator[None]:
        """Whatever goes wrong with bytes that passed their checksum is damage as well."""
        try:
            yield
        except CorruptCacheError:
            raise
        except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError) as error:
            raise self._damage(what, byte, f"cannot be understood ({error})") from error

    def _damage(self, what: str, byte: int, reason: str) -> CorruptCacheError:
        error = CorruptCacheError(
            f"{self.path}: {what} at byte {byte} {reason}; delete the file to compute it again"
        )
        error.path, error.byte = self.path, byte  # type: ignore[attr-defined]
        return error


def file_identity(facts: os.stat_result) -> tuple[int, ...]:
    """What tells a file from the one that replaces it under the same name."""
    return facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns


def _running(start: int, counts: list[int]) -> list[int]:
    totals = [start]
    for count in counts:
        totals.append(totals[-1] + count)
    return totals


# Frames.


def _parse_frame(raw: Array) -> tuple[dict[str, Any], list[Array]]:
    """The header of a frame and its buffers, which must fill it exactly."""
    (length,) = _PREFIX.unpack(raw[: _PREFIX.size].tobytes())
    if length > len(raw) - _PREFIX.size:
        raise ValueError("its header is longer than the frame")
    header = json.loads(raw[_PREFIX.size : _PREFIX.size + length].tobytes())
    if not isinstance(header, dict):
        raise TypeError("its header is not a JSON object")
    position = _padded(_PREFIX.size + length)
    buffers = []
    for size in map(_count, header["buffers"]):
        if size > len(raw) - position:
            raise ValueError("its buffers are longer than the frame")
        buffers.append(raw[position : position + size])
        position += _padded(size)
    if position != len(raw):
        raise ValueError("its buffers do not fill the frame")
    return header, buffers


def _padded(size: int) -> int:
    return size + -size % _ALIGNMENT


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 1 << 62:
        raise ValueError(f"{value!r:.40} is not a size")
    return value


class _Frame:
    """One chunk in the file, from which rows can be had."""

    def __init__(self, header: dict[str, Any], buffers: list[Array]) -> None:
        self.rows = _count(header["rows"])
        self._structure = _parse_structure(json.dumps(header["structure"]))
        left = deque(buffers)
        self._columns = [_parse_column(facts, self.rows, left) for facts in header["columns"]]
        if left or len(self._columns) != self._structure.num_leaves:
            raise ValueError("its columns are not those of its structure")

    def chunk(self, rows: Rows) -> Chunk:
        count = len(range(*rows.indices(self.rows))) if isinstance(rows, slice) else len(rows)
        columns = [column.take(rows) for column in self._columns]
        return Chunk.from_columns(self._structure, columns, count)


def _describe(structure: Structure) -> str:
    """A structure as JSON text; an error if a file cannot hold it."""
    described = json.dumps(_structure_to_json(structure))
    try:
        same = _parse_structure(described) == structure
    except ValueError as error:  # named tuples take no field such as _private
        raise ElementError(f"{structure} cannot be kept in a file: {error}") from error
    if not same:
        raise ElementError(f"{structure} cannot be kept in a file")
    return described


def _structure_to_json(structure: Structure) -> Any:
    if structure.is_leaf:
        return "leaf"
    children = [_structure_to_json(child) for child in structure.children]
    if structure.kind == "tuple":
        return {"tuple": children}
    if structure.kind == "dict":
        known = dict(zip(structure.keys, children, strict=True))
        order: Any = structure.record or structure.keys
        for key in order:
            if type(key) not in (str, int, bool):
                raise ElementError(
                    f"a dict with the key {key!r:.60} cannot be kept in a file; use strings as keys"
                )
        return {"dict": [[key, known[key]] for key in order]}
    if structure.kind == "record":
        name = getattr(structure.record, "__name__", "")
        pairs = zip(structure.keys, children, strict=True)
        return {"record": name, "fields": [list(pair) for pair in pairs]}
    return None


@lru_cache(maxsize=4096)
def _parse_structure(text: str) -> Structure:
    # Remembered, so that the rows of all chunks are of one and the same named tuple class.
    return structure_of(_example(json.loads(text)))


def _example(described: Any) -> Any:
    """An element of the described structure, with 0 at the leaves."""
    match described:
        case None:
            return None
        case "leaf":
            return 0
        case {"tuple": [*items]}:
            return tuple(map(_example, items))
        case {"dict": [*pairs]}:
            return {key: _example(item) for key, item in pairs}
        case {"record": str(name), "fields": [*pairs]}:
            record = namedtuple(name, [key for key, _ in pairs])  # type: ignore[misc]
            return record(*(_example(item) for _, item in pairs))
    raise ValueError(f"{described!r:.60} is not a structure")


# Columns.


class _StoredColumn(Protocol):
    def take(self, rows: Rows) -> Column: ...


_Encoded: TypeAlias = tuple[dict[str, Any], list[Array], list[Spec]]


def _encode_column(column: Column) -> _Encoded:
    """The facts for the header, the buffers, and specs that together cover the leaves."""
    if isinstance(column, list):
        return _encode_leaves(column)
    spec, shape = column_spec(column), list(column.shape[1:])
    if column.dtype == object:
        lengths, data = _encode_strings(column)
        facts = {"kind": "strings", "shape": shape, "lengths": lengths.dtype.name}
        return facts, [_raw(lengths), data], [spec]
    if not is_numeric(column.dtype):
        raise ElementError(f"arrays of dtype {column.dtype} cannot be kept in a file")
    return (
        {"kind": "array", "shape": shape, "dtype": dtype_name(column.dtype)},
        [_raw(column)],
        [spec],
    )


def _parse_column(facts: dict[str, Any], rows: int, buffers: deque[Array]) -> _StoredColumn:
    kind = facts["kind"]
    if kind == "leaves":
        return _LeavesColumn(facts, rows, *(buffers.popleft() for _ in range(3)))
    shape = (rows, *map(_count, facts["shape"]))
    if kind == "array":
        return _ArrayColumn(_view(buffers.popleft(), _dtype(facts["dtype"]), shape))
    if kind == "strings":
        lengths = _view(buffers.popleft(), _dtype(facts["lengths"], _LENGTHS), shape)
        return _StringsColumn(lengths, buffers.popleft())
    raise ValueError(f"{kind!r:.40} is not a kind of column")


class _ArrayColumn:
    """Leaves of one shape and dtype."""

    def __init__(self, array: Array) -> None:
        self._array = array

    def take(self, rows: Rows) -> Column:
        if isinstance(rows, slice):
            return self._array[rows]
        return read_only(self._array.take(rows, axis=0))


class _StringsColumn:
    """Arrays of bytes of one shape: all lengths, then all bytes."""

    def __init__(self, lengths: Array, data: Array) -> None:
        self._ends = _ends(lengths, len(data)).reshape(lengths.shape)
        self._starts = self._ends - lengths.astype(np.int64)
        self._data = data.data

    def take(self, rows: Rows) -> Column:
        starts, ends = self._starts[rows], self._ends[rows]
        out = np.empty(ends.size, dtype=object)
        pairs = zip(starts.ravel().tolist(), ends.ravel().tolist(), strict=True)
        out[:] = [self._data[start:stop].tobytes() for start, stop in pairs]
        return read_only(out.reshape(ends.shape))


class _LeavesColumn:
    """Leaves that differ: which type each one is of, its sizes, and its parts one after another."""

    def __init__(
        self, facts: dict[str, Any], rows: int, ids: Array, dims: Array, data: Array
    ) -> None:
        self._types = [_freeze(kind) for kind in facts["types"]]
        self._kinds = [list(_part_kinds(kind)) for kind in self._types]
        self._pad = max((dtype.alignment for kinds in self._kinds for dtype, _ in kinds), default=1)
        self._data = data
        if len(self._types) == 1:
            self._ids = np.zeros(rows, np.int64)
        else:
            self._ids = _view(ids, _dtype(facts["ids"], _LENGTHS), (rows,)).astype(np.int64)
        if (self._ids < 0).any() or (self._ids >= len(self._types)).any():
            raise ValueError("a leaf is of a type that is not listed")
        dims = dims.view(_dtype(facts["dims"], _LENGTHS))
        ranks = np.array([sum(rank for _, rank in kinds) for kinds in self._kinds], np.int64)
        self._dims = dims.astype(np.int64)
        self._dim_ends = np.cumsum(ranks[self._ids])
        if self._dim_ends[-1] != len(dims) or (self._dims < 0).any():
            raise ValueError("a column has not the sizes that its leaves need")
        self._starts = self._place(ranks)

    def _place(self, ranks: Array) -> Array:
        """Where each leaf begins: computed from the sizes, so that it need not be stored."""
        sizes = np.zeros(len(self._ids), np.int64)
        order = np.argsort(self._ids, kind="stable")
        cuts = np.searchsorted(self._ids[order], np.arange(len(self._types) + 1))
        for number, kinds in enumerate(self._kinds):
            chosen = order[cuts[number] : cuts[number + 1]]
            first = self._dim_ends[chosen] - ranks[number]
            dims = self._dims[first[:, np.newaxis] + np.arange(ranks[number])]
            at = 0
            for dtype, rank in kinds:
                sizes[chosen] += self._part_sizes(dims[:, at : at + rank], dtype)
                at += rank
        ends = _ends(sizes, len(self._data))
        return ends - sizes

    def _part_sizes(self, dims: Array, dtype: np.dtype[Any]) -> Array:
        # As floats first, which do not overflow.
        if (dims.prod(axis=1, dtype=np.float64) * dtype.itemsize > len(self._data)).any():
            raise ValueError("a leaf is larger than its column")
        sizes = dims.prod(axis=1) * dtype.itemsize
        padded: Array = sizes + -sizes % self._pad
        return padded

    def take(self, rows: Rows) -> Column:
        ids, starts, ends = self._ids[rows], self._starts[rows], self._dim_ends[rows]
        each = zip(ids.tolist(), starts.tolist(), ends.tolist(), strict=True)
        return [self._leaf(*facts) for facts in each]

    def _leaf(self, number: int, start: int, dim_end: int) -> Any:
        kinds = self._kinds[number]
        dims = self._dims[dim_end - sum(rank for _, rank in kinds) : dim_end].tolist()
        parts, at = [], 0
        for dtype, rank in kinds:
            shape = dims[at : at + rank]
            at += rank
            size = dtype.itemsize
            for dim in shape:
                size *= dim
            parts.append(_view(self._data[start : start + size], dtype, tuple(shape)))
            start += size + -size % self._pad
        return _assemble(self._types[number], iter(parts))


def _encode_leaves(leaves: list[Any]) -> _Encoded:
    types: dict[LeafType, int] = {}
    ids: list[int] = []
    dims: list[int] = []
    parts: list[Array] = []
    examples: dict[Any, Any] = {}
    for leaf in leaves:
        kind, pieces = _dismantle(leaf)
        ids.append(types.setdefault(kind, len(types)))
        examples.setdefault((ids[-1], getattr(leaf, "shape", None)), leaf)
        parts.extend(pieces)
        for piece in pieces:
            dims.extend(piece.shape)
    pad = max((part.dtype.alignment for part in parts), default=1)
    data = b"".join(_padded_bytes(part, pad) for part in parts)
    numbers = _narrow(ids if len(types) > 1 else [])
    sizes = _narrow(dims)
    facts = {
        "kind": "leaves",
        "types": list(types),
        "ids": numbers.dtype.name,
        "dims": sizes.dtype.name,
    }
    buffers = [_raw(numbers), _raw(sizes), np.frombuffer(data, _BYTE)]
    return facts, buffers, [spec_of(leaf) for leaf in examples.values()]


def _padded_bytes(part: Array, pad: int) -> bytes:
    return part.tobytes() + bytes(-part.nbytes % pad)


# Leaves: each is a type and a list of plain arrays.


def _dismantle(leaf: Any) -> tuple[LeafType, list[Array]]:
    if isinstance(leaf, bytes):
        return ("bytes",), [np.frombuffer(leaf, _BYTE)]
    if isinstance(leaf, Ragged):
        kind, parts = _dismantle(leaf.values)
        return ("ragged", leaf.row_splits.dtype.name, kind), [leaf.row_splits, *parts]
    if isinstance(leaf, Sparse):
        kind, parts = _dismantle(leaf.values)
        return ("sparse", kind), [leaf.dense_shape, leaf.indices, *parts]
    if isinstance(leaf, np.ndarray) and leaf.dtype == object:
        lengths, data = _encode_strings(leaf)
        return ("strings", lengths.dtype.name, leaf.ndim), [lengths, data]
    if isinstance(leaf, np.ndarray | np.generic) and is_numeric(leaf.dtype):
        name = dtype_name(leaf.dtype)
        if isinstance(leaf, np.ndarray):
            return ("array", name, leaf.ndim), [leaf]
        return ("scalar", name), [np.asarray(leaf)]
    raise ElementError(
        f"a value of type {type(leaf).__name__} cannot be kept in a file; turn data sets into "
        "arrays first, with batch or flat_map"
    )


def _part_kinds(kind: LeafType) -> Iterator[tuple[np.dtype[Any], int]]:
    """The dtype and rank of each array that a leaf of this type consists of."""
    match kind:
        case ("bytes",):
            yield _BYTE, 1
        case ("array", name, rank):
            yield _dtype(name), _count(rank)
        case ("scalar", name):
            yield _dtype(name), 0
        case ("strings", name, rank):
            yield _dtype(name, _LENGTHS), _count(rank)
            yield _BYTE, 1
        case ("ragged", name, inner):
            yield _dtype(name, ("int32", "int64")), 1
            yield from _part_kinds(inner)
        case ("sparse", inner):
            yield np.dtype(np.int64), 1
            yield np.dtype(np.int64), 2
            yield from _part_kinds(inner)
        case _:
            raise ValueError(f"{kind!r:.60} is not a type of leaf")


def _assemble(kind: LeafType, parts: Iterator[Array]) -> Any:
    part = next(parts)
    match kind[0]:
        case "bytes":
            return part.tobytes()
        case "scalar":
            return part[()]
        case "strings":
            return _StringsColumn(part, next(parts)).take(ALL)
        case "ragged":
            return Ragged(_assemble(kind[2], parts), part)
        case "sparse":
            indices = next(parts)
            if indices.shape[1:] != part.shape:
                raise ValueError("a sparse leaf has indices of another rank than its shape")
            return Sparse(indices, _assemble(kind[1], parts), part)
    return part


def _freeze(value: Any) -> Any:
    return tuple(map(_freeze, value)) if isinstance(value, list) else value


# Buffers.


def read_only(array: Array) -> Array:
    array.flags.writeable = False
    return array


def _raw(array: Array) -> Array:
    return np.ascontiguousarray(array).reshape(-1).view(_BYTE)


def _view(raw: Array, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
    """Bytes as an array, whose size must be just that."""
    return raw.view(dtype).reshape(shape)


def _dtype(name: Any, allowed: tuple[str, ...] | None = None) -> np.dtype[Any]:
    if not isinstance(name, str) or (allowed is not None and name not in allowed):
        raise ValueError(f"{name!r:.40} is not the name of a dtype that can stand here")
    return _numeric_dtype(name)


@lru_cache(maxsize=256)
def _numeric_dtype(name: str) -> np.dtype[Any]:
    dtype = as_dtype(name) if _DTYPE_NAME.fullmatch(name) else None
    if not isinstance(dtype, np.dtype) or dtype_name(dtype) != name:
        raise ValueError(f"{name!r:.40} is not the name of a dtype")
    return dtype


def _narrow(values: Any) -> Array:
    """Numbers from 0 up, in as few bytes each as hold them."""
    array = np.asarray(values, np.int64)
    return array.astype(np.min_scalar_type(int(array.max())) if array.size else _BYTE)


def _encode_strings(array: Array) -> tuple[Array, Array]:
    """The lengths of all strings, in the shape of the array, and their bytes."""
    items = array.ravel().tolist()
    if not set(map(type, items)) <= {bytes}:
        raise ElementError("an array of strings may hold only bytes; return it from map as it is")
    lengths = _narrow(np.fromiter(map(len, items), np.int64, len(items)))
    return lengths.reshape(array.shape), np.frombuffer(b"".join(items), _BYTE)


def _ends(lengths: Array, total: int) -> Array:
    """Where each of several pieces ends; together they must be ``total`` long."""
    if lengths.size and lengths.sum(dtype=np.float64) > 2 * total:
        raise ValueError("a column is longer than its bytes")
    ends = np.cumsum(lengths.ravel(), dtype=np.int64)
    if (int(ends[-1]) if ends.size else 0) != total:
        raise ValueError("a column has not as many bytes as its leaves need")
    return ends
