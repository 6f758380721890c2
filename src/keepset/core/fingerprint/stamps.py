"""Stamps: numbers of objects that are never given to another one.

The id of an object is that of another one as soon as it is gone. What is remembered of an object
for longer than it lives goes by its stamp.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from typing import Any
from weakref import ref

# The number of each object, and what gives the object as long as it is there.
_stamps: dict[int, tuple[bytes, Callable[[], Any]]] = {}
# Objects that take no weak reference, such as lists: held until nothing else does.
_held: dict[int, Any] = {}
# The references to an object in that table that is held by nothing else: the table's, and that
# which asks.
_NO_OTHERS = 2


def stamp_of(value: Any) -> bytes:
    """The stamp of an object, as long as it is in memory."""
    key = id(value)
    found = _stamps.get(key)
    if found is None or found[1]() is not value:
        # Random: processes send each other what they have noted.
        found = _stamps[key] = os.urandom(8), _reference(value)
    return found[0]


def _reference(value: Any) -> Callable[[], Any]:
    try:
        return ref(value)
    except TypeError:
        _held[id(value)] = value
        return partial(_held.get, id(value))


def forget_gone() -> None:
    """Let go of objects that nothing else holds."""
    for key in list(_held):
        if sys.getrefcount(_held[key]) <= _NO_OTHERS:
            del _held[key]
    for key, (_, reference) in list(_stamps.items()):
        if reference() is None:
            del _stamps[key]
