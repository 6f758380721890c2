"""Extensions: the user's own compiled modules, which count by the content of their file."""

from __future__ import annotations

import functools
import os
from types import ModuleType
from typing import Any

import xxhash

from keepset.core.fingerprint.origin import is_library_module, module_of
from keepset.core.fingerprint.sketch import Part

_PYTHON = (".py", ".pyc", ".pyw")
_BLOCK_BYTES = 1 << 20


def extension_file(module: ModuleType | None) -> str | None:
    """The file of a module of the user's that holds no Python; None for every other module."""
    file = getattr(module, "__file__", None)
    if module is None or not isinstance(file, str) or file.endswith(_PYTHON):
        return None
    return None if is_library_module(module) else file


def extension_of(thing: Any) -> list[Part]:
    """The part for the user's compiled module that a class or a function comes from, if any."""
    module = module_of(thing)
    if extension_file(module) is None:
        return []
    return [Part("extension module", module, b"extension module")]


def file_digest(path: str) -> bytes:
    """128 bits of a file's content, read again only after the file changed; empty without one."""
    try:
        found = os.stat(path)
    except OSError:
        return b""
    return _digest(path, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)


@functools.lru_cache(maxsize=64)
def _digest(path: str, *stamp: int) -> bytes:
    state = xxhash.xxh3_128()
    with open(path, "rb") as file:
        while block := file.read(_BLOCK_BYTES):
            state.update(block)
    return state.digest()
