"""Files as users name them, and the stage that names them to those who read them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from keepset.core.node import Node
from keepset.dataset.base import BaseDataset
from keepset.exchange.files.file_names import file_names, is_local, store_of
from keepset.exchange.files.remote_files import RemoteFiles
from keepset.nodes.from_tensor_slices import FromTensorSlices
from keepset.nodes.list_files import ListFiles

Files: TypeAlias = str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | BaseDataset


def named_files(files: Any, options: Mapping[str, Any]) -> Node:
    """The stage that names files: those of a dataset, or patterns and folders resolved now."""
    if isinstance(files, BaseDataset):
        return files.__keepset_node__()
    if isinstance(files, np.ndarray):
        files = files.ravel().tolist()
    return naming(file_names(files, dict(options), folders=True), options)


def naming(names: Sequence[str], options: Mapping[str, Any] | None = None) -> Node:
    """The stage that names these files."""
    if options and names:
        store_of(names[0], dict(options))  # an option that is unknown is an error now, not later
    tensors = np.empty(len(names), object)
    tensors[:] = [os.fsencode(each) for each in names]
    if all(map(is_local, names)):
        # Files on a disk count by their content when somebody asks what a pipeline reads.
        return ListFiles(tensors=tensors) if names else FromTensorSlices(tensors=tensors)
    return RemoteFiles(tensors=tensors, store_options=dict(options or {}) or None)


def chosen(columns: Sequence[str] | None) -> tuple[str, ...] | None:
    """Names of columns as a stage keeps them."""
    if columns is None:
        return None
    return (columns,) if isinstance(columns, str) else tuple(columns)
