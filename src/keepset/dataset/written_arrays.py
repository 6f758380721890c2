"""Writing data sets to files of other formats."""

from __future__ import annotations

import os
from typing import Any

from keepset.core.node import Node
from keepset.exchange.exporting import export
from keepset.exchange.npy import NpyWriter


def write_npy(
    node: Node, path: str | os.PathLike[str], progress: bool | None, options: dict[str, Any]
) -> int:
    return export(node, path, NpyWriter, progress=progress, options=options)
