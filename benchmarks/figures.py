"""Figure: something measured that is no rate of elements, such as a size or a time to start."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Figure:
    """What was found for one contender. Figures with the same name belong side by side."""

    name: str
    what: str
    contender: str
    value: float
    unit: str
    # A goal for this value: at most so much of the unit, or so many times the value of another.
    at_most: float | None = None
    against: str | None = None

    def as_json(self) -> dict[str, Any]:
        facts = asdict(self)
        goal = {"against": facts.pop("against"), "maximum": facts.pop("at_most")}
        return facts if self.at_most is None else facts | {"goal": goal}


def lines(figures: Iterable[Figure]) -> list[str]:
    """One line of plain text for each name, with everybody's values."""
    groups: dict[str, list[Figure]] = {}
    for figure in figures:
        groups.setdefault(figure.name, []).append(figure)
    return [
        f"{name}, {group[0].unit}: " + ", ".join(f"{f.contender} {f.value:.4g}" for f in group)
        for name, group in groups.items()
    ]
