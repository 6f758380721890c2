"""TensorFlow's files, as data sets."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from keepset.core.node import Node
from keepset.core.record import record
from keepset.dataset import Dataset
from keepset.dataset.arguments import whole_number
from keepset.dataset.base import node_of
from keepset.dataset.named_files import named_files
from keepset.exchange.tensorflow.features import check_features
from keepset.exchange.tensorflow.parse_stage import ParseExample
from keepset.exchange.tensorflow.tfrecord import TfrecordDataset
from keepset.exchange.tensorflow.write_tfrecord import write_tfrecord as write_tfrecord
from keepset.nodes.autotune import AUTOTUNE
from keepset.nodes.from_tensor_slices import FromTensorSlices
from keepset.storage import local_path


def TFRecordDataset(  # noqa: N802  # it is a class in TensorFlow
    filenames: Any,
    compression_type: str | None = None,
    buffer_size: int | None = None,
    num_parallel_reads: int | None = None,
    name: str | None = None,
    *,
    on_corrupt: str = "error",
    index_dir: str | os.PathLike[str] | None = None,
    **options: Any,
) -> Dataset:
    """The records of TFRecord files, as ``bytes``, with both checksums of each compared.

    Elements of uncompressed files can be had by position (``ds[i]``, ``shuffle(ks.GLOBAL)``): the
    first time, an index is made of each file, and kept.

    Args:
        filenames: A file, a pattern such as ``"data/*.tfrecord"``, a list of them, or a Dataset of
            names. Urls of object stores are files too.
        compression_type: ``"GZIP"``, ``"ZLIB"`` or ``"SNAPPY"``. It need not be given: it is found
            from each file.
        buffer_size: Taken for the sake of ``tf.data`` and not used.
        num_parallel_reads: How many files to read at a time, one record of each in turn; without
            it, one file after another.
        on_corrupt: What to do about damage: ``"error"``; ``"skip"`` leaves out what is damaged and
            warns with the number of places; ``"stop"`` ends the file there, and warns.
        index_dir: Where to keep indexes; by default beside each file, or else in the user's cache
            folder.
        options: For an object store: credentials, endpoint and such.

    Example:
        >>> import tempfile
        >>> path = tempfile.mkdtemp() + "/some.tfrecord"
        >>> _ = Dataset.from_tensor_slices([b"a", b"b", b"c"]).write_tfrecord(path)
        >>> ds = TFRecordDataset(path)
        >>> list(ds), ds[2]
        ([b'a', b'b', b'c'], b'c')
    """
    if buffer_size is not None:
        whole_number(buffer_size, "buffer_size")
    directory = None if index_dir is None else os.path.abspath(local_path(index_dir, "index_dir"))

    def records(names: Node) -> Node:
        return TfrecordDataset(
            parent=names,
            compression_type=compression_type,
            on_corrupt=on_corrupt,
            index_dir=directory,
            store_options=options or None,
            name=name,
        )

    return _read_files(records, named_files(filenames, options), num_parallel_reads, name)


def raw_files(
    kind: Callable[..., Node],
    filenames: Any,
    num_parallel_reads: int | None = None,
    **fields: Any,
) -> Dataset:
    """The records of files that a stage of this kind reads."""
    named = named_files(filenames, fields.get("store_options") or {})
    return _read_files(lambda names: kind(parent=names, **fields), named, num_parallel_reads, None)


def _read_files(
    stage: Callable[[Node], Node], named: Node, num_parallel_reads: int | None, name: str | None
) -> Dataset:
    """One file after another, or one record of each of several in turn."""
    at_once = 1
    if num_parallel_reads is not None:
        at_once = whole_number(num_parallel_reads, "num_parallel_reads")
    if at_once == 1:
        return Dataset(stage(named))
    return Dataset(named).interleave(
        ReadEach(Dataset(stage(_files([])))),
        cycle_length=at_once if at_once > 0 else AUTOTUNE,
        num_parallel_calls=at_once if at_once > 0 else AUTOTUNE,
        name=name,
    )


@record
class ReadEach:
    """Reads one file as ``pattern``, which has none, reads its files."""

    __keepset_recipe__ = ("pattern",)

    pattern: Dataset

    def __call__(self, file: bytes) -> Dataset:
        return Dataset(node_of(self.pattern).replaced(parent=_files([file])))


def _files(names: list[bytes]) -> Node:
    tensors = np.empty(len(names), object)
    tensors[:] = names
    return FromTensorSlices(tensors=tensors)


def parse_stage(node: Node, features: Any, name: str | None) -> Node:
    """The stage that parses Examples."""
    return ParseExample(parent=node, features=check_features(features), name=name)
