"""Aliases: fingerprints that a pass of this process left behind, and what they stand for.

A function may move state of its own: a cache that it fills, a counter. What it holds when a pass
begins counts, so the same pipeline has another fingerprint after its first pass. That one is
remembered here, so that the next pass replays what this one stored. It is remembered together with
the objects that hold the state: another object that begins with the same content was moved by none.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Final

_MOST: Final = 10_000  # the oldest are forgotten: that costs a pass that computes again

# What holds own state, as ``Facts.places``.
Places = frozenset[Any]

_stands_for: OrderedDict[tuple[str, Places], str] = OrderedDict()


def remember_alias(fingerprint: str, places: Places, stored_as: str) -> None:
    """Note that a pipeline of this fingerprint is what was stored under another one."""
    if fingerprint == stored_as:
        return
    key = fingerprint, places
    _stands_for[key] = stored_as
    _stands_for.move_to_end(key)
    while len(_stands_for) > _MOST:
        _stands_for.popitem(last=False)


def alias_of(fingerprint: str, places: Places) -> str | None:
    """What a fingerprint stands for in this process, if it is not itself."""
    return _stands_for.get((fingerprint, places))


def forget_aliases() -> None:
    """Know nothing of earlier passes, as another process."""
    _stands_for.clear()
