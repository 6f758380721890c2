"""Image sources: which files of pictures are meant by a folder, a pattern, a list of paths."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from keepset.errors import InvalidArgumentError, NoFilesError
from keepset.exchange.files.file_names import file_names, is_local
from keepset.exchange.images.path_list import parse_path_list
from keepset.exchange.images.pictures import ENDINGS
from keepset.storage import open_store, path_text
from keepset.storage.private_url import private_url

# What a file is called that has one path in each line; one without an ending is such a file, too.
_LISTS: Final = ("txt", "csv", "tsv", "lst", "list")


class ImageFiles(NamedTuple):
    """Names of files, and the folder that all of them were found in, if that is how it was."""

    names: list[str]
    folder: str | None = None


def image_files(source: Any, options: dict[str, Any]) -> ImageFiles:
    """The files that are meant: by a folder, a pattern, a list, or a file that lists them.

    Raises:
        NoFilesError: There is none.
    """
    if not isinstance(source, str | bytes | os.PathLike):
        return _filled(file_names(source, options), source)
    name = path_text(os.fsdecode(source))
    if is_local(name):
        if os.path.isdir(name):
            return in_folder(name, options)
        if os.path.isfile(name) and not is_picture(name):
            _check_list_name(name)
            return _filled(parse_path_list(name, options), source)
        return _filled(_existing(file_names(name, options)), source)
    if any(sign in name for sign in "*?["):
        return _filled(file_names(name, options), source)
    if is_picture(name):
        return ImageFiles([name])
    if _ending(name) in _LISTS:
        return _filled(parse_path_list(name, options), source)
    return in_folder(name, options)


def is_picture(name: str) -> bool:
    """Whether a file is called like a picture."""
    return _ending(name) in ENDINGS


def _ending(name: str) -> str:
    return os.path.splitext(name)[1][1:].lower()


def _check_list_name(name: str) -> None:
    """Raise an error for a file that is called neither like a picture nor like a list."""
    if (ending := _ending(name)) and ending not in _LISTS:
        raise InvalidArgumentError(
            f"{name} ends with '.{ending}', and is neither a picture that can be read "
            f"({', '.join(ENDINGS)}) nor a list of paths ({', '.join(_LISTS)}); convert the "
            "picture, or pass ks.read_path_list(path) if it is a list"
        )


def in_folder(folder: str, options: dict[str, Any]) -> ImageFiles:
    """The pictures below a folder, in the order of their names; hidden ones do not count."""
    root = folder.rstrip("/") or "/"
    found = (info.name for info in open_store(root, **options).list())
    names = [_joined(root, name) for name in found if is_picture(name) and not _is_hidden(name)]
    if not names:
        raise NoFilesError(
            f"there are no pictures below {private_url(folder)!r}: no file ends with one of "
            f"{', '.join(ENDINGS)}; check the folder"
        )
    return ImageFiles(names, root)


def sub_folders(folder: str, names: Iterable[str]) -> list[str]:
    """The folders in a folder that holds these files, sorted; on a disk, empty ones as well."""
    start = len(_joined(folder, ""))
    found = {name[start:].partition("/")[0] for name in names if "/" in name[start:]}
    if is_local(folder):
        with os.scandir(folder) as entries:
            found |= {e.name for e in entries if e.is_dir() and not _is_hidden(e.name)}
    return sorted(found)


def _joined(folder: str, name: str) -> str:
    return f"{folder.rstrip('/')}/{name}"


def _is_hidden(name: str) -> bool:
    return name.startswith(".") or "/." in name


def _existing(names: list[str]) -> list[str]:
    for name in names:
        if not os.path.exists(name):
            raise NoFilesError(f"there is no file or folder {name!r}; check the path")
    return names


def _filled(names: list[str], source: Any) -> ImageFiles:
    if not names:
        raise NoFilesError(f"{source!r:.80} names no pictures")
    return ImageFiles(names)
