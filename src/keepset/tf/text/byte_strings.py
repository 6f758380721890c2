"""Bytes in other forms: ``tf.io.decode_raw``, base64, compressed and JSON."""

from __future__ import annotations

import base64
import binascii
import gzip
import json
import re
import zlib
from typing import Any

import numpy as np

from keepset.errors import CorruptRecordError, InvalidArgumentError
from keepset.exchange.tensorflow.example import Example, Feature, Features
from keepset.exchange.tensorflow.value_lists import BytesList, FloatList, Int64List
from keepset.tf.tensors.conversion import int_of
from keepset.tf.tensors.dtype import as_dtype
from keepset.tf.tensors.tensor import Tensor
from keepset.tf.text.text_items import each_text, per_item, strings_of


def decode_raw(
    input_bytes: Any,
    out_type: Any,
    little_endian: bool = True,
    fixed_length: Any = None,
    name: str | None = None,
) -> Tensor:
    """Bytes as the numbers that they are in memory.

    ``fixed_length`` cuts texts to so many bytes, or fills them up with zeros.

    Example:
        >>> decode_raw(b"\\x01\\x00\\x02\\x00", "int16").numpy().tolist()
        [1, 2]
    """
    dtype = as_dtype(out_type)
    if dtype.name == "string":
        raise InvalidArgumentError("out_type must be a type of numbers, not string")
    texts = strings_of(input_bytes)
    items = texts.reshape(-1).tolist()
    if fixed_length is not None:
        size = int_of(fixed_length)
        if size <= 0 or size % dtype.storage.itemsize:
            raise InvalidArgumentError(
                f"fixed_length ({size}) must be a multiple of the size of out_type "
                f"({dtype.storage.itemsize})"
            )
        items = [text[:size].ljust(size, b"\0") for text in items]
    sizes = {len(text) for text in items}
    if len(sizes) > 1:
        raise InvalidArgumentError(
            f"DecodeRaw requires input strings to all be the same size, not {sorted(sizes)[:5]}; "
            "pass fixed_length"
        )
    size = sizes.pop() if sizes else 0
    if size % dtype.storage.itemsize:
        raise InvalidArgumentError(
            f"Input to DecodeRaw has length {size} that is not a multiple of "
            f"{dtype.storage.itemsize}, the size of {dtype.name}"
        )
    stored = dtype.storage.newbyteorder("<" if little_endian else ">")
    numbers = np.frombuffer(b"".join(items), stored)
    count = size // dtype.storage.itemsize
    return Tensor(numbers.astype(dtype.storage).reshape(*texts.shape, count))


@per_item
def encode_base64(input: Any, pad: bool = False, name: str | None = None) -> Tensor:
    """Bytes as text that fits into web addresses."""

    def encoded(text: bytes) -> bytes:
        made = base64.urlsafe_b64encode(text)
        return made if pad else made.rstrip(b"=")

    return each_text(encoded, input)


@per_item
def decode_base64(input: Any, name: str | None = None) -> Tensor:
    """The bytes of text as ``encode_base64`` writes it."""
    return each_text(_from_base64, input)


def _from_base64(text: bytes) -> bytes:
    bare = text.rstrip(b"=")
    if len(bare) % 4 == 1 or not re.fullmatch(rb"[A-Za-z0-9_-]*", bare):
        raise InvalidArgumentError(
            f"{text!r:.60} is no base64 for the web; the characters are A-Z, a-z, 0-9, - and _"
        )
    try:
        return base64.urlsafe_b64decode(bare + b"=" * (-len(bare) % 4))
    except binascii.Error as error:
        raise InvalidArgumentError(f"{text!r:.60} is no base64: {error}") from error


@per_item
def decode_compressed(bytes: Any, compression_type: str = "", name: str | None = None) -> Tensor:
    """The bytes that were compressed with GZIP or ZLIB."""
    known: dict[str, Any] = {
        "": lambda text: text,
        "GZIP": gzip.decompress,
        "ZLIB": zlib.decompress,
    }
    if compression_type not in known:
        raise InvalidArgumentError(
            f"compression_type must be '', 'GZIP' or 'ZLIB', not {compression_type!r}"
        )
    try:
        return each_text(known[compression_type], bytes)
    except (zlib.error, EOFError, OSError) as error:
        raise CorruptRecordError(
            f"the bytes are not whole {compression_type}: {error}; check compression_type"
        ) from error


@per_item
def decode_json_example(json_examples: Any, name: str | None = None) -> Tensor:
    """Examples as bytes, of Examples written in JSON."""
    return each_text(_example, json_examples)


def _example(text: bytes) -> bytes:
    try:
        given = json.loads(text)
        features = given.get("features", {}).get("feature", {})
        made = {name: _feature(value) for name, value in features.items()}
    except (ValueError, AttributeError, TypeError) as error:
        raise InvalidArgumentError(f"Error while parsing JSON: {text!r:.80}: {error}") from error
    return Example(Features(made)).SerializeToString()


def _feature(given: dict[str, Any]) -> Feature:
    for kind, value in given.items():
        items = value.get("value", [])
        if kind in ("int64List", "int64_list"):
            return Feature(int64_list=Int64List([int(item) for item in items]))
        if kind in ("floatList", "float_list"):
            return Feature(float_list=FloatList([float(item) for item in items]))
        if kind in ("bytesList", "bytes_list"):
            return Feature(bytes_list=BytesList([base64.b64decode(item) for item in items]))
        raise ValueError(f"{kind!r} is none of int64List, floatList and bytesList")
    return Feature()
