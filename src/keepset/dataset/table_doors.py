"""Methods that write tables: CSV, JSON lines, Parquet, Arrow."""

from __future__ import annotations

import os
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from keepset.dataset.base import BaseDataset


def written_tables() -> ModuleType:
    """The module that does the work; those who write no such files need not wait for it."""
    import keepset.dataset.written_tables as module

    return module


class TableDoors(BaseDataset):
    """Ways out to files of tables."""

    __slots__ = ()

    def write_parquet(
        self,
        path: str | os.PathLike[str],
        *,
        compression: str | None = "zstd",
        row_group_bytes: int = 32 << 20,
        text: bool | str | Sequence[str] = (),
        progress: bool | None = None,
        **options: Any,
    ) -> int:
        """Write all elements to a Parquet file; how many there were.

        Each leaf is a column that other readers know: ``features.mean`` for an entry of a nested
        dict, ``0`` and ``1`` for the items of tuples, ``value`` for elements that are single
        values. ``read_parquet`` gives the elements back exactly as they were. The file takes its
        name when it is whole.

        Args:
            path: The file, or the url of an object.
            compression: ``"zstd"``, ``"snappy"``, ``"gzip"``, ``"lz4"``, ``"brotli"`` or None.
            row_group_bytes: About how much memory the rows take that are written together, and
                decoded together by those who want one of them.
            text: Columns of ``bytes`` that are written as text, in UTF-8; True for all.
            progress: Whether to show how far it is; by default if standard error is a terminal.
            options: For an object store: credentials, endpoint and such.

        Example:
            >>> import tempfile
            >>> import pyarrow.parquet as pq
            >>> from keepset import Dataset
            >>> path = tempfile.mkdtemp() + "/some.parquet"
            >>> ds = Dataset.range(2).map(lambda x: {"x": x, "name": f"no. {x}"})
            >>> ds.write_parquet(path, text=True)
            2
            >>> pq.read_table(path).to_pylist()
            [{'x': 0, 'name': 'no. 0'}, {'x': 1, 'name': 'no. 1'}]
        """
        written: int = written_tables().write_parquet(
            self._node, path, compression, row_group_bytes, text, progress, options
        )
        return written

    def write_arrow(
        self,
        path: str | os.PathLike[str],
        *,
        compression: str | None = None,
        text: bool | str | Sequence[str] = (),
        progress: bool | None = None,
        **options: Any,
    ) -> int:
        """Write all elements to an Arrow IPC file, which is a Feather file; how many there were.

        The columns are those of ``write_parquet``. What is not compressed is read without a copy.
        The file takes its name when it is whole.

        Args:
            path: The file, or the url of an object.
            compression: ``"lz4"``, ``"zstd"`` or None.
            text: Columns of ``bytes`` that are written as text, in UTF-8; True for all.
            progress: Whether to show how far it is; by default if standard error is a terminal.
            options: For an object store: credentials, endpoint and such.

        Example:
            >>> import tempfile
            >>> import pyarrow as pa
            >>> from keepset import Dataset
            >>> path = tempfile.mkdtemp() + "/some.arrow"
            >>> Dataset.range(3).map(lambda x: {"x": x}).write_arrow(path)
            3
            >>> pa.ipc.open_file(path).read_all().to_pydict()
            {'x': [0, 1, 2]}
        """
        written: int = written_tables().write_arrow(
            self._node, path, compression, text, progress, options
        )
        return written

    def write_csv(
        self,
        path: str | os.PathLike[str],
        *,
        delimiter: str | None = None,
        header: bool = True,
        progress: bool | None = None,
        **options: Any,
    ) -> int:
        """Write all elements, made of single numbers and texts, as CSV; how many there were.

        Entries of nested dicts are columns called ``outer.inner``. Text stands in quotes, so that
        it may hold anything. The file takes its name when it is whole.

        Args:
            path: The file, or the url of an object. One that ends with ``.gz`` is compressed.
            delimiter: What separates columns; a tab for names that end with ``.tsv``, otherwise a
                comma.
            header: Whether the first line has the names of the columns.
            progress: Whether to show how far it is; by default if standard error is a terminal.
            options: For an object store: credentials, endpoint and such.

        Example:
            >>> import pathlib, tempfile
            >>> from keepset import Dataset
            >>> path = tempfile.mkdtemp() + "/some.csv"
            >>> Dataset.range(2).map(lambda x: {"x": x, "name": f"no. {x}"}).write_csv(path)
            2
            >>> print(pathlib.Path(path).read_text(), end="")
            "x","name"
            0,"no. 0"
            1,"no. 1"
        """
        written: int = written_tables().write_csv(
            self._node, path, delimiter, header, progress, options
        )
        return written

    def write_json_lines(
        self, path: str | os.PathLike[str], *, progress: bool | None = None, **options: Any
    ) -> int:
        """Write each element as a JSON object in a line of its own; how many there were.

        Arrays become lists, ``bytes`` text, times text as in ISO 8601; NaN and missing times become
        null. The file takes its name when it is whole.

        Args:
            path: The file, or the url of an object. One that ends with ``.gz`` is compressed.
            progress: Whether to show how far it is; by default if standard error is a terminal.
            options: For an object store: credentials, endpoint and such.

        Example:
            >>> import pathlib, tempfile
            >>> from keepset import Dataset
            >>> path = tempfile.mkdtemp() + "/some.jsonl"
            >>> Dataset.range(2).map(lambda x: {"x": [x, x], "name": "a"}).write_json_lines(path)
            2
            >>> print(pathlib.Path(path).read_text(), end="")
            {"x":[0,0],"name":"a"}
            {"x":[1,1],"name":"a"}
        """
        written: int = written_tables().write_json_lines(self._node, path, progress, options)
        return written
