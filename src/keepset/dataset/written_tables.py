"""Writing data sets to files of tables."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from typing import Any

from keepset.core.node import Node
from keepset.errors import InvalidArgumentError
from keepset.exchange.arrow import file as arrow_file
from keepset.exchange.files.exporting import export
from keepset.exchange.tables import parquet
from keepset.exchange.tables.csv import delimiter_of
from keepset.exchange.tables.csv_writer import CsvWriter
from keepset.exchange.tables.json_writer import JsonLinesWriter
from keepset.storage import path_text


def write_parquet(
    node: Node,
    path: str | os.PathLike[str],
    compression: str | None,
    row_group_bytes: int,
    text: bool | str | Sequence[str],
    progress: bool | None,
    options: dict[str, Any],
) -> int:
    parquet.compression_named(compression)
    if row_group_bytes < 1:
        raise InvalidArgumentError(f"row_group_bytes={row_group_bytes} must be at least 1")
    opened = partial(
        parquet.ParquetWriter,
        compression=compression,
        row_group_bytes=row_group_bytes,
        text=text,
    )
    return export(node, path, opened, progress=progress, options=options)


def write_arrow(
    node: Node,
    path: str | os.PathLike[str],
    compression: str | None,
    text: bool | str | Sequence[str],
    progress: bool | None,
    options: dict[str, Any],
) -> int:
    arrow_file.compression_named(compression)
    opened = partial(arrow_file.ArrowWriter, compression=compression, text=text)
    return export(node, path, opened, progress=progress, options=options)


def write_csv(
    node: Node,
    path: str | os.PathLike[str],
    delimiter: str | None,
    header: bool,
    progress: bool | None,
    options: dict[str, Any],
) -> int:
    name = path_text(path)
    chosen = delimiter_of(name) if delimiter is None else delimiter
    if len(chosen) != 1 or not chosen.isascii() or chosen in '\r\n"':
        raise InvalidArgumentError(
            f"delimiter={delimiter!r} must be a single ASCII character other than a quote"
        )
    opened = partial(CsvWriter, delimiter=chosen, header=header, is_compressed=name.endswith(".gz"))
    return export(node, path, opened, progress=progress, options=options)


def write_json_lines(
    node: Node, path: str | os.PathLike[str], progress: bool | None, options: dict[str, Any]
) -> int:
    opened = partial(JsonLinesWriter, is_compressed=path_text(path).endswith(".gz"))
    return export(node, path, opened, progress=progress, options=options)
