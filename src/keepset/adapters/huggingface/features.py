"""Features of the ``datasets`` package for columns of Arrow, and the columns that they take."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any, Final

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from datasets.table import cast_array_to_feature

from keepset.core.dtypes import Array
from keepset.core.optional_package import optional_package
from keepset.errors import ElementError, InvalidArgumentError

_ARRAYS: Final = {
    2: datasets.Array2D,
    3: datasets.Array3D,
    4: datasets.Array4D,
    5: datasets.Array5D,
}


def features_for(schema: pa.Schema, given: Mapping[str, Any] | None) -> datasets.Features:
    """The features of columns: those given, and for the others what their types say.

    Lists of lists of one size, but perhaps for the first, are ``Array2D`` to ``Array5D``.
    """
    wanted = dict(given or {})
    odd = [name for name in wanted if name not in schema.names]
    if odd:
        raise InvalidArgumentError(
            f"features= names {', '.join(map(repr, odd))}, and the elements have only "
            f"{', '.join(map(repr, schema.names))}"
        )
    return datasets.Features(
        {field.name: wanted.get(field.name) or _feature_of(field.type) for field in schema}
    )


def _feature_of(type: pa.DataType, is_in_list: bool = False) -> Any:
    if pa.types.is_struct(type):
        return {field.name: _feature_of(field.type) for field in type}
    sizes, inner = _sizes(type)
    is_array = len(sizes) in _ARRAYS and None not in sizes[1:] and _is_number(inner)
    if is_array and not is_in_list:
        return _ARRAYS[len(sizes)](shape=tuple(sizes), dtype=_name(inner))
    if sizes:
        length = -1 if sizes[0] is None else sizes[0]
        return datasets.List(_feature_of(type.value_type, is_in_list=True), length=length)
    return datasets.Value(_name(type))


def _sizes(type: pa.DataType) -> tuple[list[int | None], pa.DataType]:
    """The dimensions of nested lists, and the type of what is in the innermost."""
    sizes: list[int | None] = []
    while pa.types.is_large_list(type) or pa.types.is_fixed_size_list(type):
        sizes.append(None if pa.types.is_large_list(type) else type.list_size)
        type = type.value_type
    return sizes, type


def _is_number(type: pa.DataType) -> bool:
    kinds = (pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating)
    return any(is_kind(type) for is_kind in kinds)


def _name(type: pa.DataType) -> str:
    """The type as the package spells it; its strings have offsets of 32 bits."""
    if pa.types.is_large_string(type):
        return "string"
    if pa.types.is_large_binary(type):
        return "binary"
    feature = datasets.features.features.generate_from_arrow_type(type)
    name: str = feature.dtype
    return name


def fitted(array: pa.Array, feature: Any, name: str) -> pa.Array:
    """A column in the type that a feature stores."""
    if isinstance(feature, datasets.Image):
        return _pictures(array, feature, name)
    try:
        if isinstance(feature, tuple(_ARRAYS.values())):
            return _arrays(array, feature)
        return cast_array_to_feature(array, feature)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise ElementError(
            f"{name!r} is {array.type}, which cannot become {feature}: {error}; pass another "
            "feature for it"
        ) from error


def _arrays(array: pa.Array, feature: Any) -> pa.Array:
    """Lists of lists of which the feature says that all have one size."""
    type = feature()
    sizes, _ = _sizes(array.type)
    if len(sizes) != len(feature.shape) or any(
        wanted is not None and found is not None and wanted != found
        for wanted, found in zip(feature.shape, sizes, strict=False)
    ):
        raise ValueError(f"its dimensions are {sizes}")
    values, lengths = array, []
    for wanted in feature.shape:
        each = pc.list_value_length(values).to_numpy(zero_copy_only=False)
        if wanted is not None and (each != wanted).any():
            raise ValueError(f"an array has {each[each != wanted][0]} where {wanted} should be")
        lengths.append(each)
        values = values.flatten()
    storage = values.cast(_innermost(type.storage_type))
    for each in reversed(lengths):
        offsets = np.zeros(len(each) + 1, np.int32)
        np.cumsum(each, out=offsets[1:])
        storage = pa.ListArray.from_arrays(pa.array(offsets), storage)
    return pa.ExtensionArray.from_storage(type, storage.cast(type.storage_type))


def _innermost(type: pa.DataType) -> pa.DataType:
    while pa.types.is_list(type):
        type = type.value_type
    return type


def _pictures(array: pa.Array, feature: Any, name: str) -> pa.Array:
    """Pixels as PNG, or the bytes of files as they are."""
    if pa.types.is_large_binary(array.type) or pa.types.is_large_string(array.type):
        content = array.cast(pa.large_binary()).cast(pa.binary())
    else:
        content = pa.array([_png(row, name) for row in _pixels(array, name)], pa.binary())
    paths = pa.nulls(len(array), pa.string())
    return pa.StructArray.from_arrays([content, paths], ["bytes", "path"])


def _pixels(array: pa.Array, name: str) -> list[Array]:
    sizes, inner = _sizes(array.type)
    if len(sizes) not in (2, 3) or not pa.types.is_uint8(inner):
        raise ElementError(
            f"{name!r} is {array.type}, and pictures are uint8 of [height, width] or "
            "[height, width, channels]; scale and cast it with map"
        )
    rows = []
    for i in range(len(array)):
        values, shape = array.slice(i, 1), []
        for _ in sizes:
            lengths = pc.list_value_length(values)
            shape.append(lengths[0].as_py() if len(lengths) else 0)
            values = values.flatten()
        rows.append(values.to_numpy(zero_copy_only=False).reshape(shape))
    return rows


def _png(pixels: Array, name: str) -> bytes:
    pillow = optional_package("PIL.Image", "pictures need Pillow", "images")
    flat = pixels[..., 0] if pixels.ndim == 3 and pixels.shape[2] == 1 else pixels
    if 0 in flat.shape or (flat.ndim == 3 and flat.shape[2] not in (3, 4)):
        raise ElementError(
            f"{name!r} has pixels of shape {pixels.shape}, and pictures have 1, 3 or 4 channels"
        )
    out = io.BytesIO()
    pillow.fromarray(np.ascontiguousarray(flat)).save(out, "PNG")
    return out.getvalue()
