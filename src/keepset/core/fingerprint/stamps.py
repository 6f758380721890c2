"""Stamps: numbers of objects that are never given to another one.

The id of an object is that of another one as soon as it is gone. What is remembered of an object
for longer than it lives goes by its stamp.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from threading import RLock
from typing import Any, Final
from weakref import ref

# The number of each object, and what gives the object as long as it is there.
_stamps: dict[int, tuple[bytes, Callable[[], Any]]] = {}
# Objects that take no weak reference, such as lists: held until nothing else does. The one that
# was asked for longest ago is first.
_held: dict[int, Any] = {}
# One that leads to itself is never held by nothing else. So no more of them are held than this,
# but for those of the pipeline that is looked at; of others the stamps are forgotten, which costs
# a pass that computes again.
_MOST_HELD: Final = 1_000
# The references to an object in that table that is held by nothing else: the table's, and that
# which asks.
_NO_OTHERS: Final = 2
_lock = RLock()


def _renew_lock() -> None:
    global _lock
    _lock = RLock()  # another thread of the parent may have had it


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


def stamps_of(values: Mapping[int, Any], ids: Iterable[int]) -> dict[int, bytes]:
    """The stamps of some objects, as long as they are in memory, by their ids.

    Args:
        values: Objects by their ids.
        ids: Those that are asked for.
    """
    with _lock:
        _forget_gone()
        found = {key: _stamp_of(key, values[key]) for key in ids}
        for key in list(_held)[: max(0, len(_held) - _MOST_HELD)]:
            if key not in found:
                del _held[key]
        return found


def living(stamps: Iterable[bytes | int]) -> dict[bytes | int, int]:
    """The ids of those objects that are still in memory, by their stamps.

    What has no stamp goes by its id already.
    """
    wanted = set(stamps)
    with _lock:
        found: dict[bytes | int, int] = {each: each for each in wanted if isinstance(each, int)}
        for key, (stamp, reference) in list(_stamps.items()):
            if stamp in wanted and reference() is not None:
                found[stamp] = key
        return found


def _stamp_of(key: int, value: Any) -> bytes:
    known = _stamps.get(key)
    if known is None or known[1]() is not value:
        # Random: processes send each other what they have noted.
        known = _stamps[key] = os.urandom(8), _reference(key, value)
    elif key in _held:
        _held[key] = _held.pop(key)  # to the end
    return known[0]


def _reference(key: int, value: Any) -> Callable[[], Any]:
    try:
        return ref(value)
    except TypeError:
        _held[key] = value
        return partial(_held.get, key)


def _forget_gone() -> None:
    for key in list(_held):
        if sys.getrefcount(_held[key]) <= _NO_OTHERS:
            del _held[key]
    for key, (_, reference) in list(_stamps.items()):
        if reference() is None:
            del _stamps[key]
