"""``tf.io.gfile``: files by path or url, as far as pipelines need them. Paths may be tensors."""

from __future__ import annotations

import glob as local_glob
import os
import shutil
from collections.abc import Iterator
from typing import Any, NamedTuple

from keepset.errors import NoFilesError
from keepset.exchange.files.file_names import file_names, is_local, store_of
from keepset.storage import open_store
from keepset.tf.error_names import translation
from keepset.tf.files.file_places import place_of
from keepset.tf.files.gfile_stream import GFile
from keepset.tf.not_covered import not_covered
from keepset.tf.tensors.elements import untensored

__all__ = [
    "GFile",
    "copy",
    "exists",
    "get_registered_schemes",
    "glob",
    "isdir",
    "join",
    "listdir",
    "makedirs",
    "mkdir",
    "remove",
    "rename",
    "rmtree",
    "stat",
    "walk",
]


class _FileStatistics(NamedTuple):
    """What ``stat`` tells: the size in bytes, and when it was changed, in nanoseconds."""

    length: int
    mtime_nsec: int
    is_directory: bool


def _text(path: Any) -> str:
    return os.fsdecode(untensored(path))


@translation()
def exists(path: Any) -> bool:
    """Whether there is a file or a folder."""
    name = _text(path)
    if is_local(name):
        return os.path.exists(name)
    store, file = store_of(name.rstrip("/"), None)
    return store.exists(file) or isdir(name)


@translation()
def isdir(path: Any) -> bool:
    """Whether there is a folder; in an object store, whether a name begins so."""
    name = _text(path)
    if is_local(name):
        return os.path.isdir(name)
    return any(True for _ in open_store(name.rstrip("/")).list(""))


@translation()
def glob(pattern: Any) -> list[str]:
    """The files that match one or more patterns, by name."""
    is_one = isinstance(pattern, str | bytes | os.PathLike) or not hasattr(pattern, "__len__")
    patterns = [pattern] if is_one or not getattr(pattern, "shape", True) else list(pattern)
    found: list[str] = []
    for each in map(_text, patterns):
        if is_local(each):
            found += sorted(local_glob.glob(each))
            continue
        try:
            found += file_names(each, {})
        except NoFilesError:
            continue  # no match is an answer here
    return found


@translation()
def listdir(path: Any) -> list[str]:
    """What is right below a folder, by name."""
    name = _text(path)
    if is_local(name):
        return sorted(os.listdir(name))
    return sorted({info.name.partition("/")[0] for info in open_store(name.rstrip("/")).list("")})


def walk(
    top: Any, topdown: bool = True, onerror: Any = None
) -> Iterator[tuple[str, list[str], list[str]]]:
    """Each folder below one, with the names of the folders and files in it."""
    name = _text(top)
    try:
        found = listdir(name)
    except OSError as error:
        if onerror is not None:
            onerror(error)
        return
    folders = [each for each in found if isdir(join(name, each))]
    here = name, folders, [each for each in found if each not in folders]
    if topdown:
        yield here
    for folder in folders:
        yield from walk(join(name, folder), topdown, onerror)
    if not topdown:
        yield here


@translation()
def stat(path: Any) -> _FileStatistics:
    """The size and the time of a file."""
    name = _text(path)
    if is_local(name):
        found = os.stat(name)
        return _FileStatistics(found.st_size, found.st_mtime_ns, os.path.isdir(name))
    if isdir(name):
        return _FileStatistics(0, 0, True)
    store, file = place_of(name)
    return _FileStatistics(store.size(file), 0, False)


@translation()
def mkdir(path: Any) -> None:
    """Make a folder in one that is there; nothing if it is there itself."""
    name = _text(path)
    if is_local(name) and not os.path.isdir(name):
        os.mkdir(name)


@translation()
def makedirs(path: Any) -> None:
    """Make a folder, and those above it."""
    if is_local(_text(path)):
        os.makedirs(_text(path), exist_ok=True)


@translation()
def remove(path: Any) -> None:
    """Delete a file."""
    name = _text(path)
    if is_local(name):
        os.remove(name)
        return
    store, file = place_of(name)
    store.size(file)  # an error if it is not there
    store.delete([file])


@translation()
def rmtree(path: Any) -> None:
    """Delete a folder with all that is in it."""
    name = _text(path)
    if is_local(name):
        shutil.rmtree(name)
        return
    store = open_store(name.rstrip("/"))
    store.delete([info.name for info in store.list("")])


@translation()
def copy(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Copy a file."""
    source, name = place_of(_text(src))
    _refuse_existing(dst, overwrite)
    target, file = place_of(_text(dst))
    target.put(file, source.read(name))


@translation()
def rename(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Give a file another name; here also a folder."""
    _refuse_existing(dst, overwrite)
    if is_local(_text(src)) and is_local(_text(dst)):
        os.replace(_text(src), _text(dst))
        return
    copy(src, dst, overwrite)
    remove(src)


def _refuse_existing(path: Any, overwrite: bool) -> None:
    if not overwrite and exists(path):
        raise FileExistsError(f"{_text(path)} exists; pass overwrite=True to replace it")


def join(path: Any, *parts: Any) -> str:
    """A path of several parts."""
    name = _text(path)
    if is_local(name):
        return os.path.join(name, *map(_text, parts))
    return "/".join([name.rstrip("/"), *map(_text, parts)])


def get_registered_schemes() -> list[str]:
    """The beginnings of urls that are known."""
    return ["", "file", "s3", "gs", "memory"]


__getattr__ = not_covered("tf.io.gfile")
