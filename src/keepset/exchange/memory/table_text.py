"""Text in tables: bytes become text if all of a column are."""

from __future__ import annotations

import pyarrow as pa

from keepset.exchange.arrow.leaves import is_list


def with_text(table: pa.Table) -> pa.Table:
    """The same table, in which columns of bytes that are all UTF-8 are text.

    Example:
        >>> with_text(pa.table({"a": [b"x"], "b": [b"\\xff"]})).to_pylist()
        [{'a': 'x', 'b': b'\\xff'}]
    """
    for i, field in enumerate(table.schema):
        wanted = as_text(field.type)
        if wanted != field.type:
            try:
                column = table.column(i).cast(wanted)
            except pa.ArrowInvalid:
                column = _some_text(table.column(i))
            table = table.set_column(i, field.with_type(column.type), column)
    return table


def as_text(type: pa.DataType) -> pa.DataType:
    """The type with text in place of bytes."""
    if pa.types.is_binary(type):
        return pa.string()
    if pa.types.is_large_binary(type):
        return pa.large_string()
    if pa.types.is_fixed_size_list(type):
        return pa.list_(type.value_field.with_type(as_text(type.value_type)), type.list_size)
    if pa.types.is_large_list(type):
        return pa.large_list(type.value_field.with_type(as_text(type.value_type)))
    if is_list(type) and pa.types.is_list(type):
        return pa.list_(type.value_field.with_type(as_text(type.value_type)))
    if pa.types.is_struct(type):
        return pa.struct([field.with_type(as_text(field.type)) for field in type])
    return type


def narrowed(array: pa.Array, wanted: pa.DataType) -> pa.DataType:
    """A type that has text where this array has bytes, without text where that cannot be."""
    if array.type == wanted:
        return wanted
    try:
        array.cast(wanted)
        return wanted
    except pa.ArrowInvalid:
        if not pa.types.is_struct(wanted):
            return array.type
    pairs = zip(array.flatten(), wanted, strict=True)
    return pa.struct([field.with_type(narrowed(each, field.type)) for each, field in pairs])


def _some_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column that is not all text: of a struct, those fields that are."""
    if not pa.types.is_struct(column.type):
        return column
    names = [field.name for field in column.type]
    fields = with_text(pa.table(dict(zip(names, column.flatten(), strict=True))))
    arrays = [
        pa.StructArray.from_arrays(batch.columns, fields=list(batch.schema))
        for batch in fields.to_batches()
    ]
    return pa.chunked_array(arrays, pa.struct(list(fields.schema)))
