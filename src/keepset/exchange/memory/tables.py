"""Tables in memory of all elements: of Arrow, pandas and Polars."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import pyarrow as pa

from keepset.core.node import Node
from keepset.exchange.arrow.nesting import Nesting
from keepset.exchange.arrow.out import ArrowOut
from keepset.exchange.files.exporting import unfit
from keepset.exchange.memory.foreseen import first_elements, foreseen
from keepset.exchange.memory.pandas_out import PandasOut
from keepset.exchange.memory.plain_out import PlainOut
from keepset.exchange.memory.table_text import as_text, narrowed, with_text

# Of elements whose type nothing else tells, so many are looked at.
_MOST_HELD_BYTES: Final = 64 << 20


def arrow_table(node: Node, limit: int | None, text: bool) -> pa.Table:
    """A table that comes back as the elements were, because it tells their spec."""
    spec, chunks = foreseen(first_elements(node, limit))
    out, nesting = ArrowOut(spec), Nesting(spec)
    if not nesting.names:
        raise unfit("", "it has no values, and a table needs columns")
    batches = [nesting.batch(batch) for chunk in chunks for batch in out.batches(chunk)]
    if batches:
        table = pa.Table.from_batches(batches)
    else:
        empty = pa.RecordBatch.from_arrays(
            [pa.array([], field.type) for field in out.schema], schema=out.schema
        )
        table = pa.Table.from_batches([nesting.batch(empty)])
    return with_text(table) if text else table


def plain_table(node: Node, limit: int | None, text: bool) -> pa.Table:
    """A table of nothing but numbers, bytes, lists and structs."""
    spec, chunks = foreseen(first_elements(node, limit))
    out = PlainOut(spec)
    table = pa.Table.from_batches(out.batches(chunks), out.schema)
    return with_text(table) if text else table


def plain_stream(
    node: Node, limit: int | None, text: bool
) -> tuple[pa.Schema, Iterator[pa.RecordBatch], Callable[[pa.Array, pa.DataType], pa.DataType]]:
    """Such a table as it comes, batch by batch, for those who do not hold it all.

    The schema has text where text is hoped for, and the batches have bytes there; the function says
    which type a column has in which only those of an array that are text are.
    """
    spec, chunks = foreseen(first_elements(node, limit), _MOST_HELD_BYTES)
    out = PlainOut(spec)
    fields = [field.with_type(as_text(field.type)) if text else field for field in out.schema]
    return pa.schema(fields), out.batches(chunks), narrowed


def polars_frame(node: Node, limit: int | None, text: bool) -> Any:
    """A DataFrame of Polars."""
    import polars

    return polars.from_arrow(plain_table(node, limit, text))


def pandas_frame(node: Node, limit: int | None, text: bool) -> Any:
    """A DataFrame of pandas."""
    spec, chunks = foreseen(first_elements(node, limit))
    return PandasOut(spec, text).frame(list(chunks))
