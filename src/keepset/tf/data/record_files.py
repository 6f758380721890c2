"""Datasets of files: TFRecords, lines of text and records of one length."""

from __future__ import annotations

from typing import Any

import numpy as np

from keepset.dataset.base import BaseDataset, node_of
from keepset.dataset.tensorflow_files import TFRecordDataset as _Records
from keepset.dataset.tensorflow_files import raw_files
from keepset.errors import DtypeError
from keepset.exchange.text.fixed_length import ReadFixedLength
from keepset.exchange.text.lines import ReadText
from keepset.nodes.autotune import AUTOTUNE
from keepset.nodes.interleave import ONE_FOR_THREE_CORES, Interleave
from keepset.tf.data.arguments import number, path, plain
from keepset.tf.data.dataset import Dataset
from keepset.tf.error_names import translation
from keepset.tf.tensors.conversion import value_of


class TFRecordDataset(Dataset):
    """The records of TFRecord files; see :func:`keepset.TFRecordDataset`."""

    __slots__ = ()

    def __init__(
        self,
        filenames: Any,
        compression_type: Any = None,
        buffer_size: Any = None,
        num_parallel_reads: Any = None,
        name: str | None = None,
        **named: Any,
    ) -> None:
        kind, size = path(compression_type), number(buffer_size)
        reads = number(num_parallel_reads)
        with translation():
            made = _Records(names_of(filenames), kind, size, reads, name, **named)
        super().__init__(_in_order(made, reads))


class TextLineDataset(Dataset):
    """The lines of text files, without what ends them."""

    __slots__ = ()

    def __init__(
        self,
        filenames: Any,
        compression_type: Any = None,
        buffer_size: Any = None,
        num_parallel_reads: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(_raw(ReadText, filenames, num_parallel_reads, compression_type))


class FixedLengthRecordDataset(Dataset):
    """Records of so many bytes each."""

    __slots__ = ()

    def __init__(
        self,
        filenames: Any,
        record_bytes: Any,
        header_bytes: Any = None,
        footer_bytes: Any = None,
        buffer_size: Any = None,
        compression_type: Any = None,
        num_parallel_reads: Any = None,
        name: str | None = None,
    ) -> None:
        made = _raw(
            ReadFixedLength,
            filenames,
            num_parallel_reads,
            compression_type,
            record_bytes=int(number(record_bytes)),
            header_bytes=int(number(header_bytes) or 0),
            footer_bytes=int(number(footer_bytes) or 0),
        )
        super().__init__(made)


def _raw(
    kind: Any, filenames: Any, at_once: Any, compression_type: Any, **fields: Any
) -> BaseDataset:
    # Files are what they are said to be: None means that they are not compressed.
    fields["compression_type"] = path(compression_type) or ""
    reads = number(at_once)
    with translation():
        return Dataset(
            node_of(_in_order(raw_files(kind, names_of(filenames), reads, **fields), reads))
        )


def _in_order(made: BaseDataset, reads: int | None) -> BaseDataset:
    """The same files, of which as many take turns as in TensorFlow."""
    node = node_of(made)
    if reads != AUTOTUNE or not isinstance(node, Interleave):
        return made
    return type(made)(node.replaced(cycle_length=ONE_FOR_THREE_CORES))


def names_of(filenames: Any) -> Any:
    """The names of files, of whatever TensorFlow takes for them."""
    given = plain(filenames)
    if isinstance(given, BaseDataset | str):
        return given
    if isinstance(given, bytes):
        return given.decode()
    if hasattr(given, "__fspath__"):
        return given
    if isinstance(given, list | tuple) and any(hasattr(each, "__fspath__") for each in given):
        return given
    value = value_of(given)
    if np.asarray(value).dtype.kind != "O" and np.size(value):
        raise DtypeError(f"filenames must be text, not {given!r:.60}")
    return np.asarray(value, object).ravel().tolist()
