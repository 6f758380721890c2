"""``tf.io``: records, examples, tensors and files as bytes."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from keepset.core.dtypes import as_dtype, storage_dtype
from keepset.exchange.files.file_names import store_of
from keepset.exchange.tensorflow.features import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    SparseFeature,
    VarLenFeature,
)
from keepset.exchange.tensorflow.parse_example import parse_example as _parse_many
from keepset.exchange.tensorflow.parse_example import parse_single_example as _parse_one
from keepset.exchange.tensorflow.parse_sequence import (
    parse_single_sequence_example as _parse_sequence,
)
from keepset.exchange.tensorflow.tensors import parse_tensor as _parse_tensor
from keepset.exchange.tensorflow.tensors import serialize_tensor as _serialize_tensor
from keepset.exchange.tensorflow.tfrecord_writer import TFRecordOptions, TFRecordWriter
from keepset.tf import gfile
from keepset.tf.conversion import value_of
from keepset.tf.data.csv_files import decode_csv
from keepset.tf.elements import tensored, untensored
from keepset.tf.image import (
    decode_bmp,
    decode_gif,
    decode_image,
    decode_jpeg,
    decode_png,
    encode_jpeg,
    encode_png,
)
from keepset.tf.not_covered import not_covered
from keepset.tf.tensor import Tensor
from keepset.tf.tensor import wrapped as viewed

__all__ = [
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "RaggedFeature",
    "SparseFeature",
    "TFRecordOptions",
    "TFRecordWriter",
    "VarLenFeature",
    "decode_bmp",
    "decode_csv",
    "decode_gif",
    "decode_image",
    "decode_jpeg",
    "decode_png",
    "decode_raw",
    "encode_jpeg",
    "encode_png",
    "gfile",
    "matching_files",
    "parse_example",
    "parse_single_example",
    "parse_single_sequence_example",
    "parse_tensor",
    "read_file",
    "serialize_tensor",
    "write_file",
]


def parse_single_example(
    serialized: Any, features: Any, example_names: Any = None, name: str | None = None
) -> Any:
    """The features of one Example, as tensors."""
    return tensored(_parse_one(untensored(serialized), features))


def parse_example(
    serialized: Any, features: Any, example_names: Any = None, name: str | None = None
) -> Any:
    """The features of a batch of Examples."""
    return tensored(_parse_many(untensored(serialized), features))


def parse_single_sequence_example(
    serialized: Any,
    context_features: Any = None,
    sequence_features: Any = None,
    example_name: Any = None,
    name: str | None = None,
) -> Any:
    """The context and the sequences of one SequenceExample."""
    return tensored(_parse_sequence(untensored(serialized), context_features, sequence_features))


def serialize_tensor(tensor: Any, name: str | None = None) -> Tensor:
    """A tensor as bytes."""
    return tensored(_serialize_tensor(value_of(tensor)))  # type: ignore[no-any-return]


def parse_tensor(serialized: Any, out_type: Any, name: str | None = None) -> Tensor:
    """A tensor from its bytes."""
    return tensored(_parse_tensor(untensored(serialized), out_type))  # type: ignore[no-any-return]


def decode_raw(
    input_bytes: Any, out_type: Any, little_endian: bool = True, name: str | None = None
) -> Tensor:
    """Bytes as the numbers that they are in memory."""
    dtype = storage_dtype(as_dtype(out_type)).newbyteorder("<" if little_endian else ">")
    data = untensored(input_bytes)
    if isinstance(data, bytes):
        return viewed(np.frombuffer(data, dtype).astype(storage_dtype(as_dtype(out_type))))
    rows = [np.frombuffer(item, dtype) for item in np.asarray(data).ravel().tolist()]
    made = np.stack(rows).astype(storage_dtype(as_dtype(out_type)))
    return viewed(made.reshape(*np.shape(data), -1))


def read_file(filename: Any, name: str | None = None) -> Tensor:
    """The bytes of a file."""
    store, file = store_of(os.fsdecode(untensored(filename)), None)
    return tensored(store.read(file))  # type: ignore[no-any-return]


def write_file(filename: Any, contents: Any, name: str | None = None) -> None:
    """Write bytes to a file, which is whole or not there."""
    store, file = store_of(os.fsdecode(untensored(filename)), None)
    store.put(file, bytes(untensored(contents)))


def matching_files(pattern: Any, name: str | None = None) -> Tensor:
    """The names of files that match a pattern."""
    found = gfile.glob(untensored(pattern))
    return viewed(np.array([os.fsencode(each) for each in found], object))


__getattr__ = not_covered("tf.io")
