"""Shared state: variables that the functions of several pipelines move, in this process.

Each content of such a variable is another fingerprint. Two pipelines that move it in turns, such as
one for training and one for validation that share a counter, find it changed in every epoch, and
compute and store their elements again and again. That is right, and hardly meant.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Final

from keepset.core.fingerprint import Difference, Facts, differences

_MOST: Final = 1_000

# What pipelines were when they were computed last, by the path and what they are without state.
_computed: OrderedDict[tuple[str, str], Facts] = OrderedDict()
_warned: set[tuple[str, str]] = set()
# The pipeline that moved a variable last.
_moved_by: OrderedDict[Any, str] = OrderedDict()


def note_computing(url: str, facts: Facts) -> Difference | None:
    """Note that a pipeline is computed, to be stored at a path.

    Returns:
        What it holds other than the last time, if another pipeline has moved it since. Said once.
    """
    key, found = (url, facts.fixed), None
    before = _computed.get(key)
    if before is not None and before.digest != facts.digest and key not in _warned:
        others = {_moved_by.get(place, facts.fixed) for place in facts.places}
        if others != {facts.fixed}:
            _warned.add(key)
            found = next(iter(differences(before, facts, name=facts.kind)), None)
    _remember(_computed, key, facts)
    for place in facts.places:
        _remember(_moved_by, place, facts.fixed)
    return found


def _remember(table: OrderedDict[Any, Any], key: Any, value: Any) -> None:
    table[key] = value
    table.move_to_end(key)
    if len(table) > _MOST:
        table.popitem(last=False)


def shared_text(change: Difference, url: str) -> str:
    """A warning that a pipeline is computed again because of another one."""
    return (
        f"{change}: the functions of another pipeline have moved this since the elements for {url} "
        "were stored, so they are computed and stored again, with this content, and may be in each "
        "epoch; give each pipeline its own, or leave it out with snapshot(path, ignore=[...]) if "
        "it does not change the elements"
    )


def forget_shared_state() -> None:
    """Know nothing of earlier passes, as another process."""
    for table in (_computed, _moved_by, _warned):
        table.clear()
