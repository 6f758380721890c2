"""Ragged and sparse leaves: a struct of their components."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from keepset.core.column import Column
from keepset.core.ragged import Ragged
from keepset.core.sparse import Sparse
from keepset.format.encodings.encoding import Encoding


class _Components(Encoding):
    def __init__(self, components: dict[str, Encoding]) -> None:
        self._components = components
        self.type = pa.struct([(name, part.type) for name, part in components.items()])

    def _encode(self, columns: list[Column]) -> pa.Array:
        parts = self._components.values()
        arrays = [part.encode(column) for part, column in zip(parts, columns, strict=True)]
        return pa.StructArray.from_arrays(arrays, fields=list(self.type))

    def _decode(self, array: pa.Array) -> list[list[Any]]:
        if array.null_count:
            raise ValueError("there are missing values")
        parts = self._components.items()
        return [list(part.decode(array.field(name))) for name, part in parts]


class Raggeds(_Components):
    """The row splits, outermost first, and the flat values."""

    def __init__(self, splits: Encoding, ragged_rank: int, values: Encoding) -> None:
        named: dict[str, Encoding] = {f"row_splits_{i}": splits for i in range(ragged_rank)}
        super().__init__({**named, "values": values})

    def encode(self, column: Column) -> pa.Array:
        columns: list[list[Any]] = [[] for _ in self._components]
        for leaf in column:
            for part in columns[:-1]:
                part.append(leaf.row_splits)
                leaf = leaf.values
            columns[-1].append(leaf)
        return self._encode(list(columns))

    def decode(self, array: pa.Array) -> Column:
        *splits, leaves = self._decode(array)
        for level in reversed(splits):
            leaves = [Ragged(values, rows) for values, rows in zip(leaves, level, strict=True)]
        return leaves


class Sparses(_Components):
    """The indices, the values and the dense shape."""

    def __init__(self, indices: Encoding, values: Encoding, dense_shape: Encoding) -> None:
        super().__init__({"indices": indices, "values": values, "dense_shape": dense_shape})

    def encode(self, column: Column) -> pa.Array:
        return self._encode(
            [
                [leaf.indices for leaf in column],
                [leaf.values for leaf in column],
                [np.asarray(leaf.dense_shape) for leaf in column],
            ]
        )

    def decode(self, array: pa.Array) -> Column:
        return [Sparse(*parts) for parts in zip(*self._decode(array), strict=True)]
