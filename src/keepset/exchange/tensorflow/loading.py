"""Loading what TensorFlow kept: the stage that gives it, made of what a user passes."""

from __future__ import annotations

import os
from typing import Any

from keepset.core.chunk import Chunk
from keepset.core.node import Node
from keepset.core.spec import check_spec
from keepset.errors import SnapshotMismatchError
from keepset.exchange.tensorflow.compression import NAMES, NONE
from keepset.exchange.tensorflow.frames import SNAPPY_ELEMENTS
from keepset.exchange.tensorflow.saved_dataset import TensorflowSaved, layout_of
from keepset.exchange.tensorflow.saved_files import SavedFiles, find_files
from keepset.nodes.rows import Rows
from keepset.storage import open_store


def load_tensorflow(
    path: str | os.PathLike[str],
    *,
    element_spec: Any,
    compression: str | None,
    fingerprint: str | None,
    verify: bool,
    partial: bool,
    options: dict[str, Any],
) -> Node | None:
    """What TensorFlow kept at a path; None if there is nothing of it."""
    store = open_store(path, **options)
    files = find_files(store, fingerprint, partial)
    if files is None:
        return None
    _check_compression(files, compression)
    spec = None if element_spec is None else check_spec(element_spec)
    layout = layout_of(files, spec, open_store(files.url, **options))
    if not layout.leaves and files.spec is not None:
        # Nothing is stored of elements that have no tensors, but for their number.
        nothing = Chunk.from_columns(layout.structure, [], files.num_elements or 0)
        return Rows(chunk=nothing, promised=files.spec)
    return TensorflowSaved(saved=files, layout=layout, store_options=options or None, verify=verify)


def shards_of_saved(node: Node) -> list[Node]:
    """Each shard by itself."""
    if not isinstance(node, TensorflowSaved):
        return [node]
    return [
        TensorflowSaved(
            saved=node.saved,
            layout=node.layout,
            store_options=node.store_options,
            verify=node.verify,
            shard=shard,
        )
        for shard in range(len(node.saved.shards))
    ]


def _check_compression(files: SavedFiles, compression: str | None) -> None:
    asked = (compression or "").upper()
    used = "SNAPPY" if files.compression == SNAPPY_ELEMENTS else files.compression
    if asked in (NONE, "AUTO", used) or not any(files.shards):
        return
    known = "none" if used == NONE else used
    if asked not in NAMES and used == NONE:
        return  # a name that TensorFlow does not know makes it compress nothing
    raise SnapshotMismatchError(
        f"{files.url} is kept with the compression {known}, not {asked}; leave compression out, it "
        "is known from the files"
    )
