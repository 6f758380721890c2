"""Saved data sets and snapshots of TensorFlow: which files there are, and what they hold."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from keepset.core.record import record
from keepset.core.spec import Spec
from keepset.errors import (
    CorruptSnapshotError,
    PendingSnapshotError,
    SnapshotMismatchError,
    SnapshotMissingError,
    StorageError,
)
from keepset.exchange.tensorflow.compression import sniff
from keepset.exchange.tensorflow.frames import sniff_frames
from keepset.exchange.tensorflow.snapshot_metadata import (
    Metadata,
    parse_distributed,
    parse_metadata,
)
from keepset.exchange.tensorflow.spec_proto import parse_spec
from keepset.storage import Store

METADATA: Final = "snapshot.metadata"
SPEC: Final = "dataset_spec.pb"
CHUNKS: Final = "chunks/"  # of what several workers wrote
_SHARD: Final = re.compile(r"(\d+)\.shard/(\d+)\.snapshot")
_LEGACY: Final = re.compile(r"(\d+)\.snapshot")
_CHUNK: Final = re.compile(r"chunk_(\d+)_(\d+)(?:_(\d+))?")


@record
class SavedFiles:
    """What is at a path.

    Attributes:
        url: The folder of the files.
        shards: The files of each shard, in the order in which its elements were written.
        version: 2 for records, 1 and 0 for an older form.
        dtypes: The numbers of the dtypes that are stored; empty if only the spec tells.
        spec: The spec in a one-tuple, if it is kept.
        num_elements: How many there are; None if nobody noted that.
        compression: How the files are compressed.
        is_snapshot: Whether ``snapshot`` wrote it, which may put a number before each element.
        is_finished: Whether its writer came to the end.
    """

    __keepset_recipe__ = (
        *("url", "shards", "version", "dtypes", "spec", "num_elements", "compression"),
        *("is_snapshot", "is_finished"),
    )

    url: str
    shards: tuple[tuple[str, ...], ...]
    version: int
    dtypes: tuple[int, ...]
    spec: tuple[Spec] | None
    num_elements: int | None
    compression: str
    is_snapshot: bool
    is_finished: bool

    def __keepset_fingerprint__(self) -> Any:
        # A run has a name of its own, which goes with every copy of its files.
        return self.shards, self.num_elements, repr(self.spec), self.is_finished


def folders_below(store: Store) -> list[str]:
    """The folders right below a path that hold something of TensorFlow's; the path is ``""``."""
    if store.exists(METADATA):
        return [""]
    found = [info.name.split("/") for info in store.list("")]
    return sorted(parts[0] for parts in found if len(parts) == 2 and parts[1] == METADATA)


def find_files(store: Store, fingerprint: str | None, partial: bool) -> SavedFiles | None:
    """What TensorFlow has kept at a path; None if there is nothing of it.

    Args:
        store: The path.
        fingerprint: The name, or how it begins, of one of several snapshots.
        partial: Whether what was not finished counts as well.

    Raises:
        PendingSnapshotError: It is not finished.
        SnapshotMismatchError: There are several.
        CorruptSnapshotError: What describes it is damaged.
    """
    folders = folders_below(store)
    if not folders:
        return None
    if folders == [""]:
        return _checked(_files(store), partial)
    if fingerprint is not None:
        folders = [folder for folder in folders if folder.startswith(fingerprint)]
        if not folders:
            raise SnapshotMissingError(f"{store.url} has no snapshot {fingerprint!r}")
    found = [_files(store.sub(f"{folder}/")) for folder in folders]
    meant = [files for files in found if files.is_finished] or found
    if len(meant) > 1:
        raise SnapshotMismatchError(
            f"{store.url} holds {len(meant)} snapshots of TensorFlow: {', '.join(folders)}; say "
            "which with load(path, fingerprint=...)"
        )
    return _checked(meant[0], partial)


def _checked(files: SavedFiles, partial: bool) -> SavedFiles:
    if files.is_finished or partial:
        return files
    raise PendingSnapshotError(
        f"{files.url} was not finished by TensorFlow: its writer is still at work, or it was "
        "stopped; run it to its end, or read the elements that are there with "
        "load(path, partial=True)"
    )


