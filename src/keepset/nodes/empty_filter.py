"""EmptyFilter: say so where a predicate has judged all elements of a pass alike by mistake."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from keepset.core.cached import cached_property
from keepset.core.chunk import Chunk
from keepset.core.column import Column
from keepset.core.dtypes import DType, dtype_of, string, text
from keepset.core.jagged import Jagged
from keepset.core.ragged import Ragged
from keepset.core.secrets import Mask
from keepset.core.sparse import Sparse
from keepset.core.warn import warn_user
from keepset.nodes.compared_str import Compared, compared_str, str_compared_with_element
from keepset.nodes.returned import place_of


class EmptyFilter:
    """Warns, once for each cause, of a predicate that has refused all elements of a pass.

    It may be meant so. More often the predicate compares text, which is ``bytes`` in elements,
    with a ``str``: that is False for each of them, and no error. Where it passes all of them for
    that reason, with ``!=`` or ``not in``, there is a warning too.
    """

    def __init__(self, predicate: Callable[..., Any], title: str) -> None:
        self._predicate, self._title = predicate, title
        self._told: set[str] = set()

    def __call__(self, judged: int, holds_bytes: bool) -> None:
        """Warn of a pass in which all of ``judged`` elements were refused.

        Args:
            judged: How many elements there were.
            holds_bytes: Whether text in the elements is ``bytes``, as far as is known.
        """
        word = compared_str(self._predicate) if holds_bytes else None
        if word is None:
            self._warn(
                "other",
                f"passed none of its {_elements(judged)}",
                "look at what it compares, or ignore this if it is meant",
            )
        else:
            self._warn("str", f"passed none of its {_elements(judged)}", advice_on(word))

    @cached_property
    def compared(self) -> Compared | None:
        """A ``str`` that the predicate surely compares something of its element with."""
        return str_compared_with_element(self._predicate)

    def warn_of_all(self, judged: int) -> None:
        """Warn of a pass in which all elements passed, if the predicate compares with a str."""
        self._warn_of_str(f"passed all of its {_elements(judged)}")

    def warn_of_first(self) -> None:
        """Warn of a pass that ended at its first element, if the predicate compares so."""
        self._warn_of_str("ended at its first element")

    def _warn_of_str(self, what: str) -> None:
        if self.compared is not None:
            self._warn("str", what, advice_on(self.compared))

    def _warn(self, cause: str, what: str, advice: str) -> None:
        if cause not in self._told:
            self._told.add(cause)
            place = place_of(self._predicate)
            warn_user(f"{self._title} {what}, by the predicate {place}; {advice}")


def _elements(judged: int) -> str:
    return f"{judged} {'element' if judged == 1 else 'elements'}"


def advice_on(word: Compared) -> str:
    """What to do about a comparison with a str."""
    # A variable may hold a secret: its value is not shown.
    shown = Mask().text(word.value) if word.is_constant else None
    what = "a str" if shown is None else f"the str {shown!r:.60}"
    other = "bytes" if shown is None else f"{shown.encode(errors='replace')!r:.60}"
    return (
        f"it compares with {what}, and text in elements is bytes, which no str is equal "
        f'to: compare with {other}, or read str with encoding="utf-8" in the reader'
    )


def holds_bytes(chunk: Chunk) -> bool:
    """Whether leaves of the first element are ``bytes``, and none are ``str``."""
    piece = chunk.pieces[0]
    columns = piece.columns if piece.has_columns else piece[:1].columns
    dtypes = set(map(_dtype_of, columns))
    return string in dtypes and text not in dtypes


def _dtype_of(column: Column) -> DType | None:
    if isinstance(column, Jagged):
        return dtype_of(column.values)
    leaf: Any = column[0] if isinstance(column, list) else column
    if isinstance(leaf, Ragged | Sparse):
        return leaf.dtype
    if isinstance(leaf, np.ndarray | np.generic):
        return dtype_of(leaf)
    # Not by a spec: that of a data set may have to be found by running it.
    if isinstance(leaf, bytes):
        return string
    return text if isinstance(leaf, str) else None
