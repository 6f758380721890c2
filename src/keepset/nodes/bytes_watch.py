"""BytesWatch: say so where a function of a map uses the text of elements as ``str``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keepset.core.cached import cached_property
from keepset.core.warn import warn_user
from keepset.nodes.empty_filter import advice_on
from keepset.nodes.returned import place_of
from keepset.nodes.str_uses import StrUse, str_uses

_REMEDY = 'call .decode() on it, or read str with encoding="utf-8" in the reader'


class BytesWatch:
    """Warns, once, of a function that takes ``bytes`` for ``str``: wrong values, and no error.

    It is called with the first element of a pass alone, and looks at the code of the function:
    elements behind it cost nothing.
    """

    def __init__(self, function: Callable[..., Any], title: str) -> None:
        self._function, self._title = function, title
        self._has_warned = False

    @cached_property
    def _uses(self) -> list[StrUse]:
        return str_uses(self._function)

    def __call__(self, element: Any) -> None:
        """Look at an element that has ``bytes`` in it."""
        if self._has_warned:
            return
        use = next((each for each in self._uses if each.is_of_bytes(element)), None)
        if use is not None:
            self._has_warned = True
            place = place_of(self._function)
            warn_user(f"{self._title} calls {place}, which uses bytes as str; {_advice(use)}")


def _advice(use: StrUse) -> str:
    if use.compared is not None:
        return advice_on(use.compared)
    if use.is_lookup:
        return (
            "it looks up text in a dict whose keys are str, and text in elements is bytes, which "
            f"no str is equal to: {_REMEDY}"
        )
    return f"it formats text, which is bytes in elements, so that the result has b'...': {_REMEDY}"
