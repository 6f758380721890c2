"""What a data set of the ``datasets`` package is made of, taken apart for those who read it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from keepset.core.dtypes import Array
from keepset.core.fingerprint.sketch import Uncountable
from keepset.errors import InvalidArgumentError

_BATCH_ROWS: Final = 100  # of data sets that can only be iterated over


class HfParts(NamedTuple):
    """A ``datasets.Dataset``.

    Attributes:
        table: All its rows, of which some may not be wanted.
        features: What it says of its columns, as plain data.
        columns: Those that are wanted, if not all are.
        positions: The rows that are wanted, in their order; None for all of them.
        files: The Arrow files that the table is, one behind the other; None if it is in memory, or
            was changed since it was read.
    """

    table: pa.Table
    features: dict[str, Any]
    columns: tuple[str, ...] | None
    positions: Array | None
    files: list[str] | None


def kind_of(dataset: Any) -> str:
    """``"Dataset"`` or ``"IterableDataset"``; an error for everything else."""
    kinds = {kind.__name__ for kind in type(dataset).__mro__ if _is_theirs(kind)}
    if "DatasetDict" in kinds or "IterableDatasetDict" in kinds:
        names = ", ".join(map(repr, dataset))
        first = next(iter(dataset), "train")
        raise InvalidArgumentError(
            f"a {type(dataset).__name__} holds several data sets, {names}; pass one of them, such "
            f"as dataset[{first!r}]"
        )
    for kind in ("Dataset", "IterableDataset"):
        if kind in kinds:
            return kind
    raise InvalidArgumentError(
        f"from_hf takes a datasets.Dataset or IterableDataset, not {type(dataset).__name__}"
    )


def _is_theirs(kind: type) -> bool:
    return kind.__module__.partition(".")[0] == "datasets"


def parts_of(dataset: Any) -> HfParts:
    """Take a ``datasets.Dataset`` apart. Nothing is copied."""
    shown = dataset.format
    if shown["type"] == "custom":
        raise InvalidArgumentError(
            "the data set has a transform, which is run when somebody looks at its rows; take it "
            "off with dataset.with_format(None), and apply the function with map afterwards"
        )
    columns = None
    if not shown["output_all_columns"] and list(shown["columns"]) != dataset.column_names:
        columns = tuple(shown["columns"])
    chosen = dataset._indices
    positions = None
    if chosen is not None:
        positions = np.asarray(chosen.table.column(0)).astype(np.int64)
    table = _stored(dataset.data.table)
    return HfParts(table, dataset.features.to_dict(), columns, positions, _files(dataset.data))


def _stored(table: pa.Table) -> pa.Table:
    """The same table without types that only the package knows."""
    for i, field in enumerate(table.schema):
        if isinstance(field.type, pa.ExtensionType):
            chunks = [chunk.storage for chunk in table.column(i).chunks]
            type = field.type.storage_type
            table = table.set_column(i, pa.field(field.name, type), pa.chunked_array(chunks, type))
    return table.replace_schema_metadata(None)


def _files(data: Any) -> list[str] | None:
    """The files that a table is, if it was read from them and not changed since."""
    rows = getattr(data, "blocks", None) or [[data]]
    blocks = [block for row in rows for block in row]
    is_one_beside = all(len(row) == 1 for row in rows)
    if not is_one_beside or not all(map(_is_file, blocks)):
        return None
    return [str(block.path) for block in blocks]


def _is_file(block: Any) -> bool:
    if type(block).__name__ != "MemoryMappedTable" or not hasattr(block, "replays"):
        return False
    # What was done to the table after it was read; notes beside it change nothing.
    return all(step[0] == "replace_schema_metadata" for step in block.replays)


class HfBatches:
    """Iterates over an ``IterableDataset`` anew for each pass, and gives tables of a few rows."""

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset

    @property
    def features(self) -> dict[str, Any] | None:
        """What it says of its columns; None if nothing is known before it runs."""
        features = self.dataset.features
        return None if features is None else features.to_dict()

    @property
    def schema(self) -> pa.Schema:
        """That of its tables, which its features say."""
        return self.dataset.features.arrow_schema

    def __keepset_fingerprint__(self) -> Any:
        raise Uncountable("an IterableDataset of Hugging Face")

    def __iter__(self) -> Iterator[pa.Table]:
        # What is not in tables already becomes one by what the first row of each looks like, and
        # an empty list has no type: such rows come one by one.
        source = getattr(self.dataset, "_ex_iterable", None)
        rows = _BATCH_ROWS if getattr(source, "iter_arrow", None) else 1
        return iter(self.dataset.with_format("arrow").iter(batch_size=rows))
