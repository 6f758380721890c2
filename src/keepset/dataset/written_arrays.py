"""Writing data sets to files of arrays."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

from keepset.core.node import Node
from keepset.exchange.exporting import export
from keepset.exchange.npy import NpyWriter
from keepset.exchange.npz import NpzWriter


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
