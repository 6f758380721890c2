"""Methods that write tables: CSV, JSON lines, Parquet, Arrow."""

from __future__ import annotations

from keepset.dataset.base import BaseDataset


class TableDoors(BaseDataset):
    """Ways out to files of tables."""

    __slots__ = ()
