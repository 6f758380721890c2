"""Stages and methods that keep a data set on disk, or give back one that was kept."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any, Self

from keepset.codecs import AUTO, normal_name
from keepset.core.chunk import Chunk
from keepset.core.fingerprint import facts_to_json
from keepset.core.node import Node
from keepset.core.spec import Spec, check_spec, is_compatible
from keepset.dataset.arguments import whole_number
from keepset.dataset.base import BaseDataset, node_of
from keepset.errors import InvalidArgumentError, SnapshotMismatchError
from keepset.nodes.rows import Rows
from keepset.snapshot.identity import facts_of, snapshot_facts, unseeded_stages
from keepset.snapshot.opening import Location, locate
from keepset.snapshot.replay import Replay
from keepset.snapshot.saving import save_node
from keepset.snapshot.stage import SnapshotStage


class Keeping(BaseDataset):
    """``save``, ``load`` and what goes with them."""

    __slots__ = ()

    def __keepset_fingerprint__(self) -> str:
        return facts_of(self._node).digest

    def save(
        self,
        path: str | os.PathLike[str],
        compression: str | None = None,
        shard_func: Callable[..., Any] | None = None,
        checkpoint_args: None = None,
        *,
        progress: bool | None = None,
        **options: Any,
    ) -> None:
        """Keep all elements under ``path``, so that :meth:`load` gives them back.

        Saving again adds a new version, which takes the place of the old one only when it is
        whole.

        Args:
            path: A folder, or the url of an object store such as ``s3://bucket/name``.
            compression: None, ``"LZ4"``, ``"ZSTD"``, ``"GZIP"``, ``"SNAPPY"`` or ``"AUTO"``.
            shard_func: Called with each element, gives the number of the shard that it belongs to.
            checkpoint_args: Taken for the sake of ``tf.data`` and not used.
            progress: Whether to show how far it is; by default if standard error is a terminal.
            options: For an object store: credentials, endpoint and such.

        Example:
            >>> import tempfile
            >>> path = tempfile.mkdtemp()
            >>> Dataset.range(5).save(path)
            >>> [int(x) for x in Dataset.load(path)]
            [0, 1, 2, 3, 4]
        """
        save_node(
            self._node,
            path,
            compression=compression,
            shard_func=shard_func,
            progress=progress,
            options=options,
        )

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        element_spec: Any = None,
        compression: str | None = None,
        reader_func: Callable[[Any], Any] | None = None,
        wait: bool = False,
        *,
        fingerprint: str | None = None,
        num_shards: int | None = None,
        verify: bool = True,
        **options: Any,
    ) -> Self:
        """The data set that was kept under ``path``. Only the path is needed.

        Args:
            path: Where it was saved, or the path of a snapshot.
            element_spec: An error is raised if it is not that of the elements.
            compression: An error is raised if it is not the one that was used.
            reader_func: Gets a data set of data sets, one per shard, and returns a data set.
            wait: Whether to wait for a writer that is still at work.
            fingerprint: Which one, where the path holds several snapshots.
            num_shards: How many data sets ``reader_func`` gets if there was no ``shard_func``.
            verify: Whether every chunk is compared with its checksum the first time it is read.
            options: For an object store: credentials, endpoint and such.
        """
        location = locate(path, fingerprint=fingerprint, verify=verify, wait=wait, options=options)
        _check(location, element_spec, compression)
        if reader_func is None:
            return cls(Replay(location=location))
        return cls(_reader(cls, reader_func, num_shards)(location))

    def snapshot(
        self,
        path: str | os.PathLike[str],
        compression: str | None = "AUTO",
        reader_func: Callable[[Any], Any] | None = None,
        shard_func: Callable[..., Any] | None = None,
        *,
        mode: str = "auto",
        fingerprint: str | None = None,
        on_pending: str = "passthrough",
        resume: bool = True,
        pending_snapshot_expiry_seconds: float = 60.0,
        num_shards: int | None = None,
        **options: Any,
    ) -> Self:
        """Keep what the stages so far give while it is first consumed, and replay it ever after.

        A first pass that was interrupted goes on where it stopped. If the stages before it change
        in what they compute, they are run again.

        Args:
            path: A folder, or the url of an object store such as ``s3://bucket/name``.
            compression: None, ``"LZ4"``, ``"ZSTD"``, ``"GZIP"``, ``"SNAPPY"``, or ``"AUTO"``,
                which looks at the data.
            reader_func: Gets a data set of data sets, one per shard, and returns a data set.
            shard_func: Called with each element, gives the number of the shard that it belongs to.
            mode: ``"auto"``, or ``"read"`` (never compute), ``"write"`` (compute again) or
                ``"passthrough"`` (neither keep nor read).
            fingerprint: A name of your own for the data, in place of the computed one.
            on_pending: What to do while another process writes: ``"passthrough"`` computes
                without keeping, ``"wait"`` waits, ``"follow"`` reads along, ``"error"`` raises.
            resume: Whether to go on with an interrupted pass rather than to start over.
            pending_snapshot_expiry_seconds: How long a writer on another machine may be silent
                before it is taken for dead.
            num_shards: How many data sets ``reader_func`` gets if there is no ``shard_func``.
            options: For an object store: credentials, endpoint and such.

        Example:
            >>> import tempfile
            >>> ds = Dataset.range(3).map(lambda x: x * x).snapshot(tempfile.mkdtemp())
            >>> [int(x) for x in ds], [int(x) for x in ds]
            ([0, 1, 4], [0, 1, 4])
        """
        facts = None
        if fingerprint is None:
            found = snapshot_facts(self._node, shard_func)
            fingerprint, facts = found.digest, facts_to_json(found)
            _warn_of_frozen_randomness(self._node)
        node = SnapshotStage(
            parent=self._node,
            path=os.fspath(path),
            fingerprint=fingerprint,
            compression=normal_name(compression),
            shard_func=shard_func,
            mode=mode,
            on_pending=on_pending,
            resume=resume,
            expiry_s=pending_snapshot_expiry_seconds,
            facts=facts,
            store_options=options,
            reader=reader_func and _reader(type(self), reader_func, num_shards),
        )
        return self._then(node)


def _warn_of_frozen_randomness(node: Node) -> None:
    unseeded = [stage.title for stage in unseeded_stages(node)]
    if unseeded:
        warnings.warn(
            f"{', '.join(unseeded)} has no seed, and what it chooses is about to be kept for "
            "every later run; give it a seed, or move it behind the snapshot",
            stacklevel=3,
        )


def _reader(
    kind: type[Any], reader_func: Callable[[Any], Any], num_shards: int | None
) -> Callable[[Location], Node]:
    """What turns kept elements into the pipeline that a user's function makes of them."""

    def read(location: Location) -> Node:
        parts = [kind(node) for node in _shards(location, num_shards)]
        return node_of(reader_func(kind(Rows(chunk=Chunk.from_rows(parts)))))

    return read


def _shards(location: Location, num_shards: int | None) -> list[Replay]:
    if location.kept.manifest.order is not None:
        return [Replay(location=location, shard=shard) for shard in location.kept.shards]
    count = os.cpu_count() or 1 if num_shards is None else whole_number(num_shards, "num_shards")
    if count < 1:
        raise InvalidArgumentError(f"num_shards must be at least 1, not {count}")
    return [Replay(location=location, first=i, step=count) for i in range(count)]


def _check(location: Location, element_spec: Spec, compression: str | None) -> None:
    kept = location.kept
    if element_spec is not None and not is_compatible(check_spec(element_spec), kept.spec):
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
