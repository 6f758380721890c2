"""list_files: the files that match patterns, listed when the pipeline is built."""

from __future__ import annotations

import glob
import os
from typing import Any

import numpy as np

from keepset.core.node import Node, stage
from keepset.core.parameter import parameter
from keepset.core.random import Randomness
from keepset.errors import InvalidArgumentError, NoFilesError
from keepset.nodes.from_tensor_slices import FromTensorSlices
from keepset.nodes.global_shuffle import GlobalShuffle
from keepset.storage import found_name, path_text


@stage
class ListFiles(FromTensorSlices):
    """The names of files. What is kept of them is used as long as their content is the same."""

    # Whether the order behind it is that of list_files(shuffle=True), for messages.
    is_shuffled: bool = parameter(default=False, identity=False, recipe=False)

    @property
    def file_names(self) -> list[bytes]:
        names: list[bytes] = self.tensors.tolist()
        return names


def listed_files(
    file_pattern: Any,
    *,
    shuffle: bool | None = None,
    seed: int | None = None,
    name: str | None = None,
) -> Node:
    """The names of all matching files, as bytes; in random order unless ``shuffle=False``.

    As in TensorFlow, wildcards match names that begin with a dot too, and a file that matches two
    patterns is there twice.

    Args:
        file_pattern: A pattern, or several of them.
        shuffle: False sorts by name; otherwise every pass has an order of its own.
        seed: Fixes these orders.

    Raises:
        NoFilesError: No file matches any of the patterns.
    """
    patterns = _patterns(file_pattern)
    listed = (found_name(f) for p in patterns for f in glob.glob(p, include_hidden=True))
    found = list(map(os.fsencode, listed))
    if not found:
        shown = ", ".join(map(repr, patterns))
        raise NoFilesError(
            f"no file matches {shown}; check the pattern and the working directory, {os.getcwd()}"
        )
    names = np.empty(len(found), object)
    names[:] = sorted(found)
    files: Node = ListFiles(tensors=names, name=name, is_shuffled=shuffle is not False)
    if shuffle is False:
        return files
    return GlobalShuffle(parent=files, source=Randomness(seed), name=name)


def _patterns(value: Any) -> list[str]:
    values = [value] if isinstance(value, str | bytes | os.PathLike) else list(value)
    try:
        return [path_text(os.fsdecode(item)) for item in values]
    except TypeError as error:
        raise InvalidArgumentError(
            f"file_pattern must be a path pattern or a list of them, not {value!r:.80}"
        ) from error
