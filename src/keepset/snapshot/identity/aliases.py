"""Aliases: fingerprints that a pass of this process left behind, and what they stand for.

A function may move state of its own: a cache that it fills, a counter. What it holds when a pass
begins counts, so the same pipeline has another fingerprint after its first pass. That one is
remembered here, so that the next pass replays what this one stored.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

_MOST: Final = 10_000  # the oldest are forgotten: that costs a pass that computes again

_stands_for: OrderedDict[str, str] = OrderedDict()
# What passes that are under way are stored as, by their identity without what functions write.
_under_way: dict[str, list[str]] = {}


def remember_alias(fingerprint: str, stored_as: str) -> None:
    """Note that a pipeline of this fingerprint is what was stored under another one."""
    if fingerprint == stored_as:
        return
    _stands_for[fingerprint] = stored_as
    _stands_for.move_to_end(fingerprint)
    while len(_stands_for) > _MOST:
        _stands_for.popitem(last=False)


def alias_of(fingerprint: str) -> str | None:
    """What a fingerprint stands for in this process, if it is not itself."""
    return _stands_for.get(fingerprint)


def pass_begins(fixed: str, stored_as: str) -> None:
    """Note that a pass is under way whose functions move state of their own."""
    _under_way.setdefault(fixed, []).append(stored_as)


def pass_ends(fixed: str, stored_as: str) -> None:
    """Note that such a pass is over."""
    names = _under_way.get(fixed, [])
    if stored_as in names:
        names.remove(stored_as)
    if not names:
        _under_way.pop(fixed, None)


def under_way(fixed: str) -> str | None:
    """What a pass of the same pipeline that is under way is stored as."""
    names = _under_way.get(fixed)
    return names[0] if names else None


def forget_aliases() -> None:
    """Know nothing of earlier passes, as another process."""
    _stands_for.clear()
    _under_way.clear()
