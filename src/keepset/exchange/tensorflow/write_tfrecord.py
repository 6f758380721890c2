"""Writing a pipeline to TFRecord files, as Examples or as the records that its elements are."""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import Any, NamedTuple

from keepset.core.chunk import Chunk
from keepset.core.chunk_spec import chunk_spec, typed, widened
from keepset.core.dtypes import StringType
from keepset.core.encoded import encoded_chunk, encoded_spec
from keepset.core.node import Node
from keepset.core.spec import Spec, TensorSpec, structure_and_leaves
from keepset.errors import ElementError, InvalidArgumentError
from keepset.exchange.files.exporting import numbered, with_row
from keepset.exchange.files.file_names import is_local, store_of
from keepset.exchange.files.whole_run import check_finite, chunks_of
from keepset.exchange.tensorflow.compression import compression_named
from keepset.exchange.tensorflow.features import FeatureDescription
from keepset.exchange.tensorflow.part_file import PartFile
from keepset.exchange.tensorflow.record_writer import RecordWriter, Target
from keepset.exchange.tensorflow.write_examples import ExampleWriter
from keepset.snapshot.writing.progress import Progress
from keepset.storage import path_text
from keepset.storage.failures import writing
from keepset.storage.regular_file import file_to_replace


class Written(NamedTuple):
    """What was written: how many elements, and what reads them again."""

    elements: int
    features: dict[str, FeatureDescription]


def write_tfrecord(
    node: Node,
    path: str | os.PathLike[str],
    *,
    compression_type: str | None = None,
    num_shards: int = 1,
    serialize: Collection[str] = (),
    progress: bool | None = None,
    options: dict[str, Any] | None = None,
    resume_as: str | None = None,
) -> Written:
    """Write all elements.

    With ``resume_as``, which names the pipeline, what an interruption left of one local file is
    gone on with.
    """
    check_finite(node)
    name, compression = path_text(path), compression_named(compression_type)
    if resume_as is not None and compression == "ZLIB":
        resume_as = None  # one stream, which cannot be gone on with
    shown = Progress(f"writing {name}", node.cardinality(), progress)
    targets = _targets(name, num_shards, options, resume_as)
    writers = [RecordWriter(target, compression) for target in targets]
    part = targets[0] if isinstance(targets[0], PartFile) else None
    given = 0 if part is None else part.elements
    made: ExampleWriter | None = None
    whole = False
    try:
        shown.advance(given)
        for elements in chunks_of(node, skip=given):
            with numbered(given):
                chunk = encoded_chunk(elements)
                made = _writer_with(chunk, made, node, serialize)
                records = _records(chunk, made)
            for shard, writer in enumerate(writers):
                if own := records[(shard - given) % num_shards :: num_shards]:
                    writer.write(own)
            given += len(records)
            if part is not None and writers[0].is_due:
                writers[0].flush()
                part.note(given)
            shown.set_written(sum(writer.size_bytes for writer in writers))
            shown.advance(len(records))
        for writer in writers:
            writer.finish()
        shown.set_written(sum(writer.size_bytes for writer in writers))
        whole = True
    finally:
        for writer in writers:
            writer.abort()  # nothing happens to one that is finished
        shown.close(whole)
    features = {} if made is None or _are_records(made.spec) else made.features
    return Written(given, features)


def _targets(
    name: str, count: int, options: dict[str, Any] | None, resume_as: str | None
) -> list[Target]:
    if resume_as is not None and count == 1 and is_local(name):
        return [PartFile(name, resume_as)]
    names = shard_names(name, count)
    if is_local(name):
        with writing(name):
            names = list(map(file_to_replace, names))
    places = [store_of(each, options) for each in names]
    return [store.writer(file) for store, file in places]


def shard_names(path: str, count: int) -> list[str]:
    """The names of the files: the path itself, or numbered ones.

    Example:
        >>> shard_names("train.tfrecord", 2)
        ['train-00000-of-00002.tfrecord', 'train-00001-of-00002.tfrecord']
    """
    if count < 1:
        raise InvalidArgumentError(f"num_shards must be at least 1, not {count}")
    if count == 1:
        return [path]
    folder, slash, file = path.rpartition("/")
    stem, dot, ending = file.partition(".")
    return [f"{folder}{slash}{stem}-{n:05d}-of-{count:05d}{dot}{ending}" for n in range(count)]


def _writer_with(
    chunk: Chunk, made: ExampleWriter | None, node: Node, serialize: Collection[str]
) -> ExampleWriter:
    """The writer so far, or one that knows of the shapes of more elements.

    Examples do not say what shapes they have, so that those before are the same to both.
    """
    known = node.known_spec()
    if known is not None:
        return made or ExampleWriter(encoded_spec(known[0]), serialize)
    spec = chunk_spec(chunk) if made is None else widened(made.spec, chunk)
    if made is None or spec is not made.spec:
        if made is not None and _are_records(made.spec):
            raise ElementError(
                f"this is {chunk_spec(chunk)}, but the elements before are bytes, which are "
                "records as they are; bring all elements to one type with map",
                row=0,
            )
        made = ExampleWriter(spec, serialize)
    return made


def _are_records(spec: Spec) -> bool:
    """Whether elements are bytes, which are records as they are."""
    is_scalar = isinstance(spec, TensorSpec) and spec.shape == ()
    return is_scalar and isinstance(spec.dtype, StringType)


def _records(chunk: Chunk, made: ExampleWriter) -> list[bytes]:
    if _are_records(made.spec):
        return chunk.rows
    made.check(chunk)
    chunk = typed(chunk, structure_and_leaves(made.spec)[1])
    try:
        return with_row(lambda part: made.examples(part.columns), chunk)
    except ElementError as error:
        raise error.told("it cannot be written as an Example: ") from error
