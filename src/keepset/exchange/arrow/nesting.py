"""Nested dicts as structs of Arrow: columns called ``a.b`` become fields, and columns again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from keepset.core.spec import Spec, spec_from_json
from keepset.core.structure import Structure, structure_of
from keepset.errors import KeepsetError
from keepset.exchange.arrow.column_names import column_names
from keepset.format.layout import Layout


class Nesting:
    """Puts the columns of elements of ``spec`` into a struct for each dict or tuple within them."""

    def __init__(self, spec: Spec) -> None:
        self.names = column_names(Layout(spec))
        self.structure = structure_of(spec)
        self._is_flat = self.structure.is_leaf or _has_clash(self.structure)

    def batch(self, flat: pa.RecordBatch) -> pa.RecordBatch:
        """A batch that has a column for each leaf, nested."""
        if self._is_flat:
            return flat
        columns = [(flat.schema.field(name), flat.column(name)) for name in self.names]
        pairs = _fields(self.structure, iter(columns))
        schema = pa.schema([field for field, _ in pairs], flat.schema.metadata)
        return pa.RecordBatch.from_arrays([array for _, array in pairs], schema=schema)


def _children(structure: Structure) -> Iterator[tuple[str, Structure]]:
    keys = structure.keys or range(len(structure.children))
    for key, child in zip(keys, structure.children, strict=True):
        yield str(key), child


def _has_clash(structure: Structure) -> bool:
    """Whether two keys of one dict are the same as text, such as 1 and "1"."""
    names = [key for key, _ in _children(structure)]
    return len(set(names)) < len(names) or any(map(_has_clash, structure.children))


def _fields(
    structure: Structure, columns: Iterator[tuple[pa.Field, pa.Array]]
) -> list[tuple[pa.Field, pa.Array]]:
    """The fields of a dict or tuple, in the order in which they were written."""
    made: dict[str, tuple[pa.Field, pa.Array]] = {}
    for key, child in _children(structure):
        if child.is_leaf:
            field, array = next(columns)
            made[key] = field.with_name(key), array
        elif child.num_leaves:
            inner = _fields(child, columns)
            array = pa.StructArray.from_arrays(
                [array for _, array in inner], fields=[field for field, _ in inner]
            )
            made[key] = pa.field(key, array.type, nullable=False), array
    order: Any = structure.record if isinstance(structure.record, tuple) else ()
    return [made[str(key)] for key in order if str(key) in made] or list(made.values())


def flattened(table: pa.Table) -> pa.Table:
    """The columns of which ``Nesting`` made structs; a table that is no such one as it is."""
    layout = _layout_of(table.schema)
    if layout is None:
        return table
    names = column_names(layout)
    if set(names) <= set(table.schema.names):
        return table
    if layout.structure.is_leaf or not _has_fields(table.schema, layout.structure):
        return table  # somebody has changed it
    columns = list(_leaves(layout.structure, table))
    fields = [pa.field(name, column.type) for name, column in zip(names, columns, strict=True)]
    return pa.Table.from_arrays(columns, schema=pa.schema(fields, table.schema.metadata))


def _has_fields(fields: Any, structure: Structure) -> bool:
    """Whether a schema or a struct has the fields of a dict or tuple, and no others."""
    found = {field.name: field.type for field in fields}
    wanted = {key: child for key, child in _children(structure) if child.num_leaves}
    return found.keys() == wanted.keys() and all(
        child.is_leaf or (pa.types.is_struct(found[key]) and _has_fields(found[key], child))
        for key, child in wanted.items()
    )


def _leaves(structure: Structure, table: pa.Table) -> Iterator[pa.ChunkedArray]:
    for key, child in _children(structure):
        if child.num_leaves:
            yield from _leaves_below(child, table.column(key))


def _leaves_below(structure: Structure, column: pa.ChunkedArray) -> Iterator[pa.ChunkedArray]:
    if structure.is_leaf:
        yield column
        return
    for key, child in _children(structure):
        if child.num_leaves:
            yield from _leaves_below(child, pc.struct_field(column, key))


def _layout_of(schema: pa.Schema) -> Layout | None:
    try:
        facts: Any = json.loads((schema.metadata or {})[b"keepset"])
        return Layout(spec_from_json(facts["spec"]))
    except (ValueError, TypeError, KeyError, AttributeError, KeepsetError):
        return None
