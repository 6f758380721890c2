"""Path lists: text files with the path of one file in each line.

Relative paths are relative to the folder of the list, so that it can be moved with the files.
"""

from __future__ import annotations

import os
from operator import eq
from typing import Any, BinaryIO, Final

import numpy as np

from keepset.core.chunk import Chunk
from keepset.core.chunk_spec import check_covered
from keepset.core.dtypes import string
from keepset.core.spec import Spec, TensorSpec
from keepset.core.structure import structure_of
from keepset.errors import CorruptRecordError, ElementError
from keepset.exchange.files.exporting import RowWriter
from keepset.exchange.files.file_names import is_local, store_of
from keepset.storage import path_text
from keepset.storage.private_url import private_url

_PATH: Final = "path"
_TEXT: Final = TensorSpec((), string)


def parse_path_list(name: str, options: dict[str, Any] | None = None) -> list[str]:
    """The files that a list names; empty lines do not count."""
    return [resolved(line, name) for line in lines_of(name, options) if line.strip()]


def lines_of(name: str, options: dict[str, Any] | None) -> list[str]:
    """The lines of a text file in UTF-8."""
    store, file = store_of(name, options)
    data = store.read(file)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        shown = private_url(name)
        raise CorruptRecordError(
            f"{shown}: line {line} is not UTF-8 text; a list has the path of one file in each "
            "line, in UTF-8",
            path=shown,
            record=line,
            byte=error.start,
        ) from error
    return [line.removesuffix("\r") for line in text.split("\n")]


def resolved(path: str, list_name: str) -> str:
    """A path of a list as one that can be opened from here."""
    path = path_text(path)
    if not is_local(path) or os.path.isabs(path):
        return path
    folder = list_name.rpartition("/")[0]
    if is_local(list_name):
        return os.path.join(os.path.dirname(list_name), path)
    return f"{folder}/{path}"


class PathListWriter(RowWriter):
    """Writes paths, or the ``path`` of dicts, one in each line."""

    def __init__(self, file: BinaryIO, spec: Spec, list_name: str) -> None:
        self._file, self._list_name = file, list_name
        self._folder = list_name.rpartition("/")[0]
        self._is_dict = isinstance(spec, dict)
        leaf = spec.get(_PATH) if isinstance(spec, dict) else spec
        if leaf != _TEXT:
            raise ElementError(
                f"a list holds paths, or the entry {_PATH!r} of dicts, and elements are {spec}; "
                "bring them to that with map"
            )

    def write(self, chunk: Chunk) -> None:
        paths = chunk.select((_PATH,)) if self._is_dict else chunk
        structure = structure_of({_PATH: _TEXT} if self._is_dict else _TEXT)
        check_covered(paths, structure, [_TEXT], eq, "a path is", "make a text of it with map")
        lines = []
        for row, path in enumerate(np.asarray(paths.columns[0]).tolist()):
            try:
                lines.append(self._line(os.fsdecode(path)))
            except ElementError as error:
                error.row = row
                raise
        self._file.write("".join(lines).encode("utf-8"))

    def _line(self, path: str) -> str:
        listed = self._listed(path)
        try:
            listed.encode("utf-8")
        except UnicodeEncodeError as error:
            raise ElementError(f"{path!r} is not UTF-8, as the paths of a list are") from error
        if not listed.strip() or "\n" in listed or listed.endswith("\r"):
            raise ElementError(f"{path!r} cannot be in a list that has one path in each line")
        return listed + "\n"

    def _listed(self, path: str) -> str:
        """Relative to the list if it lies below it or was relative before."""
        path = path_text(path)
        if not is_local(self._list_name):
            return path.removeprefix(f"{self._folder}/")
        if not is_local(path) or not path:
            return path
        folder = os.path.dirname(os.path.abspath(self._list_name))
        whole = os.path.abspath(path)
        if os.path.isabs(path) and os.path.commonpath([whole, folder]) != folder:
            return path
        return os.path.relpath(whole, folder)

    def finish(self) -> None:
        self._file.flush()
