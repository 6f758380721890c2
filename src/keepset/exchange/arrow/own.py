"""Tables that Keepset wrote: the spec in their metadata tells how they come back as they were."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa

from keepset.core.chunk import Chunk
from keepset.core.column import Column
from keepset.core.dtypes import Array, DType, StringType, string, text
from keepset.core.ragged import Ragged
from keepset.core.spec import LeafSpec, RaggedTensorSpec, Spec, spec_from_json
from keepset.errors import ElementError, InvalidArgumentError, KeepsetError, NewerFormatError
from keepset.exchange.arrow.column import ArrowColumn
from keepset.exchange.arrow.column_names import column_names
from keepset.exchange.arrow.leaves import is_list, is_text, leaves_of_field
from keepset.exchange.arrow.values import array_of
from keepset.exchange.files.row_file import selected_columns
from keepset.format.encodings import Encoding
from keepset.format.layout import Layout
from keepset.format.version import FORMAT_VERSION
from keepset.storage.shortage import raise_shortage

_NOT_A_TIME: Final = np.iinfo(np.int64).min
_Reader: TypeAlias = Callable[[pa.Array], Column]


class OwnColumns:
    """Makes chunks of tables that have the columns of a layout, or of some of its entries."""

    def __init__(
        self,
        layout: Layout,
        names: list[str],
        readers: list[_Reader],
        columns: tuple[Any, ...] | None,
        where: str,
    ) -> None:
        self._where = where
        self.spec: Spec = layout.spec
        self._structure, places = layout.structure, list(range(len(names)))
        if columns is not None:
            if not isinstance(layout.spec, dict):
                raise InvalidArgumentError(
                    f"{where} has elements that are not dicts, so none of their entries can be "
                    f"chosen; leave out columns={columns!r}"
                )
            keys = selected_columns(list(layout.spec), columns, where)
            self.spec = {key: layout.spec[key] for key in keys}
            self._structure, places = layout.structure.select(keys)
        self.names = [names[place] for place in places]
        self._readers = [readers[place] for place in places]

    def chunk(self, batch: pa.RecordBatch | pa.Table, row: int | Array) -> Chunk:
        columns: list[Column] = []
        for name, reader in zip(self.names, self._readers, strict=True):
            try:
                columns.append(reader(array_of(batch, name)))
            except (ValueError, pa.ArrowException, KeepsetError) as error:
                raise_shortage(error, self._where)
                first = row if isinstance(row, int) else int(row[0])
                raise ElementError(
                    f"{self._where}: {name!r} is not as it was written, in the {batch.num_rows} "
                    f"rows from {first} on ({error}); restore it from a copy, or forget what "
                    "was written with table.replace_schema_metadata(None)"
                ) from error
        return Chunk.from_columns(self._structure, columns, batch.num_rows)


def own_columns(
    schema: pa.Schema,
    columns: tuple[Any, ...] | None,
    where: str,
    is_str: Callable[[pa.DataType], bool] | None = None,
) -> OwnColumns | None:
    """How a table of ours is read; None for others, and for those that somebody has changed.

    ``is_str`` says of which Arrow types bytes become ``str``, as they were written for others.
    """
    layout = _layout_of(schema, where)
    if layout is not None and is_str is not None:
        layout = _with_text(layout, schema, is_str)
    if layout is None or len(layout.names) != len(schema.names):
        return None
    names = _names_in(schema, layout)
    readers: list[_Reader] = []
    for name, leaf, encoding in zip(names, layout.leaves, layout.encodings, strict=True):
        place = schema.get_field_index(name)
        found = None if place < 0 else _reader(schema.field(place), leaf, encoding)
        if found is None:
            return None
        readers.append(found)
    return OwnColumns(layout, names, readers, columns, where)


def _names_in(schema: pa.Schema, layout: Layout) -> list[str]:
    """The columns of a layout. Older files call one without a name as a snapshot does."""
    names = column_names(layout)
    return names if set(names) <= set(schema.names) else layout.names


def _with_text(layout: Layout, schema: pa.Schema, is_str: Callable[[pa.DataType], bool]) -> Layout:
    """The layout in which bytes that others see as text are text."""
    leaves = []
    for name, leaf in zip(_names_in(schema, layout), layout.leaves, strict=True):
        place = schema.get_field_index(name)
        is_bytes = place >= 0 and leaf.dtype is string
        found = leaves_of_field(name, schema.field(place).type) if is_bytes else iter(())
        is_text = any(isinstance(each.dtype, StringType) and is_str(each.type) for each in found)
        leaves.append(leaf.with_dtype(text) if is_text else leaf)
    return Layout(layout.structure.build(leaves), layout.wide)


def _layout_of(schema: pa.Schema, where: str) -> Layout | None:
    text = (schema.metadata or {}).get(b"keepset")
    if text is None:
        return None
    try:
        facts = json.loads(text)
        version, spec = facts["format"], facts["spec"]
        if isinstance(version, int) and version > FORMAT_VERSION:
            raise NewerFormatError(
                f"{where} was written by a newer version of Keepset, in format {version}; this "
                f"one knows {FORMAT_VERSION}: update it"
            )
        is_wide = any("large_" in str(type) for type in schema.types)
        return Layout(spec_from_json(spec), is_wide)
    except NewerFormatError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, KeepsetError):
        return None  # somebody else's, under our name


def _reader(field: pa.Field, leaf: LeafSpec, encoding: Encoding) -> _Reader | None:
    if isinstance(leaf, RaggedTensorSpec) and is_list(field.type):
        return _ragged_reader(field, leaf)
    if pa.types.is_date32(field.type) and leaf.dtype == np.dtype("M8[D]"):
        return lambda array: encoding.decode(_numbers_of(array.cast(pa.int32())))
    wanted = _storage(encoding.type)
    if not _is_kin(field.type, wanted):
        return None
    if pa.types.is_temporal(wanted):
        return lambda array: encoding.decode(_numbers_of(array.cast(wanted)))
    return lambda array: encoding.decode(_fitted(array, wanted))


def _ragged_reader(field: pa.Field, leaf: RaggedTensorSpec) -> _Reader | None:
    """Lists of lists, whose row splits may be of another dtype than they usually are."""
    found = list(leaves_of_field(field.name, field.type))
    if len(found) != 1 or found[0].lists != leaf.ragged_rank + 1:
        return None
    dtype, splits = found[0].dtype, leaf.row_splits_dtype
    # Parquet has no seconds.
    are_strings = isinstance(dtype, StringType) and isinstance(leaf.dtype, StringType)
    are_times = _is_time(dtype) and _is_time(leaf.dtype)
    if dtype is None or (dtype != leaf.dtype and not are_times and not are_strings):
        return None
    column = ArrowColumn(found[0], leaf.dtype, {}, field.name)
    if splits == np.dtype(np.int64):
        return lambda array: column.read(array, 0)
    return lambda array: [_with_splits(each, splits) for each in column.read(array, 0)]


def _is_time(dtype: DType | None) -> bool:
    return isinstance(dtype, np.dtype) and dtype.kind == "M"


def _with_splits(ragged: Ragged, dtype: np.dtype[Any]) -> Ragged:
    values = ragged.values
    inner = _with_splits(values, dtype) if isinstance(values, Ragged) else values
    return Ragged.trusted(inner, ragged.row_splits.astype(dtype))


def _numbers_of(times: pa.Array) -> pa.Array:
    """Times as the numbers that NumPy has for them."""
    return times.cast(pa.int64()).fill_null(_NOT_A_TIME)


def _is_kin(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether a type holds the same values as the one that a layout uses, in another way."""
    found, wanted = _storage(found), _storage(wanted)
    if found == wanted:
        return True
    if is_text(wanted):
        return is_text(found) and not pa.types.is_fixed_size_binary(found)
    if is_list(wanted):
        return is_list(found) and _is_kin(found.value_type, wanted.value_type)
    if pa.types.is_fixed_size_list(wanted):
        return (
            pa.types.is_fixed_size_list(found)
            and found.list_size == wanted.list_size
            and _is_kin(found.value_type, wanted.value_type)
        )
    if pa.types.is_struct(wanted):
        return (
            pa.types.is_struct(found)
            and [f.name for f in found] == [f.name for f in wanted]
            and all(_is_kin(f.type, w.type) for f, w in zip(found, wanted, strict=True))
        )
    if pa.types.is_timestamp(wanted):
        return bool(pa.types.is_timestamp(found) and found.tz is None)
    return bool(pa.types.is_int8(wanted) and pa.types.is_boolean(found))


def _fitted(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    """The same values in the type that a layout uses."""
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    return array if array.type == wanted else array.cast(wanted)


def _storage(type: pa.DataType) -> pa.DataType:
    return type.storage_type if isinstance(type, pa.BaseExtensionType) else type
