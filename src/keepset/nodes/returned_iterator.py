"""ReturnedIterator: say so where a function returns an iterator that is used up already."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from keepset.core.warn import warn_user
from keepset.nodes.returned import place_of

# The references to an object that a list alone holds, while it is asked for them.
_OWN_REFERENCES = 2


class ReturnedIterator:
    """Warns, once, of a function that returns the iterator of an earlier pass.

    An iterator goes by once: the second pass has what the first one has left, which is nothing
    mostly. A function that returns a list is not meant, as each pass has a new iterator of that.
    """

    def __init__(self, function: Callable[..., Any], title: str) -> None:
        self._function, self._title = function, title
        self._earlier: Callable[[], Any] | None = None
        self._has_warned = False

    def look_at(self, opened: list[Iterator[Any]]) -> None:
        """Compare the iterator of a pass, held by a list alone, with that of the pass before."""
        if self._earlier is not None and self._earlier() is opened[0] and not self._has_warned:
            self._has_warned = True
            warn_user(
                f"in {self._title}, {place_of(self._function)} returned the iterator that it had "
                "returned in an earlier pass, so that this pass has only what is left of it; make "
                "the iterator within the function, or keep its elements with cache() or snapshot()"
            )
        self._earlier = _reference_to(opened)


def _reference_to(opened: list[Iterator[Any]]) -> Callable[[], Any] | None:
    """What knows the iterator again, and keeps nothing alive that would be gone otherwise."""
    try:
        return weakref.ref(opened[0])
    except TypeError:
        # Nothing that is held by this pass alone can be returned once more.
        is_held = sys.getrefcount(opened[0]) > _OWN_REFERENCES
        return partial(_same, opened[0]) if is_held else None


def _same(iterator: Iterator[Any]) -> Iterator[Any]:
    return iterator
