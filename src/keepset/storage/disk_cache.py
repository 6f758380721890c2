"""CachedStore: a bounded cache on the local disk in front of a remote store."""

from __future__ import annotations

import os
import struct
import threading
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise

from keepset.core.checksum import crc32c
from keepset.errors import InvalidArgumentError
from keepset.storage.durable import TemporaryFile
from keepset.storage.regular_file import open_regular
from keepset.storage.store import TEMPORARY, ObjectInfo, ObjectWriter, Store, check_name

# Only these never change under their name.
_IMMUTABLE = "segments/"
BLOCK_BYTES = 4 << 20
CACHE_BYTES = 10 << 30  # what a cache may take if nobody says otherwise

_HEADER = struct.Struct("<4sIQ")  # magic, CRC-32C of the block, length of the block
_MAGIC = b"kscb"
_SUFFIX = ".keepset-block"
_ABANDONED_S = 3600.0  # a temporary file as old as this belongs to nobody


class CachedStore(Store):
    """Keeps blocks of segments that were read from ``store`` as files in ``folder``.

    Several processes may share the folder. Blocks that were used longest ago are removed when the
    files take more than ``max_bytes``. A damaged block is fetched again; a disk that is full or
    failing makes the cache useless, never wrong.
    """

    def __init__(self, store: Store, folder: str | os.PathLike[str], max_bytes: int) -> None:
        if max_bytes < 0:
            raise InvalidArgumentError(f"max_bytes is {max_bytes}; pass 0 or more")
        self.url, self.is_remote = store.url, store.is_remote
        self._store, self._folder = store, os.path.abspath(folder)
        self._max_bytes = max_bytes
        self._room = _Room(self._folder, max_bytes)
        self._under_way = _UnderWay()
        self._sizes: dict[str, int] = {}

    def patient(self) -> CachedStore:
        return CachedStore(self._store.patient(), self._folder, self._max_bytes)

    def read_range(self, name: str, offset: int, length: int) -> memoryview | bytes:
        return self.read_ranges(name, [(offset, length)])[0]

    def read_ranges(self, name: str, ranges: Sequence[tuple[int, int]]) -> list[memoryview | bytes]:
        is_range = all(offset >= 0 and length > 0 for offset, length in ranges)
        if not name.startswith(_IMMUTABLE) or not is_range or not ranges:
            return self._store.read_ranges(name, ranges)
        check_name(name)
        numbers = sorted({n for offset, length in ranges for n in _numbers(offset, length)})
        blocks = {number: self._load(name, number) for number in numbers}
        lacking = [number for number, block in blocks.items() if block is None]
        if lacking:
            blocks |= self._obtain(name, lacking)
        return [self._cut(name, blocks, offset, length) for offset, length in ranges]

    def _cut(
        self, name: str, blocks: dict[int, memoryview | None], offset: int, length: int
    ) -> memoryview | bytes:
        numbers = _numbers(offset, length)
        found = [blocks[number] or memoryview(b"") for number in numbers]
        parts = [
            block[max(offset - number * BLOCK_BYTES, 0) : offset + length - number * BLOCK_BYTES]
            for number, block in zip(numbers, found, strict=True)
        ]
        part = parts[0] if len(parts) == 1 else memoryview(b"".join(parts))
        # Only the last block of an object is shorter than the others.
        if len(part) != length or any(len(block) != BLOCK_BYTES for block, _ in pairwise(found)):
            raise self.too_short(name, offset, length, len(part))
        return part

    def _obtain(self, name: str, numbers: list[int]) -> dict[int, memoryview]:
        """Blocks that are not here, each fetched by one thread even if several want it."""
        files = {self._file(name, number): number for number in numbers}
        blocks: dict[int, memoryview] = {}
        with self._under_way.claim(files) as (ours, others):
            # Somebody may have been through with one since we looked.
            here = {files[file]: self._load(name, files[file]) for file in ours}
            blocks |= {number: block for number, block in here.items() if block is not None}
            blocks |= self._fetch(name, [number for number in here if number not in blocks])
        for file, done in others.items():
            done.wait()
            block = self._load(name, files[file])
            # It is not there if the other one failed, or if the disk did not take it.
            blocks |= self._fetch(name, [files[file]]) if block is None else {files[file]: block}
        return blocks

    def _fetch(self, name: str, numbers: list[int]) -> dict[int, memoryview]:
        if not numbers:
            return {}
        if name not in self._sizes:
            self._sizes[name] = self._store.size(name)
        size = self._sizes[name]
        starts = [(n, n * BLOCK_BYTES) for n in numbers if n * BLOCK_BYTES < size]
        ranges = [(start, min(BLOCK_BYTES, size - start)) for _, start in starts]
        found = self._store.read_ranges(name, ranges) if ranges else []
        blocks = {n: memoryview(part) for (n, _), part in zip(starts, found, strict=True)}
        for number, block in blocks.items():
            self._keep(name, number, block)
        return blocks | {n: memoryview(b"") for n in numbers if n not in blocks}

    def _file(self, name: str, number: int) -> str:
        # Names of segments hold a random run id, so two buckets of one URL do not meet here.
        key = f"{self._store.object_url(name)}\n{number}\n{BLOCK_BYTES}".encode(
            errors="surrogatepass"
        )
        import hashlib  # brings a whole library of ciphers, which only those need who cache

        return os.path.join(self._folder, hashlib.sha256(key).hexdigest()[:40] + _SUFFIX)

    def _load(self, name: str, number: int) -> memoryview | None:
        path = self._file(name, number)
        try:
            with open_regular(path) as file:
                data = memoryview(file.read())
            os.utime(path)  # used now, so that others are removed first
        except OSError:
            return None  # not there, or as good as not there
        block = data[_HEADER.size :]
        if len(data) < _HEADER.size or _header(block) != data[: _HEADER.size]:
            return None
        return block

    def _keep(self, name: str, number: int, block: memoryview) -> None:
        size = len(block) + _HEADER.size
        if size > self._max_bytes:
            return
        # The bytes are here already: what the disk cannot take is read from afar next time.
        with suppress(OSError):
            os.makedirs(self._folder, exist_ok=True)
            file = TemporaryFile(self._folder)
            try:
                file.write(_header(block))
                file.write(block)
                file.close()
                os.replace(file.path, self._file(name, number))
            except BaseException:
                file.discard()
                raise
            self._room.took(size)

    def sub(self, prefix: str) -> CachedStore:
        below = CachedStore(self._store.sub(prefix), self._folder, self._max_bytes)
        below._room, below._under_way = self._room, self._under_way
        return below

    def read(self, name: str) -> bytes:
        return self._store.read(name)

    def view(self, name: str) -> memoryview | None:
        return self._store.view(name)

    def info(self, name: str) -> ObjectInfo:
        return self._store.info(name)

    def size(self, name: str) -> int:
        return self._store.size(name)

    def exists(self, name: str) -> bool:
        return self._store.exists(name)

    def list(self, prefix: str = "") -> Iterator[ObjectInfo]:
        return self._store.list(prefix)

    def create(self, name: str, data: bytes) -> bool:
        return self._store.create(name, data)

    def put(self, name: str, data: bytes) -> None:
        self._store.put(name, data)

    def writer(self, name: str) -> ObjectWriter:
        return self._store.writer(name)

    def delete(self, names: Iterable[str]) -> None:
        self._store.delete(names)

    def sync(self, prefix: str) -> None:
        self._store.sync(prefix)

    def __reduce__(self) -> tuple[type[CachedStore], tuple[Store, str, int]]:
        return CachedStore, (self._store, self._folder, self._max_bytes)


