"""infer_features: a description of the Examples in a file, found by looking at some of them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from keepset.errors import CorruptRecordError, ElementError
from keepset.exchange.files.file_names import file_names, store_of
from keepset.exchange.tensorflow.compression import pieces_of, sniff
from keepset.exchange.tensorflow.example_columns import all_features
from keepset.exchange.tensorflow.features import (
    FeatureDescription,
    FixedLenFeature,
    VarLenFeature,
)
from keepset.exchange.tensorflow.records import RecordReader
from keepset.storage.private_url import private_url

_DTYPES = {1: "string", 2: "float32", 3: "int64"}


def infer_features(
    path: str | os.PathLike[str], limit: int = 1000, **options: Any
) -> dict[str, FeatureDescription]:
    """Describe the Examples of a TFRecord file by the first ones in it.

    A feature that is there in all of them with the same number of values is a FixedLenFeature; any
    other is a VarLenFeature. Shapes are not kept in Examples: what was ``[2, 3]`` is found as
    ``[6]``.

    Args:
        path: A file, or a pattern of which the first file counts.
        limit: How many Examples to look at.
        options: For an object store: credentials, endpoint and such.
    """
    name = file_names(path, options)[0]
    store, file = store_of(name, options)
    shown = private_url(name)
    reader = RecordReader(pieces_of(store, file, sniff(store, file)), shown, as_bytes=True)
    try:
        records: list[bytes] = []
        while len(records) < limit and len(found := reader.read(limit - len(records))):
            records += found.pieces
    except CorruptRecordError:
        if not records:
            raise
    finally:
        reader.close()
    if not records:
        raise ElementError(f"{shown} has no records to tell the features from")
    return described(records, shown)


def described(examples: Iterable[bytes], where: str = "") -> dict[str, FeatureDescription]:
    """Describe Examples that are at hand."""
    kinds: dict[str, int] = {}
    lengths: dict[str, set[int]] = {}
    seen: dict[str, int] = {}
    count = 0
    for data in examples:
        count += 1
        try:
            features = all_features(data)
        except ValueError as error:
            raise ElementError(
                f"{where}: record {count - 1} is no Example ({error}); it may hold something else, "
                "which TFRecordDataset gives as bytes"
            ) from error
        for key, (kind, values) in features.items():
            name = key.decode("utf-8", "replace")
            if not kind:
                continue
            if kinds.setdefault(name, kind) != kind:
                raise ElementError(
                    f"{where}: the feature {name!r} holds {_DTYPES[kinds[name]]} in one Example "
                    f"and {_DTYPES[kind]} in another; describe it by hand"
                )
            lengths.setdefault(name, set()).add(len(values))
            seen[name] = seen.get(name, 0) + 1
    return {
        name: _feature(_DTYPES[kinds[name]], lengths[name], seen[name] == count)
        for name in sorted(kinds)
    }


def _feature(dtype: str, lengths: set[int], is_everywhere: bool) -> FeatureDescription:
    if not is_everywhere or len(lengths) > 1:
        return VarLenFeature(dtype)
    [length] = lengths
    return FixedLenFeature([] if length == 1 else [length], dtype)
