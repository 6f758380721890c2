"""Image labels: the numbers of pictures, by the folders that they are in or by a file."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from keepset.core.dtypes import Array
from keepset.errors import InvalidArgumentError
from keepset.exchange.files.file_names import is_local
from keepset.exchange.images.path_list import lines_of, resolved
from keepset.exchange.images.sources import ImageFiles, sub_folders
from keepset.storage.private_url import private_url

_HEADS = ("label", "labels", "class")


class Labels(NamedTuple):
    """A number for each file, and what the numbers stand for, if it is names."""

    numbers: Array
    class_names: tuple[str, ...] | None


def by_folder(files: ImageFiles, class_names: Sequence[str] | None) -> Labels:
    """By the folder below the one that was searched, or else the one that a file is in."""
    root = files.folder
    folder_of = _last_folder if root is None else _first_folder(root)
    folders = [folder_of(name) for name in files.names]
    if class_names is None:
        class_names = sorted(set(folders)) if root is None else sub_folders(root, files.names)
    return _numbered(folders, files.names, class_names)


def _first_folder(root: str) -> Callable[[str], str]:
    start = len(root.rstrip("/")) + 1

    def folder_of(name: str) -> str:
        folder, slash, _ = name[start:].partition("/")
        if not slash:
            raise InvalidArgumentError(
                f"{private_url(name)} lies in no sub-folder of {private_url(root)}, and so has no "
                "label; pass labels=None to read pictures without labels, or a file or a function "
                "that knows them"
            )
        return folder

    return folder_of


def _last_folder(name: str) -> str:
    path = os.path.abspath(name) if is_local(name) else name
    return path.rpartition("/")[0].rpartition("/")[2]


def by_file(
    files: ImageFiles, label_file: str, class_names: Sequence[str] | None, options: dict[str, Any]
) -> Labels:
    """By a file with lines such as ``path,label`` or ``path label``: a number or a name each."""
    if is_local(label_file) and not os.path.isfile(label_file):
        raise InvalidArgumentError(
            f"labels={label_file!r} is no file that exists; pass 'folder', a file of paths and "
            "labels, a function, or None"
        )
    listed = {_identity(path): label for path, label in labelled_paths(label_file, options)}
    labels = []
    for name in files.names:
        label = listed.get(_identity(name))
        if label is None:
            raise InvalidArgumentError(
                f"{private_url(label_file)} has no label for {private_url(name)}; add the line, or "
                "leave the file out"
            )
        labels.append(label)
    if class_names is None:
        try:
            return Labels(np.array([int(label) for label in labels], np.int64), None)
        except (ValueError, OverflowError):
            class_names = sorted(set(labels))
    return _numbered(labels, files.names, class_names)


def labelled_paths(label_file: str, options: dict[str, Any]) -> list[tuple[str, str]]:
    """The files that a file of labels names, each with its label."""
    lines = [(n, line) for n, line in enumerate(lines_of(label_file, options), 1) if line.strip()]
    has_commas = label_file.endswith(".csv") or all("," in line for _, line in lines)
    found = []
    for number, line in lines:
        path, label = _by_comma(line) if has_commas else _by_space(line)
        if not path or not label:
            raise InvalidArgumentError(
                f"{private_url(label_file)}: line {number} is {line!r:.60}, and a path and a "
                "label are needed, with a comma or a space between them"
            )
        if number == 1 and has_commas and label.lower() in _HEADS:
            continue
        found.append((resolved(path, label_file), label))
    return found


def _by_comma(line: str) -> tuple[str, str]:
    *path, label = next(csv.reader([line]))
    return ",".join(path), label.strip()


def _by_space(line: str) -> tuple[str, str]:
    path, *label = line.rsplit(None, 1)
    return path, "".join(label)


def _identity(name: str) -> str:
    """The same for two ways to write a path."""
    return os.path.abspath(name) if is_local(name) else name


def _numbered(labels: Iterable[str], names: Sequence[str], class_names: Sequence[str]) -> Labels:
    numbers = {name: number for number, name in enumerate(class_names)}
    if len(numbers) < len(class_names):
        raise InvalidArgumentError(f"class_names has a name twice: {list(class_names)!r:.80}")
    found = []
    for label, name in zip(labels, names, strict=True):
        if label not in numbers:
            raise InvalidArgumentError(
                f"{private_url(name)} is of the class {label!r}, which class_names does not have: "
                f"{list(class_names)!r:.200}"
            )
        found.append(numbers[label])
    return Labels(np.array(found, np.int64), tuple(class_names))
