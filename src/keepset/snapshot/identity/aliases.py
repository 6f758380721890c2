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


def forget_aliases() -> None:
    """Know nothing of earlier passes, as another process."""
    _stands_for.clear()
