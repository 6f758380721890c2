"""Tables that Keepset wrote: the spec in their metadata tells how they come back as they were."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from keepset.core.chunk import Chunk
from keepset.core.spec import Spec, spec_from_json
from keepset.errors import ElementError, InvalidArgumentError, KeepsetError, NewerFormatError
from keepset.exchange.arrow_leaves import is_list, is_text
from keepset.exchange.arrow_values import array_of
from keepset.exchange.row_file import selected_columns
from keepset.format.layout import Layout
from keepset.format.version import FORMAT_VERSION


class OwnColumns:
    """Makes chunks of tables that have the columns of a layout, or of some of its entries."""

    def __init__(self, layout: Layout, columns: tuple[Any, ...] | None, where: str) -> None:
        self._layout, self._where = layout, where
        self.spec: Spec = layout.spec
        self._structure, self._places = layout.structure, list(range(len(layout.names)))
        if columns is not None:
            if not isinstance(layout.spec, dict):
                raise InvalidArgumentError(
                    f"{where} has elements that are not dicts, so none of their entries can be "
                    f"chosen; leave out columns={columns!r}"
                )
            keys = selected_columns(list(layout.spec), columns, where)
            self.spec = {key: layout.spec[key] for key in keys}
            self._structure, self._places = layout.structure.select(keys)
        self.names = [layout.names[place] for place in self._places]

    def chunk(self, batch: pa.RecordBatch | pa.Table, first_row: int) -> Chunk:
        encodings = [self._layout.encodings[place] for place in self._places]
        columns = []
        for name, encoding in zip(self.names, encodings, strict=True):
            array = _fitted(array_of(batch, name), encoding.type)
            try:
                columns.append(encoding.decode(array))
            except (ValueError, KeepsetError) as error:
                raise ElementError(
                    f"{self._where}: {name!r} is not as it was written, in the {batch.num_rows} "
                    f"rows from {first_row} on ({error}); restore it from a copy, or remove "
                    "what the schema's metadata says of it with "
                    "table.replace_schema_metadata(None)"
                ) from error
        return Chunk.from_columns(self._structure, columns, batch.num_rows)


def own_columns(
    schema: pa.Schema, columns: tuple[Any, ...] | None, where: str
) -> OwnColumns | None:
    """How a table of ours is read; None for others, and for those that somebody has changed."""
    layout = _layout_of(schema, where)
    if layout is None or len(layout.names) != len(schema.names):
        return None
    for field in layout.schema:
        place = schema.get_field_index(field.name)
        if place < 0 or not _is_kin(schema.field(place).type, field.type):
            return None
    return OwnColumns(layout, columns, where)


def _layout_of(schema: pa.Schema, where: str) -> Layout | None:
    text = (schema.metadata or {}).get(b"keepset")
    if text is None:
        return None
    try:
        facts = json.loads(text)
        version = facts["format"]
        if not isinstance(version, int):
            return None
        if version > FORMAT_VERSION:
            raise NewerFormatError(
                f"{where} was written by a newer version of Keepset, in format {version}; this "
                f"one knows {FORMAT_VERSION}: update it"
            )
        # Wide or not is told by the types of each column.
        return Layout(spec_from_json(facts["spec"]))
    except NewerFormatError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, KeepsetError):
        return None


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
    storage = _storage(wanted)
    return array if array.type == storage else array.cast(storage)


def _storage(type: pa.DataType) -> pa.DataType:
    return type.storage_type if isinstance(type, pa.BaseExtensionType) else type
