"""The stages behind ``load``, made of what a user passes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import Any

from keepset.codecs import AUTO, normal_name
from keepset.core.chunk import Chunk
from keepset.core.node import Node
from keepset.core.record import record
from keepset.core.spec import Spec, check_spec, is_compatible
from keepset.dataset.arguments import positive
from keepset.dataset.base import BaseDataset, node_of
from keepset.errors import (
    InvalidArgumentError,
    PendingSnapshotError,
    SnapshotMismatchError,
    SnapshotMissingError,
)
from keepset.nodes.rows import Rows
from keepset.snapshot.reading.opening import Location, locate
from keepset.snapshot.reading.replay import Replay
from keepset.snapshot.writable import Writable
from keepset.storage import local_path, open_store, path_text

_POLL_S = 0.2


def load_stage(
    kind: type[Any],
    path: str | os.PathLike[str],
    *,
    element_spec: Any,
    compression: str | None,
    reader_func: Callable[[Any], Any] | None,
    wait: bool,
    fingerprint: str | None,
    num_shards: int | None,
    verify: bool,
    writable: bool,
    partial: bool,
    options: dict[str, Any],
) -> Node:
    """What gives back a kept data set; ``kind`` is the class of the data sets that users see."""

    def load() -> Node:
        try:
            location = locate(path, fingerprint=fingerprint, verify=verify, options=options)
        except SnapshotMissingError as error:
            if os.path.isfile(path_text(path)):
                raise SnapshotMissingError(
                    f"{path_text(path)} is a file, and what was saved is a folder; the records of "
                    "a TFRecord file are read by ks.TFRecordDataset(path)"
                ) from error
            # Of ours there is nothing; TensorFlow may have kept something there.
            saved = _tensorflow(
                path,
                element_spec=element_spec,
                compression=compression,
                fingerprint=fingerprint,
                verify=verify,
                partial=partial,
                options=options,
            )
            if saved is None:
                raise
            return saved if reader_func is None else _read_tensorflow(kind, reader_func, saved)
        _check(location, element_spec, compression)
        if reader_func is None:
            return Replay(location=location)
        return ReaderStage(reader_func, num_shards, kind)(location)

    while True:
        try:
            node = load()
            break
        except (SnapshotMissingError, PendingSnapshotError):
            if not wait:
                raise
            time.sleep(_POLL_S)
    return Writable(parent=node) if writable else node


def _tensorflow(path: str | os.PathLike[str], **given: Any) -> Node | None:
    from keepset.exchange.tensorflow.loading import load_tensorflow

    return load_tensorflow(path, **given)


def _read_tensorflow(kind: type[Any], reader_func: Callable[[Any], Any], saved: Node) -> Node:
    from keepset.exchange.tensorflow.loading import shards_of_saved

    return _made_by(kind, reader_func, shards_of_saved(saved))


def with_cache(
    path: str | os.PathLike[str],
    options: dict[str, Any],
    cache_dir: str | os.PathLike[str] | None,
    cache_bytes: int | None,
) -> dict[str, Any]:
    """The options for opening a store with those of a cache; an error where there can be none."""
    if cache_dir is None and cache_bytes is None:
        return options
    given: dict[str, Any] = {**options, "cache_dir": cache_dir}
    if cache_bytes is not None:
        given["cache_bytes"] = positive(cache_bytes, "cache_bytes")
    open_store(path, **given)
    assert cache_dir is not None
    # A worker process may have another working folder.
    return {**given, "cache_dir": os.path.abspath(local_path(cache_dir, "cache_dir"))}


@record
class ReaderStage:
    """Turns kept elements into the pipeline that a user's function makes of them."""

    __keepset_recipe__ = ("reader_func", "num_shards")

    reader_func: Callable[[Any], Any]
    num_shards: int | None
    wrap: Callable[[Node], Any]

    def __call__(self, location: Location) -> Node:
        return _made_by(self.wrap, self.reader_func, _shards(location, self.num_shards))


def _made_by(
    kind: Callable[[Node], Any], reader_func: Callable[[Any], Any], shards: Sequence[Node]
) -> Node:
    """What a user's function makes of a data set of the shards, each of which is one."""
    parts = [kind(node) for node in shards]
    made = reader_func(kind(Rows(chunk=Chunk.from_rows(parts))))
    if not isinstance(made, BaseDataset):
        raise InvalidArgumentError(f"reader_func must return a Dataset, not {type(made).__name__}")
    return node_of(made)


def _shards(location: Location, num_shards: int | None) -> list[Replay]:
    if location.kept.manifest.order is not None:
        return [Replay(location=location, shard=shard) for shard in location.kept.shards]
    count = os.cpu_count() or 1 if num_shards is None else positive(num_shards, "num_shards")
    return [Replay(location=location, first=i, step=count) for i in range(count)]


def _check(location: Location, element_spec: Spec, compression: str | None) -> None:
    kept = location.kept
    is_wrong = element_spec is not None and not is_compatible(check_spec(element_spec), kept.spec)
    if is_wrong and kept.has_spec:
        raise SnapshotMismatchError(
            f"{location.url} holds elements of {kept.spec}, not of {element_spec}; leave "
            "element_spec out, it is known from the files"
        )
    used = {segment.codec for segment in kept.manifest.segments}
    asked = AUTO if compression is None else normal_name(compression)
    if asked != AUTO and used not in (set(), {asked}):
        raise SnapshotMismatchError(
            f"{location.url} is kept with the compression {', '.join(sorted(used))}, not "
            f"{asked}; leave compression out, it is known from the files"
        )
