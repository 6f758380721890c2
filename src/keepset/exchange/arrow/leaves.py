"""Leaves of Arrow types: which arrays and strings the values of a column are made of.

A struct is a dict of its fields, a list adds a dimension of unknown size, a list of fixed size one
of that size. A list of structs is a dict of lists, so that every leaf is a path of steps down to
numbers or strings.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from keepset.core.dtypes import DType, string
from keepset.core.spec import LeafSpec, RaggedTensorSpec, TensorSpec


class Step(NamedTuple):
    """One step down: to a ``field``, to the items of a ``list`` or of a ``fixed`` one.

    Lists of one size that have lists of any size in them are ``even``: rows of a Ragged. A
    ``storage`` step goes to what an extension type is made of, a ``plain`` one to what a dictionary
    or runs stand for. ``key`` is how the array before the step is called in ``missing=``.
    """

    kind: str
    value: int
    key: str


class ArrowLeaf(NamedTuple):
    """One leaf of a column.

    Attributes:
        path: The keys that lead to it in an element.
        key: How its single values are called in ``missing=``: ``"tags[]"`` for those of a list.
        name: How it is called in ``types=``, whatever lists it is in: ``"tags"``.
        steps: The way down from the column to its values.
        type: The Arrow type of the values.
        dtype: Their dtype, or None if there is none for this type.
        sizes: The fixed dimensions of each value, as they lie in memory.
        order: The order of these dimensions in an element, if it is another one.
    """

    path: tuple[str, ...]
    key: str
    name: str
    steps: tuple[Step, ...]
    type: pa.DataType
    dtype: DType | None
    sizes: tuple[int, ...]
    order: tuple[int, ...] | None

    @property
    def lists(self) -> int:
        """How many of its dimensions differ from element to element."""
        return sum(step.kind in ("list", "even") for step in self.steps)

    @property
    def is_unreadable(self) -> bool:
        """Whether no cast makes anything of its values."""
        return bool(pa.types.is_nested(self.type) or pa.types.is_interval(self.type))

    def spec(self, dtype: DType) -> LeafSpec:
        """The spec of the leaf with this dtype."""
        sizes = self.sizes
        if self.order is not None:
            sizes = tuple(sizes[i] for i in self.order)
        shape = (None,) * self.lists + sizes
        if self.lists < 2:
            return TensorSpec(shape, dtype)
        return RaggedTensorSpec(shape, dtype, self.lists - 1)


class _Way(NamedTuple):
    """How far we are on the way down to a leaf."""

    path: tuple[str, ...]
    key: str
    name: str
    steps: tuple[Step, ...] = ()
    sizes: tuple[int, ...] = ()
    order: tuple[int, ...] | None = None

    def stepped(self, kind: str, value: int = 0) -> _Way:
        return self._replace(steps=(*self.steps, Step(kind, value, self.key)))


def leaves_of_field(name: str, type: pa.DataType) -> Iterator[ArrowLeaf]:
    """The leaves of one column."""
    return _leaves(_Way((name,), name, name), type)


def _leaves(way: _Way, type: pa.DataType) -> Iterator[ArrowLeaf]:
    if isinstance(type, pa.FixedShapeTensorType):
        yield from _tensor(way, type)
    elif pa.types.is_struct(type):
        for i, field in enumerate(type):
            below = way.stepped("field", i)
            yield from _leaves(
                below._replace(
                    path=(*way.path, field.name),
                    key=f"{way.key}.{field.name}",
                    name=f"{way.name}.{field.name}",
                ),
                field.type,
            )
    elif pa.types.is_fixed_size_list(type):
        size = type.list_size
        below = way.stepped("fixed", size)._replace(sizes=(*way.sizes, size))
        yield from _leaves(below, type.value_type)
    elif is_list(type):
        below = _uneven(way).stepped("list")
        yield from _leaves(below._replace(key=f"{way.key}[]"), type.value_type)
    elif _stands_for_others(type):
        yield from _leaves(way.stepped("plain"), type.value_type)
    elif isinstance(type, pa.BaseExtensionType) and not isinstance(type, pa.Bool8Type):
        yield from _leaves(way.stepped("storage"), type.storage_type)
    else:
        yield ArrowLeaf(*way[:4], type, _dtype_of(type), way.sizes, way.order)


def _stands_for_others(type: pa.DataType) -> bool:
    """Whether values are kept as runs, or as places in a dictionary; one of texts is a leaf."""
    if pa.types.is_dictionary(type):
        return not is_text(type.value_type)
    return bool(pa.types.is_run_end_encoded(type))


def _tensor(way: _Way, type: Any) -> Iterator[ArrowLeaf]:
    shape = tuple(type.shape)
    order = None if type.permutation is None else tuple(type.permutation)
    below = way.stepped("storage").stepped("fixed", math.prod(shape))
    outer = len(way.sizes)
    if order is not None:
        order = (*range(outer), *(outer + axis for axis in order))
    below = below._replace(sizes=(*way.sizes, *shape), order=order)
    yield from _leaves(below, type.value_type)


def _uneven(way: _Way) -> _Way:
    """The same way, on which a list of any size follows, so that no array can hold it all."""
    steps = tuple(s._replace(kind="even") if s.kind == "fixed" else s for s in way.steps)
    return way._replace(steps=steps, sizes=())


def is_list(type: pa.DataType) -> bool:
    """Whether values are lists of any length; those of maps are not counted."""
    return any(is_kind(type) for is_kind in _LISTS)


def is_text(type: pa.DataType) -> bool:
    """Whether values are bytes or text, of any of Arrow's kinds."""
    return any(is_kind(type) for is_kind in _TEXTS)


def is_unicode(type: pa.DataType) -> bool:
    """Whether values are text, and not bytes that may be anything."""
    if pa.types.is_dictionary(type):
        return is_unicode(type.value_type)
    return any(is_kind(type) for is_kind in _UNICODE)


def without_views(type: pa.DataType) -> pa.DataType:
    """The same type of lists, with texts of the usual kind."""
    if pa.types.is_string_view(type) or pa.types.is_binary_view(type):
        return pa.large_binary()
    if pa.types.is_list(type):
        return pa.list_(without_views(type.value_type))
    if pa.types.is_large_list(type):
        return pa.large_list(without_views(type.value_type))
    if pa.types.is_fixed_size_list(type):
        return pa.list_(without_views(type.value_type), type.list_size)
    if pa.types.is_struct(type):
        return pa.struct([(field.name, without_views(field.type)) for field in type])
    return type


_LISTS: Final = (
    pa.types.is_list,
    pa.types.is_large_list,
    pa.types.is_list_view,
    pa.types.is_large_list_view,
)
_UNICODE: Final = (
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_string_view,
)
_TEXTS: Final = (
    *_UNICODE,
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_binary_view,
    pa.types.is_fixed_size_binary,
)


def _dtype_of(type: pa.DataType) -> DType | None:
    if pa.types.is_dictionary(type) or is_text(type):
        return string
    if pa.types.is_boolean(type) or isinstance(type, pa.Bool8Type):
        return np.dtype(bool)
    if pa.types.is_integer(type) or pa.types.is_floating(type):
        number: np.dtype[Any] = np.dtype(type.to_pandas_dtype())
        return number
    if pa.types.is_timestamp(type):
        return np.dtype(f"M8[{type.unit}]")
    if pa.types.is_date(type):
        return np.dtype("M8[D]")
    if pa.types.is_duration(type) or pa.types.is_time(type):
        return np.dtype(f"m8[{type.unit}]")
    return None
