"""Comparison: in which elements and leaves two datasets differ, and how often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from keepset.core.describe import count_text
from keepset.testing.equality import LeafDifference, element_differences

_NOTHING: Any = object()


@dataclass(frozen=True)
class Comparison:
    """What was found.

    Attributes:
        compared: How many elements both datasets have.
        different: How many of these differ.
        leaves: How many elements differ in each leaf, by its name.
        first: The number of the first element that differs, and how; None if none does.
        longer: Which one goes on behind the end of the other, ``"first"`` or ``"second"``.
    """

    compared: int
    different: int = 0
    leaves: dict[str, int] = field(default_factory=dict)
    first: tuple[int, LeafDifference] | None = None
    longer: str | None = None

    @property
    def is_equal(self) -> bool:
        return self.first is None and self.longer is None

    def __str__(self) -> str:
        lines = []
        if self.first is not None:
            number, leaf = self.first
            where = f", {leaf.name}" if leaf.name else ""
            lines.append(f"{self.different:,} of {count_text(self.compared)} differ")
            lines.append(f"first at element {number}{where}: {leaf.old} -> {leaf.new}{leaf.remark}")
            if len(self.leaves) > 1:
                lines += [
                    f"{name}: differs in {count_text(count)}" for name, count in self.leaves.items()
                ]
        if self.longer is not None:
            shorter = "first" if self.longer == "second" else "second"
            ends = f"the {shorter} dataset ends after {count_text(self.compared)}"
            lines.append(f"{ends}, the {self.longer} goes on")
        return "\n".join(lines) or f"equal: {count_text(self.compared)}"


def compare(
    first: Iterable[Any], second: Iterable[Any], on_element: Callable[[], None] | None = None
) -> Comparison:
    """Compare all elements of two datasets; ``on_element`` is called after each.

    Example:
        >>> import keepset as ks
        >>> print(compare(ks.Dataset.range(3), ks.Dataset.from_tensor_slices([0, 7, 2, 3])))
        1 of 3 elements differ
        first at element 1: 1 -> 7
        the first dataset ends after 3 elements, the second goes on
    """
    leaves: Counter[str] = Counter()
    found: tuple[int, LeafDifference] | None = None
    compared = different = 0
    for one, other in zip_longest(first, second, fillvalue=_NOTHING):
        if one is _NOTHING or other is _NOTHING:
            longer = "second" if one is _NOTHING else "first"
            return Comparison(compared, different, dict(leaves), found, longer)
        differences = element_differences(one, other)
        if differences:
            different += 1
            found = found or (compared, differences[0])
            leaves.update(each.name for each in differences)
        compared += 1
        if on_element is not None:
            on_element()
    return Comparison(compared, different, dict(leaves), found)