def _files(store: Store) -> SavedFiles:
    data = store.read(METADATA)
    try:
        distributed = parse_distributed(data) if data else None
        if distributed is not None:
            return _distributed_files(store, parse_spec(distributed.element_spec))
        return _run_files(store, parse_metadata(data))
    except (ValueError, UnicodeDecodeError) as error:
        if isinstance(error, StorageError | CorruptSnapshotError | PendingSnapshotError):
            raise
        raise CorruptSnapshotError(
            f"{store.object_url(METADATA)} cannot be read ({error}); restore it from a copy",
            path=store.object_url(METADATA),
        ) from error


def _run_files(store: Store, metadata: Metadata) -> SavedFiles:
    names = [] if not metadata.run_id else _names(store, f"{metadata.run_id}/")
    shards = _shards(metadata.run_id, names)
    spec = (parse_spec(store.read(SPEC)),) if store.exists(SPEC) else None
    counted = metadata.num_elements
    # A data set without elements has no number either, as zeros are not written.
    is_save = spec is not None
    number = (counted or 0) if is_save and (counted is None or counted >= 0) else None
    if not metadata.is_finalized:
        number = None
    if not shards and number:
        raise CorruptSnapshotError(
            f"{store.url} lacks all files of its {number} elements: the folder "
            f"{metadata.run_id} is gone; restore it from a copy",
            path=store.url,
        )
    return SavedFiles(
        url=store.url,
        shards=shards,
        version=metadata.version,
        dtypes=metadata.dtypes,
        spec=spec,
        num_elements=number,
        compression=_compression(store, shards, metadata.version),
        is_snapshot=not is_save,
        is_finished=metadata.is_finalized,
    )


def _names(store: Store, prefix: str) -> list[str]:
    return [info.name.removeprefix(prefix) for info in store.list(prefix)]


def _shards(run: str, names: Iterable[str]) -> tuple[tuple[str, ...], ...]:
    """The files by shard, those by name; files by number, of which some may be left out."""
    found: dict[str, list[tuple[int, str]]] = {}
    for name in names:
        if match := _SHARD.fullmatch(name):
            found.setdefault(match[1], []).append((int(match[2]), name))
        elif match := _LEGACY.fullmatch(name):
            found.setdefault("", []).append((int(match[1]), name))
    return tuple(
        tuple(f"{run}/{name}" for _, name in sorted(found[shard])) for shard in sorted(found)
    )


def _compression(store: Store, shards: Iterable[Iterable[str]], version: int) -> str:
    for shard in shards:
        for name in shard:
            if store.size(name):
                return sniff(store, name) if version >= 2 else sniff_frames(store, name, version)
    return ""


def _distributed_files(store: Store, spec: Spec) -> SavedFiles:
    if store.exists("ERROR"):
        reason = store.read("ERROR").decode("utf-8", "replace").strip()
        raise CorruptSnapshotError(
            f"{store.url} was given up by the workers that wrote it: {reason:.300}; write it again",
            path=store.url,
        )
    chunks = []
    for name in _names(store, CHUNKS):
        if match := _CHUNK.fullmatch(name):
            count = None if match[3] is None else int(match[3])
            chunks.append((int(match[1]), int(match[2]), f"{CHUNKS}{name}", count))
    streams: dict[int, list[str]] = {}
    for stream, _, name, _ in sorted(chunks):
        streams.setdefault(stream, []).append(name)
    shards = tuple(map(tuple, streams.values()))
    counts = [count for *_, count in chunks]
    is_finished = store.exists("DONE")
    is_known = is_finished and None not in counts
    return SavedFiles(
        url=store.url,
        shards=shards,
        version=2,
        dtypes=(),
        spec=(spec,),
        num_elements=sum(count or 0 for count in counts) if is_known else None,
        compression=_compression(store, shards, 2),
        is_snapshot=False,
        is_finished=is_finished,
    )
