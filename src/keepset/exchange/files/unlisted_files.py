"""Files that a reader is given by name, though no stage before it says how they stand."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np

from keepset.core.node import Node
from keepset.core.structure import structure_of
from keepset.errors import InvalidArgumentError
from keepset.exchange.files.file_names import is_local
from keepset.exchange.files.remote_files import RemoteFiles
from keepset.nodes.from_tensor_slices import FromTensorSlices
from keepset.storage import path_text
from keepset.storage.files import look_at


def unlisted_files(parent: Node, store_options: Any) -> Any:
    """How the files stand whose names are elements of a source before ``parent``; None without any.

    ``list_files`` and the readers themselves make sources that know it. Names in an array, shuffled
    or not, are looked up here. Names that a function makes are not seen.
    """
    names = {path for node in parent.walk() for path in _paths(node)}
    local = sorted(name for name in names if is_local(os.fsdecode(name)) and os.path.isfile(name))
    remote = sorted(name for name in names if not is_local(os.fsdecode(name)))
    found: list[Any] = [look_at(local).stamp] if local else []
    if remote:
        tensors = np.empty(len(remote), object)
        tensors[:] = remote
        found.append(RemoteFiles(tensors=tensors, store_options=store_options).outside)
    return found or None


def _paths(node: Node) -> Iterator[bytes]:
    for name in _names(node):
        # Text that cannot be a path may stand beside the names; a reader that opens it says so.
        with suppress(InvalidArgumentError):
            yield os.fsencode(path_text(os.fsdecode(name)))


def _names(node: Node) -> list[bytes]:
    """The elements of a source that may be names: those of an array, or the first of several."""
    if type(node) is not FromTensorSlices:
        return []
    first = structure_of(node.tensors).leaves(node.tensors)[0]
    is_text = isinstance(first, np.ndarray) and first.dtype == object and first.ndim == 1
    return [name for name in first.tolist() if isinstance(name, bytes)] if is_text else []
