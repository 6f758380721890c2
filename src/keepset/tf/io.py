"""``tf.io``: records, examples, tensors and files as bytes."""

from __future__ import annotations

import os
from typing import Any

from keepset.errors import ElementError, InvalidArgumentError, KeepsetError
from keepset.exchange.tensorflow.features import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    SparseFeature,
    VarLenFeature,
)
from keepset.exchange.tensorflow.tensors import parse_tensor as _parse_tensor
from keepset.exchange.tensorflow.tensors import serialize_tensor as _serialize_tensor
from keepset.exchange.tensorflow.tfrecord_writer import TFRecordOptions
from keepset.tf import gfile
from keepset.tf.error_names import translation
from keepset.tf.files.examples import (
    parse_example,
    parse_sequence_example,
    parse_single_example,
    parse_single_sequence_example,
)
from keepset.tf.files.file_places import place_of
from keepset.tf.files.record_writer import TFRecordWriter
from keepset.tf.image import (
    decode_and_crop_jpeg,
    decode_bmp,
    decode_gif,
    decode_image,
    decode_jpeg,
    decode_png,
    encode_jpeg,
    encode_png,
    extract_jpeg_shape,
    is_jpeg,
)
from keepset.tf.not_covered import not_covered
from keepset.tf.tensors.conversion import string_array, value_of
from keepset.tf.tensors.elements import tensored, untensored
from keepset.tf.tensors.tensor import Tensor
from keepset.tf.text.byte_strings import (
    decode_base64,
    decode_compressed,
    decode_json_example,
    decode_raw,
    encode_base64,
)
from keepset.tf.text.decode_csv import decode_csv

__all__ = [
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "RaggedFeature",
    "SparseFeature",
    "TFRecordOptions",
    "TFRecordWriter",
    "VarLenFeature",
    "decode_and_crop_jpeg",
    "decode_base64",
    "decode_bmp",
    "decode_compressed",
    "decode_csv",
    "decode_gif",
    "decode_image",
    "decode_jpeg",
    "decode_json_example",
    "decode_png",
    "decode_raw",
    "encode_base64",
    "encode_jpeg",
    "encode_png",
    "extract_jpeg_shape",
    "gfile",
    "is_jpeg",
    "matching_files",
    "parse_example",
    "parse_sequence_example",
    "parse_single_example",
    "parse_single_sequence_example",
    "parse_tensor",
    "read_file",
    "serialize_tensor",
    "write_file",
]


def serialize_tensor(tensor: Any, name: str | None = None) -> Tensor:
    """A tensor as bytes."""
    return tensored(_serialize_tensor(value_of(tensor)))  # type: ignore[no-any-return]


def parse_tensor(serialized: Any, out_type: Any, name: str | None = None) -> Tensor:
    """A tensor from its bytes."""
    try:
        return tensored(_parse_tensor(untensored(serialized), out_type))  # type: ignore[no-any-return]
    except InvalidArgumentError:
        raise
    except (ElementError, KeepsetError, ValueError) as error:
        raise InvalidArgumentError(f"these bytes are no such tensor: {error}") from error


@translation()
def read_file(filename: Any, name: str | None = None) -> Tensor:
    """The bytes of a file."""
    store, file = place_of(os.fsdecode(untensored(filename)))
    return tensored(store.read(file))  # type: ignore[no-any-return]


@translation()
def write_file(filename: Any, contents: Any, name: str | None = None) -> None:
    """Write bytes to a file, which is whole or not there."""
    store, file = place_of(os.fsdecode(untensored(filename)))
    store.put(file, bytes(untensored(contents)))


def matching_files(pattern: Any, name: str | None = None) -> Tensor:
    """The names of files that match one or more patterns, in order."""
    value = value_of(pattern, "string")
    found = gfile.glob(value if type(value) is bytes else value.reshape(-1).tolist())
    return Tensor(string_array(sorted(map(os.fsencode, found))))


__getattr__ = not_covered("tf.io")
