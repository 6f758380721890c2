"""``tf.io.gfile``: files by path or url, as far as pipelines need them."""

from __future__ import annotations

import glob as local_glob
import io
import os
import shutil
from typing import Any

from keepset.errors import NoFilesError
from keepset.exchange.files.file_names import file_names, is_local, store_of
from keepset.storage import open_store
from keepset.tf.not_covered import not_covered


def _text(path: Any) -> str:
    return os.fsdecode(path)


def exists(path: Any) -> bool:
    """Whether there is a file or a folder."""
    name = _text(path)
    if is_local(name):
        return os.path.exists(name)
    store, file = store_of(name.rstrip("/"), None)
    return store.exists(file) or isdir(name)


def isdir(path: Any) -> bool:
    name = _text(path)
    if is_local(name):
        return os.path.isdir(name)
    return any(True for _ in open_store(name.rstrip("/")).list(""))


def glob(pattern: Any) -> list[str]:
    """The files that match one or more patterns, by name."""
    patterns = [pattern] if isinstance(pattern, str | bytes | os.PathLike) else list(pattern)
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


def listdir(path: Any) -> list[str]:
    """What is right below a folder."""
    name = _text(path)
    if is_local(name):
        return sorted(os.listdir(name))
    return sorted({info.name.partition("/")[0] for info in open_store(name.rstrip("/")).list("")})


def makedirs(path: Any) -> None:
    if is_local(_text(path)):
        os.makedirs(_text(path), exist_ok=True)


mkdir = makedirs


def remove(path: Any) -> None:
    store, file = store_of(_text(path), None)
    store.size(file)  # an error if it is not there
    store.delete([file])


def rmtree(path: Any) -> None:
    name = _text(path)
    if is_local(name):
        shutil.rmtree(name)
        return
    store = open_store(name.rstrip("/"))
    store.delete([info.name for info in store.list("")])


def copy(src: Any, dst: Any, overwrite: bool = False) -> None:
    source, name = store_of(_text(src), None)
    target, file = store_of(_text(dst), None)
    if not overwrite and target.exists(file):
        raise FileExistsError(f"{_text(dst)} exists; pass overwrite=True to replace it")
    target.put(file, source.read(name))


def rename(src: Any, dst: Any, overwrite: bool = False) -> None:
    copy(src, dst, overwrite)
    remove(src)


def join(path: Any, *parts: Any) -> str:
    name = _text(path)
    if is_local(name):
        return os.path.join(name, *map(_text, parts))
    return "/".join([name.rstrip("/"), *map(_text, parts)])


class GFile:
    """A file that is read or written as a whole, here or in an object store."""

    def __init__(self, name: Any, mode: str = "r") -> None:
        if mode.replace("b", "") not in ("r", "w"):
            raise ValueError(f"mode {mode!r} is not covered; choose 'r', 'rb', 'w' or 'wb'")
        self._store, self._file = store_of(_text(name), None)
        self._mode = mode
        self._stream: Any = io.BytesIO()
        if "r" in mode:
            data = self._store.read(self._file)
            self._stream = io.BytesIO(data) if "b" in mode else io.StringIO(data.decode())
        elif "b" not in mode:
            self._stream = io.StringIO()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __iter__(self) -> Any:
        return iter(self._stream)

    def size(self) -> int:
        return self._store.size(self._file)

    def close(self) -> None:
        """Write what was put in, if it was opened for that."""
        if "w" in self._mode and not self._stream.closed:
            value = self._stream.getvalue()
            self._store.put(self._file, value if isinstance(value, bytes) else value.encode())
        self._stream.close()

    def __enter__(self) -> GFile:
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if error is None:
            self.close()


__all__ = [
    "GFile",
    "copy",
    "exists",
    "glob",
    "isdir",
    "join",
    "listdir",
    "makedirs",
    "mkdir",
    "remove",
    "rename",
    "rmtree",
]

__getattr__ = not_covered("tf.io.gfile")
