"""Saving for TensorFlow: a folder that ``tf.data.Dataset.load`` reads."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, Final

import numpy as np

from keepset.core.chunk import Chunk
from keepset.core.chunk_spec import chunk_spec, typed, widened
from keepset.core.dtypes import DType
from keepset.core.encoded import encoded_chunk, encoded_spec
from keepset.core.node import INFINITE, Node
from keepset.core.spec import LeafSpec, Spec, is_untyped, structure_and_leaves
from keepset.errors import ElementError, InvalidArgumentError, UnknownSpecError
from keepset.exchange.files.chunk_memory import memory_of
from keepset.exchange.files.exporting import numbered
from keepset.exchange.files.whole_run import chunks_of
from keepset.exchange.tensorflow.components import messages_of, stored_dtype
from keepset.exchange.tensorflow.compression import compression_named
from keepset.exchange.tensorflow.part_file import PartFile
from keepset.exchange.tensorflow.record_writer import RecordWriter
from keepset.exchange.tensorflow.saved_files import METADATA, SPEC
from keepset.exchange.tensorflow.snapshot_metadata import Metadata, metadata_message
from keepset.exchange.tensorflow.spec_proto import spec_message
from keepset.snapshot.writing.progress import Progress
from keepset.snapshot.writing.sharding import shards_of
from keepset.storage import Store, open_store

_VERSION: Final = 2
_MOST_WAITING_BYTES: Final = 16 << 20


def save_tensorflow(
    node: Node,
    path: str | os.PathLike[str],
    *,
    compression: str | None = None,
    shard_func: Callable[..., Any] | None = None,
    progress: bool | None = None,
    options: dict[str, Any] | None = None,
    resume_as: str | None = None,
) -> int:
    """Run a pipeline to its end and keep all of it as TensorFlow would.

    What was saved there before counts until all of it is written; its files stay, as TensorFlow
    leaves them too. With ``resume_as``, which names the pipeline, what an interruption left in a
    local folder is gone on with. Gives the number of elements.
    """
    if node.cardinality() == INFINITE:
        raise InvalidArgumentError(
            f"{node.title} never ends, so it cannot be saved; use take(n) to keep the first n"
        )
    store = open_store(path, **(options or {}))
    if any(True for _ in store.list("commits/")):
        raise InvalidArgumentError(
            f"{store.url} holds a data set that Keepset saved; save for TensorFlow at another path"
        )
    name = compression_named("SNAPPY" if (compression or "").upper() == "AUTO" else compression)
    known = node.known_spec()
    if known is not None:
        known = (encoded_spec(known[0]),)
        _check_has_values(known[0], structure_and_leaves(known[0])[1])
        spec_message(known[0])  # an error now rather than at the end
    if name == "ZLIB" or shard_func is not None or store.is_remote:
        resume_as = None
    # A name that is found again, or a new one.
    run = str(secrets.randbits(64) if resume_as is None else int(resume_as[:16], 16))
    shown = Progress(f"saving to {store.url} for TensorFlow", node.cardinality(), progress)
    writer = _Writer(store, run, name, known, resume_as)
    whole = False
    try:
        shown.advance(writer.elements)
        for elements in chunks_of(node, skip=writer.elements):
            with numbered(writer.elements):
                chunk = encoded_chunk(elements)
            shards = None if shard_func is None else shards_of(chunk, shard_func, writer.elements)
            with numbered(writer.elements):
                writer.add(chunk, shards)
            shown.set_written(writer.size_bytes)
            shown.advance(len(chunk))
        spec = writer.finish()
        shown.set_written(writer.size_bytes)
        store.put(SPEC, spec_message(spec))
        # Last, because with this it counts.
        store.put(METADATA, metadata_message(writer.metadata(spec), int(time.time() * 1e6)))
        whole = True
    finally:
        writer.close()
        shown.close(whole)
    return writer.elements


def _check_has_values(spec: Spec, leaves: Sequence[LeafSpec]) -> None:
    """An error for elements such as ``None``, of which a file of TensorFlow holds nothing."""
    if not leaves:
        raise ElementError(
            f"elements are {spec}, without any value, and TensorFlow's files hold nothing of that; "
            "map them to some value, or save them without format="
        )


class _Writer:
    """The files of one run, a shard each."""

    def __init__(
        self,
        store: Store,
        run: str,
        compression: str,
        known: tuple[Spec] | None,
        resume_as: str | None,
    ) -> None:
        self._store, self._run, self._compression, self._known = store, run, compression, known
        self._found: Spec | None = None
        self._waiting: list[tuple[Chunk, Any]] = []  # elements and their shards
        self._waiting_bytes = 0
        self._dtypes: list[DType] | None = None  # of what was written
        self._shards: dict[int, RecordWriter] = {}
        self._part: PartFile | None = None
        if resume_as is not None and known is not None:
            self._part = PartFile(store.object_url(self._name(0)), resume_as)
            self._shards[0] = RecordWriter(self._part, compression)
        self.elements = 0 if self._part is None else self._part.elements

    def _name(self, shard: int) -> str:
        return f"{self._run}/{shard:08d}.shard/00000000.snapshot"

    def add(self, chunk: Chunk, shards: Any) -> None:
        """Write elements, to shard 0 if nobody says where they belong."""
        spec = self._spec_with(chunk)
        structure, leaves = structure_and_leaves(spec)
        if chunk.structure != structure:
            raise structure.difference(chunk.structure, 0)
        _check_has_values(spec, leaves)
        self.elements += len(chunk)
        self._waiting.append((chunk, shards))
        self._waiting_bytes += memory_of(chunk)
        # Nothing but empty lists so far, which have the dtype of what comes behind them.
        is_unsure = self._known is None and any(map(is_untyped, leaves))
        if not is_unsure or self._waiting_bytes > _MOST_WAITING_BYTES:
            self._write_waiting(leaves)

    def _write_waiting(self, leaves: Sequence[LeafSpec]) -> None:
        dtypes = [leaf.dtype for leaf in leaves]
        if self._dtypes is not None and dtypes != self._dtypes:
            raise ElementError(
                "the lists before this element are empty and were written as float64, for there "
                "were too many to hold; give them a dtype, as with np.array([], np.int64), or "
                "promise one with output_signature=",
                row=0,
            )
        self._dtypes = dtypes
        waiting, self._waiting, self._waiting_bytes = self._waiting, [], 0
        for chunk, shards in waiting:
            self._write_all(typed(chunk, leaves), shards, leaves)

    def _write_all(self, chunk: Chunk, shards: Any, leaves: Sequence[LeafSpec]) -> None:
        if shards is None:
            self._write(0, chunk, leaves)
            return
        for shard in np.unique(shards).tolist():
            self._write(shard, chunk.take(np.flatnonzero(shards == shard)), leaves)

    def _spec_with(self, chunk: Chunk) -> Spec:
        if self._known is not None:
            return self._known[0]
        joint = chunk_spec(chunk) if self._found is None else widened(self._found, chunk)
        if joint is not self._found:
            spec_message(joint)  # an error now rather than at the end
        self._found = joint
        return joint

    def _write(self, shard: int, chunk: Chunk, leaves: Sequence[LeafSpec]) -> None:
        if shard not in self._shards:
            target = self._store.writer(self._name(shard))
            self._shards[shard] = RecordWriter(target, self._compression)
        pairs = zip(chunk.columns, leaves, strict=True)
        messages = [messages_of(column, leaf) for column, leaf in pairs]
        writer = self._shards[shard]
        elements = zip(*messages, strict=True)
        writer.write(messages[0] if len(messages) == 1 else list(chain.from_iterable(elements)))
        if self._part is not None and writer.is_due:
            writer.flush()
            self._part.note(self.elements)

    @property
    def size_bytes(self) -> int:
        return sum(writer.size_bytes for writer in self._shards.values())

    def finish(self) -> Spec:
        """Make all files durable; the spec of what they hold."""
        if self._waiting:
            self._write_waiting(structure_and_leaves(self._found)[1])
        for writer in self._shards.values():
            writer.finish()
        if self._known is not None:
            return self._known[0]
        if not self.elements:
            raise UnknownSpecError(
                "there are no elements to find the element_spec from, and TensorFlow needs one; "
                "pass output_signature= to the stage that makes them"
            )
        return self._found

    def metadata(self, spec: Spec) -> Metadata:
        dtypes = tuple(stored_dtype(leaf) for leaf in structure_and_leaves(spec)[1])
        return Metadata(self._run, "", _VERSION, dtypes, self.elements, True)

    def close(self) -> None:
        """Forget the files that are not finished."""
        for writer in self._shards.values():
            writer.abort()
