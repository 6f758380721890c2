"""A ``datasets.Dataset`` of the elements of a pipeline: in memory, or in a file of its cache."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final, TypeAlias
from uuid import uuid4

import datasets
import pyarrow as pa
from datasets.table import InMemoryTable

from keepset.adapters.huggingface.features import features_for, fitted
from keepset.storage import local_path

# More than this goes to a file, which is mapped into memory.
MOST_BYTES: Final = 64 << 20
# Rows are written together until they are so many, or so large.
_TOGETHER_ROWS, _TOGETHER_BYTES = 1000, 16 << 20

# Gives the type of a column in which the bytes that are text so far, and in this array, are text.
Narrow: TypeAlias = Callable[[pa.Array, pa.DataType], pa.DataType]


def to_hf(
    schema: pa.Schema,
    batches: Iterator[pa.RecordBatch],
    features: Mapping[str, Any] | None,
    narrow: Narrow,
    folder: str | os.PathLike[str] | None = None,
    most_bytes: int = MOST_BYTES,
) -> datasets.Dataset:
    """The data set of record batches.

    Args:
        schema: Of the batches: numbers, bytes, large lists, lists of one size, structs; with text
            in place of bytes where text is hoped for.
        batches: They have bytes there.
        features: Those of some columns, where their types do not say what is meant.
        narrow: Says where an array has text.
        folder: Where to put a file, if there is too much for memory.
        most_bytes: How much is kept in memory.
    """
    gathered = _Gathered(schema, features, narrow)
    for batch in batches:
        gathered.add(batch)
        if gathered.size > most_bytes:
            return _in_file(gathered, batches, folder)
    table = gathered.table()
    info = datasets.DatasetInfo(features=gathered.features)
    return datasets.Dataset(InMemoryTable(table), info=info)


class _Gathered:
    """Batches as they came, and what they become."""

    def __init__(self, schema: pa.Schema, given: Mapping[str, Any] | None, narrow: Narrow) -> None:
        self.schema = schema
        self._given, self._narrow = dict(given or {}), narrow
        self.features = features_for(schema, self._given)
        self._waiting: list[pa.RecordBatch] = []
        self.size = self.rows = 0

    def add(self, batch: pa.RecordBatch) -> bool:
        """Take a batch; whether one of its columns turned out not to be text."""
        types = [
            self._narrow(column, field.type)
            for column, field in zip(batch.columns, self.schema, strict=True)
        ]
        fields = [field.with_type(t) for field, t in zip(self.schema, types, strict=True)]
        is_news = bool(types != self.schema.types)
        if is_news:
            self.schema = pa.schema(fields)
            self.features = features_for(self.schema, self._given)
        self._waiting.append(batch)
        self.size += batch.nbytes
        self.rows += batch.num_rows
        return is_news

    def table(self) -> pa.Table:
        """All that waits, in the types that the features say; nothing waits after it."""
        waiting, self._waiting = self._waiting, []
        self.size = self.rows = 0
        arrow_schema = self.features.arrow_schema
        if not waiting:
            return arrow_schema.empty_table()
        batch = pa.Table.from_batches(waiting).combine_chunks()
        arrays = []
        for field in self.schema:
            column = batch.column(field.name).combine_chunks()
            chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
            made = [
                fitted(chunk.cast(field.type), self.features[field.name], field.name)
                for chunk in chunks
            ]
            arrays.append(pa.chunked_array(made, arrow_schema.field(field.name).type))
        return pa.Table.from_arrays(arrays, schema=arrow_schema)


def _in_file(
    gathered: _Gathered, batches: Iterator[pa.RecordBatch], folder: str | os.PathLike[str] | None
) -> datasets.Dataset:
    default = os.path.join(datasets.config.HF_DATASETS_CACHE, "keepset")
    place = local_path(folder or default, "folder")
    os.makedirs(place, exist_ok=True)
    path = os.path.join(place, f"{uuid4().hex}.arrow")
    file = _StreamFile(f"{path}.incomplete")
    try:
        file.write(gathered.table())
        for batch in batches:
            is_news = gathered.add(batch)
            is_enough = gathered.size > _TOGETHER_BYTES or gathered.rows > _TOGETHER_ROWS
            if is_news or is_enough:
                file.write(gathered.table())
        if gathered.rows:
            file.write(gathered.table())
        file.finish(path)
    except BaseException:
        file.discard()
        raise
    info = datasets.DatasetInfo(features=gathered.features)
    return datasets.Dataset.from_file(path, info=info)


class _StreamFile:
    """An Arrow stream whose types may yet change: what was written is then written again."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._schema: pa.Schema | None = None
        self._writer: Any = None

    def write(self, table: pa.Table) -> None:
        if self._schema is None:
            self._writer = pa.ipc.new_stream(self._path, table.schema)
        elif table.schema != self._schema:
            self._rewrite(table.schema)
        self._schema = table.schema
        self._writer.write_table(table)

    def _rewrite(self, schema: pa.Schema) -> None:
        self._writer.close()
        old = f"{self._path}.old"
        os.replace(self._path, old)
        try:
            self._writer = pa.ipc.new_stream(self._path, schema)
            with pa.memory_map(old) as source:
                for batch in pa.ipc.open_stream(source):
                    arrays = [
                        column if column.type == field.type else column.cast(field.type)
                        for column, field in zip(batch.columns, schema, strict=True)
                    ]
                    self._writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=schema))
        finally:
            os.unlink(old)

    def finish(self, path: str) -> None:
        self._writer.close()
        os.replace(self._path, path)

    def discard(self) -> None:
        if self._writer is not None:
            self._writer.close()
        with suppress(FileNotFoundError):
            os.unlink(self._path)
