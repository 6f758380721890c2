"""Names of files: a path or a url each, some with wildcards."""

from __future__ import annotations

import glob
import os
import re
from fnmatch import fnmatchcase
from typing import Any, Final

from keepset.errors import InvalidArgumentError, NoFilesError
from keepset.storage import Store, check_slashes, found_name, open_store, path_text
from keepset.storage.private_url import private_url, whole_url

_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_MAGIC: Final = re.compile(r"[*?\[]")
# In these, a question mark is where the query begins, such as a signature, which is no pattern.
_WEB: Final = re.compile(r"(https?://[^?]*)(\?.*)?", re.IGNORECASE | re.DOTALL)


def file_names(given: Any, options: dict[str, Any], *, folders: bool = False) -> list[str]:
    """The files that are meant, wildcards resolved, each pattern's in the order of their names.

    With ``folders``, one that is named stands for the files below it.

    Raises:
        NoFilesError: A pattern matches nothing, or a folder has nothing in it.
    """
    values = [given] if isinstance(given, str | bytes | os.PathLike) else list(given)
    names: list[str] = []
    for value in values:
        if not isinstance(value, str | bytes | os.PathLike):
            raise InvalidArgumentError(
                f"file names are texts or paths, not {type(value).__name__}: {value!r:.60}"
            )
        text = path_text(os.fsdecode(value))
        if folders and (os.path.isdir(text) if is_local(text) else text.endswith("/")):
            names += _below(text, options)
        else:
            names += _matches(text, options) if _MAGIC.search(_path(text)[0]) else [text]
    return names


def _below(folder: str, options: dict[str, Any]) -> list[str]:
    """The files of a folder and of those in it, but for what other tools put there beside data."""
    root = folder.rstrip("/") or "/"
    if is_local(folder):
        walked = ((place, name) for place, _, files in os.walk(root) for name in files)
        found = [os.path.relpath(os.path.join(place, name), root) for place, name in walked]
    else:
        found = [info.name for info in open_store(root, **options).list("")]
    shown = sorted(
        name for name in found if not any(part[:1] in "._" for part in name.split(os.sep))
    )
    if not shown:
        raise NoFilesError(f"there are no files in {private_url(folder)!r}; check the folder")
    partitions = [part for name in shown for part in name.split(os.sep)[:-1] if "=" in part]
    if partitions:
        raise InvalidArgumentError(
            f"{private_url(folder)!r} has folders such as {partitions[0]!r}, whose values are in "
            "no file and would be lost; read them with pyarrow.dataset and from_arrow, or name the "
            f"files, with the pattern {private_url(root + '/*/*')!r}, to do without"
        )
    return [url_of(root, name) for name in shown]


def url_of(folder: str, name: str) -> str:
    """The path or the url of a file in a folder, of which only urls of the web have a spelling."""
    if _WEB.match(folder):
        from urllib.parse import quote

        name = quote(name)
    return f"{folder.rstrip('/')}/{name}"


def _unquoted(text: str) -> str:
    from urllib.parse import unquote

    return unquote(text)


def _matches(pattern: str, options: dict[str, Any]) -> list[str]:
    if _SCHEME.match(pattern) is None:
        # A file may be called so.
        is_file = os.path.exists(pattern)
        found = [pattern] if is_file else sorted(map(found_name, glob.glob(pattern)))
    else:
        path, query = _path(pattern)
        folder = path[: _MAGIC.search(path).start()].rpartition("/")[0]  # type: ignore[union-attr]
        store = open_store(folder + query, **options)
        urls = (whole_url(store.object_url(info.name)) for info in store.list(""))
        plain = _unquoted if _WEB.match(pattern) else str
        found = [url + query for url in urls if fnmatchcase(plain(url), plain(path))]
    if not found:
        shown = private_url(pattern)
        raise NoFilesError(f"no file matches {shown!r}; check the pattern and the folder")
    return found


def store_of(name: str, options: dict[str, Any] | None) -> tuple[Store, str]:
    """The store that holds a file, and the file's name in it; ``~`` is a name as any other."""
    if is_local(name):
        folder, file = os.path.split(os.path.abspath(name))
    else:
        folder, file = folder_and_file(name)
    if not file:
        raise InvalidArgumentError(f"{private_url(name)!r} names a folder, and a file is needed")
    return open_store(folder, **(options or {})), file


def folder_and_file(url: str) -> tuple[str, str]:
    """The folder that a file is in, with the query of its url, and the name of the file.

    In that of the web, ``%20`` and the like are decoded, as they are in folders.
    """
    path, query = _path(url)
    folder, _, file = path.rpartition("/")
    return folder + query, _unquoted(file) if _WEB.match(url) else file


def _path(name: str) -> tuple[str, str]:
    """A name without the query of a url, and that."""
    found = _WEB.fullmatch(name)
    return (name, "") if found is None else (found[1], found[2] or "")


def is_local(name: str) -> bool:
    """Whether a name is a path and no URL; an error for a URL that has lost a slash."""
    check_slashes(name)
    return _SCHEME.match(name) is None
