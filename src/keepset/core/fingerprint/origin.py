"""Origin: whether code is the user's own, which counts by value, or a library's, by name.

A library is what is installed (in site-packages, dist-packages or the target of an installer), what
comes with Python, and Keepset itself. Everything else is the user's: scripts, notebooks, modules
next to them, and packages installed in editable mode.
"""

from __future__ import annotations

import builtins
import functools
import importlib.util
import os
import platform
import sys
import sysconfig
from types import (
    BuiltinFunctionType,
    FunctionType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any

_KEEPSET = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..")) + os.sep
# Bits of type.__flags__, as CPython's object.h numbers them.
_IMMUTABLE_TYPE, _HEAP_TYPE = 1 << 8, 1 << 9
_BUILTIN_CONSTANTS = {"Ellipsis", "False", "None", "NotImplemented", "True", "__debug__"}
_INSTALLED = ("site-packages", "dist-packages")


def is_library_module(module: ModuleType) -> bool:
    # Not by getattr: a module that imports itself when it is first used may raise anything.
    known = vars(module)
    if file := known.get("__file__"):
        return _is_library_file(file)
    places = list(known.get("__path__") or ())
    if places:
        return all(map(_is_library_file, places))
    name = str(known.get("__name__"))
    if name.startswith("_cython_"):
        return True  # where the types of all functions that Cython compiled are
    # Without a file it is built into Python, or was typed into a shell or made by hand.
    origin = getattr(known.get("__spec__"), "origin", None)
    return origin in ("built-in", "frozen") or name in sys.builtin_module_names


def is_library_name(name: str) -> bool:
    """Whether a module is a library's, judged without importing it if it is not there yet."""
    module = sys.modules.get(name)
    if module is not None:
        return is_library_module(module)
    top = name.partition(".")[0]
    if top != name:
        return is_library_name(top)
    spec = importlib.util.find_spec(top)
    if spec is None:
        return False
    places = [spec.origin] if spec.has_location else list(spec.submodule_search_locations or ())
    return all(_is_library_file(place) for place in places if place)


def is_library_function(function: FunctionType) -> bool:
    # Not by __module__, which functools.wraps copies from the wrapped function.
    file = function.__code__.co_filename
    if not file.startswith("<"):
        return _is_library_file(file)
    if file.startswith("<frozen"):
        return True
    module = sys.modules.get(function.__globals__.get("__name__", ""))
    made_there = module is not None and function.__globals__ is vars(module)
    return module is not None and made_there and is_library_module(module)


def is_library_class(kind: type) -> bool:
    """Whether a class is a library's: what its module says it is, or written in C.

    ``__module__`` alone does not say so. ``dataclasses.make_dataclass`` and ``types.new_class``
    write the name of their own module, and so does every factory of a library that makes a class
    from what it is given. Such a class is not found there by its name, and counts by content.
    """
    module = module_of(kind)
    if module is None or not is_library_module(module):
        return False
    if not kind.__flags__ & _HEAP_TYPE or kind.__flags__ & _IMMUTABLE_TYPE:
        return True
    found: Any = module
    for name in kind.__qualname__.split("."):
        found = vars(found).get(name) if isinstance(found, ModuleType | type) else None
    return found is kind or _is_written_in_c(kind)


def module_of(thing: Any) -> ModuleType | None:
    """The loaded module that a class or a function names as its own."""
    return sys.modules.get(module_name(thing))


def _is_written_in_c(kind: type) -> bool:
    descriptors = WrapperDescriptorType | MethodDescriptorType
    return any(
        isinstance(item, descriptors) and item.__objclass__ is kind for item in vars(kind).values()
    )


@functools.lru_cache(maxsize=4096)
def _is_library_file(file: str) -> bool:
    if file.startswith("<frozen"):
        return True
    path = os.path.abspath(file)
    if path.startswith(_KEEPSET) or any(name in path.split(os.sep) for name in _INSTALLED):
        return True
    return path.startswith(_standard_library()) or _is_in_target(path)


def _is_in_target(path: str) -> bool:
    """Whether a file was installed into a folder of its own (``pip install --target``)."""
    roots = [root for root in map(os.path.abspath, sys.path) if path.startswith(root + os.sep)]
    if not roots:
        return False
    root = max(roots, key=len)
    return path[len(root) + 1 :].split(os.sep)[0] in _installed_in(root)


@functools.lru_cache(maxsize=256)
def _installed_in(folder: str) -> frozenset[str]:
    """The files and folders at the top of ``folder`` that installers have put there."""
    found: set[str] = set()
    for name in os.listdir(folder) if os.path.isdir(folder) else ():
        record = os.path.join(folder, name, "RECORD")
        if name.endswith(".dist-info") and os.path.isfile(record):
            with open(record, encoding="utf-8", errors="replace") as lines:
                found.update(line.partition(",")[0].partition("/")[0] for line in lines)
    return frozenset(found)


@functools.cache
def _standard_library() -> tuple[str, ...]:
    paths = {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")}
    return tuple({form + os.sep for path in paths for form in (path, os.path.realpath(path))})


def is_added_builtin(name: str) -> bool:
    """Whether a program has put a value of its own among Python's builtins: ``builtins._``."""
    if name not in vars(builtins) or name in _BUILTIN_CONSTANTS:
        return False
    value = vars(builtins)[name]
    module = getattr(value, "__module__", None) if callable(value) else None
    return module not in ("builtins", "io", "_sitebuiltins") and not isinstance(
        value, BuiltinFunctionType
    )


def function_behind(item: Any) -> Any:
    """The function behind a method, a static or class method or a property; else the item itself.

    Nothing is asked of other objects: theirs may run any code to find an attribute.
    """
    if isinstance(item, MethodType | staticmethod | classmethod):
        return item.__func__
    return item.fget if isinstance(item, property) else item


def module_name(thing: Any) -> str:
    """What a class or a function names as its module; empty where that is no text.

    The class of the classes of Cython has something there that finds the module of each of them.
    """
    name = getattr(thing, "__module__", None)
    return name if isinstance(name, str) else ""


def library_of(thing: Any) -> str:
    """The package that a class, a function or a module comes from."""
    return (module_name(thing) or "builtins").partition(".")[0]


@functools.cache
def library_version(package: str) -> tuple[str, str]:
    """The name and version under which a package is recorded."""
    if package in sys.stdlib_module_names or package == "builtins":
        return "python", platform.python_version()
    # Not getattr: a module may warn of who asks it.
    version = vars(sys.modules[package]).get("__version__") if package in sys.modules else None
    if not isinstance(version, str):
        import importlib.metadata  # slow, and seldom needed

        try:
            version = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            version = "unknown"
    return package, version
