"""CRC-32C, which processors compute at the speed of memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from typing import Any


def crc32c(data: Any, before: int = 0) -> int:
    """The CRC-32C of bytes, or of bytes behind those whose checksum is ``before``."""
    return crc32c_function()(data, before)


@cache
def crc32c_function() -> Callable[..., int]:
    """The function behind ``crc32c``, for those who call it for each of many small pieces."""
    alone = _without_its_package()
    if alone is not None:
        return alone
    from crc32c import crc32c as packaged

    return packaged


def _without_its_package() -> Callable[..., int] | None:
    """The compiled function alone, if it is where it was in the versions that we know.

    The package around it brings a command line and looks up its own version, which takes a quarter
    of the time that a fresh process needs to its first element.
    """
    package = find_spec("crc32c")
    folders = None if package is None else package.submodule_search_locations
    spec = PathFinder.find_spec("_crc32c", folders)
    if spec is None or spec.loader is None:
        return None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, "crc32c", None)
