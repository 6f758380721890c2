"""Writing data sets to files of arrays."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

from keepset.core.node import Node
from keepset.exchange.arrays.npy import NpyWriter
from keepset.exchange.arrays.npz import NpzWriter
from keepset.exchange.files.exporting import export
from keepset.exchange.hdf5.writer import Hdf5Writer, check_hdf5_arguments


def write_npy(
    node: Node, path: str | os.PathLike[str], progress: bool | None, options: dict[str, Any]
) -> int:
    return export(node, path, NpyWriter, progress=progress, options=options)


def write_npz(
    node: Node,
    path: str | os.PathLike[str],
    compressed: bool,
    progress: bool | None,
    options: dict[str, Any],
) -> int:
    writer = partial(NpzWriter, compressed=compressed)
    return export(node, path, writer, progress=progress, options=options)


def write_hdf5(
    node: Node,
    path: str | os.PathLike[str],
    group: str,
    compression: str | None,
    chunk_rows: int | None,
    progress: bool | None,
    options: dict[str, Any],
) -> int:
    check_hdf5_arguments(compression, chunk_rows)
    writer = partial(Hdf5Writer, group=group, compression=compression, chunk_rows=chunk_rows)
    return export(node, path, writer, progress=progress, options=options)
