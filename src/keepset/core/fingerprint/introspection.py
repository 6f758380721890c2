"""Introspection: what functions say about themselves, which counts where some code reads it.

Annotations, docstrings and the names of functions change nothing by themselves. They do where a
function that is walked reads them: by ``__annotations__``, ``inspect.signature``, ``__doc__``. Of
which function it reads them is not known, so they count for all functions of that graph. In the
same way an attribute that a class leaves out of its copies counts if some function reads one of
that name.
"""

from __future__ import annotations

import dis
import inspect
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import CodeType, FunctionType
from typing import Any

from keepset.core.fingerprint.origin import module_of

_READERS = {
    "annotations": {
        "__annotate__",
        "__annotations__",
        "__signature__",
        "Signature",
        "get_annotations",
        "get_type_hints",
        "getfullargspec",
        "signature",
    },
    "doc": {"__doc__", "getdoc"},
    # The order of attributes, of objects as of classes and modules.
    "order": {"__dict__", "cloudpickle", "pickle", "vars"},
    # The columns that pandas makes of functions have their names.
    "name": {"__name__", "__qualname__", "agg", "aggregate"},
}
_SHARING = "sharing"
_ATTRIBUTES = {"LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM"}
_NAMES = {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF"}

_counted: ContextVar[frozenset[str]] = ContextVar("counted", default=frozenset())
_met: ContextVar[_Met | None] = ContextVar("met", default=None)


class _Met:
    """What a walk has met: aspects that code reads, attributes that it reads, and left out ones."""

    def __init__(self) -> None:
        self._aspects: set[str] = set()
        self._read: set[str] = set()
        self._left_out: set[str] = set()
        self._has_tables = self._tells_apart = False

    @property
    def aspects(self) -> frozenset[str]:
        sharing = {_SHARING} if self._has_tables and self._tells_apart else set[str]()
        attributes = map(_attribute, self._read & self._left_out)
        return frozenset({*self._aspects, *sharing, *attributes})


def _attribute(name: str) -> str:
    return f"attribute {name}"


@contextmanager
def counting(aspects: frozenset[str]) -> Iterator[_Met]:
    """Count these aspects of functions; yields what walked code reads."""
    met = _Met()
    counted, found = _counted.set(aspects), _met.set(met)
    try:
        yield met
    finally:
        _counted.reset(counted)
        _met.reset(found)


def counts(aspect: str) -> bool:
    """Whether ``"annotations"``, ``"doc"``, ``"name"`` or ``"order"`` counts now."""
    return aspect in _counted.get()


def meet(aspects: frozenset[str], attributes: frozenset[str]) -> None:
    """Record that code which reads these aspects, and attributes of these names, was walked."""
    met = _met.get()
    if met is not None:
        met._aspects |= aspects
        met._read |= attributes


def counts_left_out(name: str) -> bool:
    """Whether an attribute counts that a class leaves out of its copies."""
    met = _met.get()
    if met is not None:
        met._left_out.add(name)
    return counts(_attribute(name))


def meet_tells_apart() -> None:
    """Record that code was walked that tells one object from another one that is alike."""
    met = _met.get()
    if met is not None:
        met._tells_apart = True


def counts_sharing() -> bool:
    """Whether it counts which of many records are one object: each of them has to be looked at."""
    met = _met.get()
    if met is not None:
        met._has_tables = True
    return counts(_SHARING)


def aspects_read(code: CodeType) -> frozenset[str]:
    """What a function and those inside it read of functions."""
    words = set(_words(code))
    return frozenset(aspect for aspect, readers in _READERS.items() if readers & words)


def _words(code: CodeType) -> Iterator[str]:
    for found in dis.get_instructions(code):
        # A plain __name__ or __doc__ is the module's.
        if found.opname in _ATTRIBUTES or (
            found.opname in _NAMES and not str(found.argval).startswith("__")
        ):
            yield found.argval
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _words(constant)
        elif isinstance(constant, str):
            yield constant


def annotations_of(thing: Any) -> dict[str, Any]:
    """The annotations of a function or of a class itself, the same however they were written.

    Text is evaluated where that works, so that ``from __future__ import annotations`` and quotes
    do not count.
    """
    try:
        found: Mapping[str, Any] = inspect.get_annotations(thing)
    except Exception:  # one of them names what is not there yet (Python 3.14)
        return {"annotations": thing.__annotate__}
    namespaces = _namespaces(thing)
    return {
        name: _evaluated(item, *namespaces) if isinstance(item, str) else item
        for name, item in found.items()
    }


def _namespaces(thing: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    if isinstance(thing, FunctionType):
        return thing.__globals__, {}
    module = module_of(thing)
    return ({} if module is None else vars(module)), dict(vars(thing))


def _evaluated(text: str, outer: dict[str, Any], inner: dict[str, Any]) -> Any:
    try:
        return eval(text, dict(outer), inner)
    # A name that only type checkers know, or no expression at all.
    except Exception:
        # Without the modules in it: __main__.Label is Label.
        return re.sub(r"(?:\w+\.)+(\w+)", r"\1", text.replace(" ", ""))