class _UnderWay:
    """The blocks that are being fetched right now."""

    def __init__(self) -> None:
        self._files: dict[str, threading.Event] = {}
        self._lock = threading.Lock()

    @contextmanager
    def claim(
        self, files: Collection[str]
    ) -> Iterator[tuple[list[str], dict[str, threading.Event]]]:
        """Those that nobody fetches, which are ours now; and of the others what to wait for."""
        with self._lock:
            others = {file: self._files[file] for file in files if file in self._files}
            ours = {file: threading.Event() for file in files if file not in others}
            self._files |= ours
        try:
            yield list(ours), others
        finally:
            with self._lock:
                for file, done in ours.items():
                    del self._files[file]
                    done.set()


@dataclass
class _Room:
    """Keeps the files of a folder below a size, those that were used last."""

    folder: str
    max_bytes: int
    # Unknown at first: other processes, and earlier ones, have files there too.
    _left: int = 0

    def __post_init__(self) -> None:
        self._lock = threading.Lock()

    def took(self, size_bytes: int) -> None:
        """Note a new file, and look at the folder when this process may have filled it."""
        with self._lock:
            self._left -= size_bytes
            if self._left < 0:
                free = self.max_bytes - self._remove_oldest()
                # Others fill it too: look again after a part of what seems free.
                self._left = min(free, self.max_bytes // 16)

    def _remove_oldest(self) -> int:
        """Bring the files to seven eighths of the limit, if they are over it; what they take."""
        files, total = [], 0
        with os.scandir(self.folder) as entries:
            # Somebody may have other files in this folder: they are not ours to remove.
            for entry in entries:
                if not entry.name.endswith(_SUFFIX) and not entry.name.startswith(TEMPORARY):
                    continue
                with suppress(FileNotFoundError):  # removed by another process
                    facts = entry.stat()
                    is_temporary = entry.name.startswith(TEMPORARY)
                    if is_temporary and facts.st_mtime > time.time() - _ABANDONED_S:
                        continue
                    used = 0.0 if is_temporary else facts.st_mtime
                    files.append((used, facts.st_size, entry.path))
                    total += facts.st_size
        limit = self.max_bytes * 7 // 8 if total > self.max_bytes else self.max_bytes
        for _, size, path in sorted(files):
            if total <= limit:
                break
            with suppress(OSError):
                os.unlink(path)
            total -= size
        return total


def _numbers(offset: int, length: int) -> range:
    """The blocks that a range touches."""
    return range(offset // BLOCK_BYTES, (offset + length - 1) // BLOCK_BYTES + 1)


def _header(block: memoryview) -> bytes:
    return _HEADER.pack(_MAGIC, crc32c(block), len(block))
