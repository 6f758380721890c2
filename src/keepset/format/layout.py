"""Layout: the Arrow schema of a spec, and the way of chunks into record batches and back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from keepset.core.chunk import Chunk
from keepset.core.chunk_spec import typed
from keepset.core.column import Column
from keepset.core.dtypes import dtype_name
from keepset.core.spec import LeafSpec, Spec, TensorSpec, spec_to_json, structure_and_leaves
from keepset.core.tally import tally
from keepset.format.encodings import Encoding, encoding_of
from keepset.format.version import FORMAT_VERSION

_ONLY = "value"  # the column of an element that is a single leaf


class Layout:
    """One column for each leaf, named by its path: ``image``, ``0``, ``features.mean``.

    Two layouts of one spec are the same, so that a schema need not be read to read a chunk.
    """

    def __init__(self, spec: Spec, wide: bool = False) -> None:
        self.spec, self.wide = spec, wide
        self.structure, self.leaves = structure_and_leaves(spec)
        self.encodings: list[Encoding] = [encoding_of(leaf, wide) for leaf in self.leaves]
        self.names = _unique([path or _ONLY for path in self.structure.paths()])
        fields = [
            pa.field(name, encoding.type, pa.types.is_null(encoding.type), _field_facts(leaf))
            for name, encoding, leaf in zip(self.names, self.encodings, self.leaves, strict=True)
        ]
        facts = {"format": FORMAT_VERSION, "spec": spec_to_json(spec)}
        self.schema = pa.schema(fields, metadata={"keepset": json.dumps(facts)})

    def encode(self, chunk: Chunk) -> pa.RecordBatch:
        """The record batch of a chunk whose elements fit the spec."""
        if chunk.structure != self.structure:
            raise self.structure.difference(chunk.structure, 0)
        columns: Sequence[Column] = typed(chunk, self.leaves).columns
        if not columns:
            return _rows_without_columns(len(chunk), self.schema)
        arrays = [e.encode(column) for e, column in zip(self.encodings, columns, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def decode(self, batch: pa.RecordBatch, rows: int) -> Chunk:
        """The chunk of a record batch; anything that does not fit is a ValueError."""
        if batch.num_rows != rows or batch.num_columns != len(self.encodings):
            raise ValueError(f"{batch.num_rows} rows were found where {rows} were expected")
        tally("chunk_decode")
        columns = [encoding.decode(batch.column(i)) for i, encoding in enumerate(self.encodings)]
        return Chunk.from_columns(self.structure, columns, rows)

    def decode_some(self, batch: pa.RecordBatch, rows: int, keys: tuple[Any, ...]) -> Chunk:
        """As ``decode``, for a batch that has only the columns of some entries."""
        structure, places = self.structure.select(keys)
        if batch.num_rows != rows or batch.num_columns != len(places):
            raise ValueError(f"{batch.num_rows} rows were found where {rows} were expected")
        tally("chunk_decode")
        pairs = zip(places, batch.columns, strict=True)
        columns = [self.encodings[place].decode(array) for place, array in pairs]
        return Chunk.from_columns(structure, columns, rows)


def _unique(names: list[str]) -> list[str]:
    """Names as they are, but for those that would clash, as ``{"a.b": 1, "a": {"b": 2}}`` does."""
    taken: set[str] = set()
    out = []
    for name in names:
        chosen, number = name, 2
        while chosen in taken:
            chosen, number = f"{name}#{number}", number + 1
        taken.add(chosen)
        out.append(chosen)
    return out


def _field_facts(leaf: LeafSpec) -> dict[str, str] | None:
    """What the storage type alone does not tell another reader."""
    dtype: Any = leaf.dtype
    facts = {"keepset.dtype": dtype_name(dtype)}
    if not isinstance(leaf, TensorSpec):
        facts["keepset.kind"] = type(leaf).__name__
    return facts


def _rows_without_columns(rows: int, schema: pa.Schema) -> pa.RecordBatch:
    """Elements without leaves still have a number."""
    batch = pa.RecordBatch.from_struct_array(pa.array([{}] * rows, pa.struct([])))
    return batch.replace_schema_metadata(schema.metadata)
