"""RecordIndex: where each record of a file begins, found once and kept for the next time."""

from __future__ import annotations

import json
import os
import tempfile
import zlib
from contextlib import suppress
from typing import Any, Final

import numpy as np

from keepset.core.dtypes import Array
from keepset.core.fingerprint.facts import digest_of
from keepset.exchange.files.file_names import is_local, store_of
from keepset.exchange.tensorflow.compression import NONE, pieces_of
from keepset.exchange.tensorflow.record_scan import HEAD_BYTES
from keepset.exchange.tensorflow.records import RecordReader
from keepset.storage import Store
from keepset.storage.failures import reading
from keepset.storage.private_url import private_url
from keepset.storage.regular_file import open_regular

SUFFIX: Final = ".keepset-index"
_MAGIC: Final = b"KEEPSET RECORD INDEX 1\n"
_AT_ONCE: Final = 1 << 16


def index_of(name: str, index_dir: str | None, options: dict[str, Any] | None) -> Array:
    """Where the records of an uncompressed file begin, and where the last one ends.

    An index that was made earlier is used if the file has not changed since. A new one is kept in
    ``index_dir``, or else beside the file, or else, where that cannot be written to, in the user's
    cache folder.

    Raises:
        CorruptRecordError: The lengths of its records do not fit their checksums.
    """
    store, file = store_of(name, options)
    stamp = _stamp(store, file)
    places = _places(name, index_dir)
    for place in places:
        found = _read(place, stamp)
        if found is not None:
            return found
    made = _build(store, file, name)
    for place in places:
        if _keep(place, stamp, made):
            break
    return made


def _stamp(store: Store, file: str) -> str:
    """What changes whenever the file does, as far as can be told without reading it."""
    if not store.is_remote:
        path = store.object_url(file)
        with reading(path):
            facts = os.stat(path)
        return f"{facts.st_size} {facts.st_mtime_ns}"
    folder = file.rpartition("/")[0]
    for info in store.list(f"{folder}/" if folder else ""):
        if info.name == file:
            return f"{info.size_bytes} {info.modified_s} {info.version}"
    return str(store.size(file))


def _places(name: str, index_dir: str | None) -> list[str]:
    """Where an index may be, the best place first."""
    path = os.path.abspath(name) if is_local(name) else name
    unique = f"{digest_of(path.encode()).hex()[:24]}{SUFFIX}"
    if index_dir is not None:
        return [os.path.join(index_dir, unique)]
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    beside = [f"{path}{SUFFIX}"] if is_local(name) else []
    return [*beside, os.path.join(caches, "keepset", "indexes", unique)]


def _build(store: Store, file: str, name: str) -> Array:
    reader = RecordReader(pieces_of(store, file, NONE), private_url(name), verify=False)
    starts: list[Array] = []
    try:
        while len(found := reader.read(_AT_ONCE, 1 << 62)):
            starts.append(found.starts - HEAD_BYTES + reader.base)
        return np.concatenate([*starts, [reader.offset]]).astype(np.int64)
    finally:
        reader.close()


def _read(place: str, stamp: str) -> Array | None:
    """An index that fits the file; None if there is none, or it is damaged, or an older one."""
    try:
        with open_regular(place) as file:
            data = file.read()
    except OSError:
        return None
    if not data.startswith(_MAGIC):
        return None
    head, _, body = data[len(_MAGIC) :].partition(b"\n")
    try:
        facts = json.loads(head)
        fits = facts["stamp"] == stamp and facts["crc32"] == zlib.crc32(body)
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return np.frombuffer(body, "<i8") if fits and len(body) % 8 == 0 else None


def _keep(place: str, stamp: str, starts: Array) -> bool:
    """Write an index; False if that is not possible here. Readers see a whole one or none."""
    body = starts.astype("<i8").tobytes()
    head = json.dumps({"stamp": stamp, "crc32": zlib.crc32(body)}).encode()
    folder = os.path.dirname(place)
    try:
        os.makedirs(folder, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=folder, prefix=".tmp-")
    except OSError:
        return False
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(_MAGIC + head + b"\n" + body)
        os.replace(temporary, place)
        return True
    except OSError:
        with suppress(OSError):
            os.unlink(temporary)
        return False
