"""``SqlDataset``: the rows that a query of a SQLite database returns."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from keepset.core.spec import TensorSpec
from keepset.errors import InvalidArgumentError
from keepset.tf.data.arguments import path
from keepset.tf.data.dataset import Dataset
from keepset.tf.tensors.dtype import as_dtype


class SqlDataset(Dataset):
    """As ``tf.data.experimental.SqlDataset``: the rows as tuples of columns.

    The database is opened to be read only. Missing values become 0, an empty string or False, as
    in TensorFlow.
    """

    __slots__ = ()

    def __init__(
        self, driver_name: Any, data_source_name: Any, query: Any, output_types: Any
    ) -> None:
        if path(driver_name) != "sqlite":
            raise InvalidArgumentError(
                f"{driver_name!r} is no driver that is known; the only one is 'sqlite'"
            )
        rows = _Query(path(data_source_name), path(query), tuple(map(as_dtype, output_types)))
        specs = tuple(TensorSpec([], dtype.core) for dtype in rows.types)
        super().__init__(Dataset.from_generator(rows, output_signature=specs))


class _Query:
    def __init__(self, file: str, query: str, types: tuple[Any, ...]) -> None:
        self.file, self.query, self.types = file, query, types

    def __call__(self) -> Iterator[tuple[Any, ...]]:
        with closing(sqlite3.connect(f"file:{self.file}?mode=ro", uri=True)) as database:
            for row in self._rows(database):
                yield tuple(map(_value, row, self.types))

    def _rows(self, database: sqlite3.Connection) -> Iterator[tuple[Any, ...]]:
        try:
            rows = database.execute(self.query)
        except sqlite3.Error as error:
            raise InvalidArgumentError(f"{self.file}: {error}, in {self.query!r:.80}") from error
        if len(rows.description or ()) != len(self.types):
            raise InvalidArgumentError(
                f"the query returns {len(rows.description or ())} columns, and output_types has "
                f"{len(self.types)}"
            )
        yield from rows


def _value(found: Any, dtype: Any) -> Any:
    if dtype.name == "string":
        return found if isinstance(found, bytes) else "" if found is None else str(found)
    return dtype.storage.type(0 if found is None else found)
