"""Methods that make tables in memory of all elements: of Arrow, pandas, Polars, Hugging Face."""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from keepset.adapters.frameworks import framework
from keepset.dataset.base import BaseDataset


def memory_tables() -> ModuleType:
    """The module that does the work; those who make no tables need not wait for it."""
    import keepset.exchange.memory.tables as module

    return module


class MemoryDoors(BaseDataset):
    """Ways out to tables in memory."""

    __slots__ = ()

    def to_arrow(self, *, limit: int | None = None, text: bool = True) -> Any:
        """All elements as a ``pyarrow.Table``, which ``ks.from_arrow`` reads as they were.

        Nested dicts become structs, arrays of one shape lists of one size (Arrow's fixed-shape
        tensors from two dimensions on), arrays of one dimension lists, items of tuples columns
        called ``0`` and ``1``, and elements that are single values a column called ``value``.

        Args:
            limit: How many elements at most; all by default.
            text: Whether columns of ``bytes`` that are all UTF-8 become text.

        Example:
            >>> ds = Dataset.range(2).map(lambda x: {"x": x, "in": {"name": f"no. {x}"}})
            >>> ds.to_arrow().to_pylist()
            [{'x': 0, 'in': {'name': 'no. 0'}}, {'x': 1, 'in': {'name': 'no. 1'}}]
        """
        return memory_tables().arrow_table(self._node, limit, text)

    def to_pandas(self, *, limit: int | None = None, text: bool = True) -> Any:
        """All elements as a ``pandas.DataFrame``, with a column for each leaf.

        An entry of a nested dict becomes a column called ``outer.inner``. Columns keep their
        dtypes; arrays are objects, each of them an array, and a ``Ragged`` becomes lists of lists.

        It takes pandas, the extra ``pandas``.

        Args:
            limit: How many elements at most; all by default.
            text: Whether columns of ``bytes`` that are all UTF-8 become text.

        Example:
            >>> ds = Dataset.range(3).map(lambda x: {"x": x, "in": {"name": f"no. {x}"}})
            >>> ds.to_pandas(limit=2)
               x in.name
            0  0   no. 0
            1  1   no. 1
        """
        framework("pandas", "to_pandas")
        return memory_tables().pandas_frame(self._node, limit, text)

    def to_polars(self, *, limit: int | None = None, text: bool = True) -> Any:
        """All elements as a ``polars.DataFrame``.

        Nested dicts become ``Struct``, arrays of one shape ``Array``, others ``List``.

        It takes Polars, the extra ``polars``.

        Args:
            limit: How many elements at most; all by default.
            text: Whether columns of ``bytes`` that are all UTF-8 become text.

        Example:
            >>> ds = Dataset.range(2).map(lambda x: {"x": x, "row": [x, x * x]})
            >>> ds.to_polars().schema
            Schema([('x', Int64), ('row', Array(Int64, shape=(2,)))])
        """
        framework("polars", "to_polars")
        return memory_tables().polars_frame(self._node, limit, text)

    def to_hf(
        self,
        *,
        features: Mapping[str, Any] | None = None,
        limit: int | None = None,
        text: bool = True,
        cache_dir: str | os.PathLike[str] | None = None,
    ) -> Any:
        """All elements as a ``datasets.Dataset`` of Hugging Face.

        Nested dicts stay such, numbers and texts become ``Value``, arrays of one dimension
        ``List``, those of two to five ``Array2D`` to ``Array5D`` if at most their first dimension
        varies, else lists of lists. Up to 64 MB are kept in memory; more is written to an Arrow
        file as it comes, and mapped into memory.

        It takes the package ``datasets``, the extra ``hf``.

        Args:
            features: Features of some columns, or all, where another one is meant:
                ``{"label": datasets.ClassLabel(names=[...]), "image": datasets.Image()}``. Pixels
                become PNG; ``bytes`` that are files of pictures stay as they are.
            limit: How many elements at most; all by default.
            text: Whether columns of ``bytes`` that are all UTF-8 become text.
            cache_dir: Where to put the file; by default in the cache of ``datasets``. Nobody
                removes it, as with other files there.

        Example:
            >>> ds = Dataset.range(3).map(lambda x: {"x": x, "name": f"no. {x}"})
            >>> theirs = ds.to_hf()
            >>> theirs.features
            {'x': Value('int64'), 'name': Value('string')}
            >>> theirs[2]
            {'x': 2, 'name': 'no. 2'}
        """
        framework("datasets", "to_hf")
        import keepset.adapters.huggingface.pipeline as adapter

        schema, batches, narrow = memory_tables().plain_stream(self._node, limit, text)
        return adapter.to_hf(schema, batches, features, narrow, cache_dir)
