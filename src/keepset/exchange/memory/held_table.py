"""HeldTable: an Arrow table in memory, as a stage holds one: it counts by its content."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from keepset.errors import InvalidArgumentError
from keepset.exchange.arrow.content import content_digest
from keepset.exchange.arrow.nesting import flattened


class HeldTable:
    """A table, of which the columns called ``names`` are used, or all of them.

    Example:
        >>> HeldTable.of([pa.record_batch({"x": [1, 2]}), pa.record_batch({"x": [3]})])
        <table of 3 rows: x>
    """

    # In a recipe a small one is told as a whole, and a large one is named.
    __keepset_recipe__ = ("stream", "names")

    def __init__(
        self,
        table: pa.Table,
        names: Sequence[str] | None = None,
        digests: dict[str, bytes] | None = None,
    ) -> None:
        self.table = table
        self.names: tuple[str, ...] = tuple(table.column_names if names is None else names)
        # Those of columns that were looked at already: tables do not change.
        self._digests: dict[str, bytes] = {} if digests is None else digests

    @classmethod
    def of(cls, source: Any) -> HeldTable:
        """The table that anything Arrow-like makes."""
        return cls(flattened(table_of(source)))

    @classmethod
    def from_recipe(cls, stream: Any, names: Sequence[str]) -> HeldTable:
        """The one that a recipe tells."""
        try:
            if not isinstance(stream, bytes):
                raise InvalidArgumentError("the content of a table must be bytes")
            table = pa.ipc.open_stream(stream).read_all()
            table.validate(full=True)
            return cls(table, names)
        except (pa.ArrowException, KeyError, OSError, ValueError) as error:
            raise InvalidArgumentError(f"the table in the recipe is damaged: {error}") from error

    @classmethod
    def from_data(cls, source: Any, names: Sequence[str]) -> HeldTable:
        """The one that a recipe only names, and that its reader has again."""
        return cls(flattened(table_of(source)), names)

    @property
    def stream(self) -> bytes:
        """The whole table as the bytes of an Arrow stream."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self.table.schema) as writer:
            writer.write_table(self.table.combine_chunks())
        found: bytes = sink.getvalue().to_pybytes()
        return found

    @property
    def nbytes(self) -> int:
        return int(self.table.nbytes)

    def only(self, names: Iterable[str]) -> HeldTable:
        """The same table, of which these columns count."""
        return HeldTable(self.table, tuple(names), self._digests)

    def __keepset_fingerprint__(self) -> Any:
        kept = (self.table.schema.metadata or {}).get(b"keepset")
        unknown = [name for name in self.names if name not in self._digests]
        self._digests |= content_digest(self.table, unknown)
        columns = [(name, self._digests[name]) for name in self.names]
        return {"rows": self.table.num_rows, "columns": columns, "spec": kept}

    def __repr__(self) -> str:
        return f"<table of {self.table.num_rows:,} rows: {', '.join(self.names)}>"


def table_of(source: Any) -> pa.Table:
    """The table of a table, of record batches, or of what has Arrow's C stream interface."""
    if isinstance(source, HeldTable):
        return source.table
    if isinstance(source, pa.Table):
        return source
    if isinstance(source, pa.RecordBatch):
        return pa.Table.from_batches([source])
    if isinstance(source, pa.RecordBatchReader):
        return source.read_all()
    if hasattr(source, "__arrow_c_stream__"):
        return _imported(source)
    if not isinstance(source, Iterable) or isinstance(source, str | bytes | dict):
        raise _no_table(source)
    batches = list(source)
    odd = next((each for each in batches if not isinstance(each, pa.RecordBatch | pa.Table)), None)
    if odd is not None:
        raise _no_table(odd)
    if not batches:
        raise InvalidArgumentError(
            "there are no record batches, and so nothing says what their columns are; pass a table"
        )
    tables = [table_of(each) for each in batches]
    try:
        return pa.concat_tables(tables)
    except pa.ArrowInvalid as error:
        raise InvalidArgumentError(
            f"the record batches have different schemas ({error}); cast them to one"
        ) from error


def _imported(source: Any) -> pa.Table:
    try:
        return pa.RecordBatchReader.from_stream(source).read_all()
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InvalidArgumentError(
            f"a {type(source).__name__} does not give a table ({error}); pass a pyarrow.Table"
        ) from error


def _no_table(value: Any) -> InvalidArgumentError:
    return InvalidArgumentError(
        "a pyarrow.Table, record batches, or something with Arrow's stream interface is needed, "
        f"not {type(value).__name__}"
    )
