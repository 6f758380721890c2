"""Writing data sets to files of tables."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from typing import Any

from keepset.core.node import Node
from keepset.errors import InvalidArgumentError
from keepset.exchange import arrow_file, parquet
from keepset.exchange.exporting import export


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
