"""Lineage: the stages that something was made by, as plain data and as a tree to read."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from keepset.core.node import Node
from keepset.core.secrets import Mask, secret_texts, secrets_of_function, strength_of_name


class Lineage:
    """Stages, each before those that it gets its elements from.

    Attributes:
        stages: The title of each stage, and how many inputs it has. The first is the last one of
            the pipeline; behind each stage stands its first input with all that belongs to that,
            then its second one, and so on.

    Example:
        >>> from keepset import Dataset
        >>> print(Lineage.of(Dataset.range(9).batch(2)._node))
        batch(2)
        range(0, 9)
    """

    def __init__(self, stages: list[tuple[str, int]]) -> None:
        self.stages = stages

    @classmethod
    def of(cls, node: Node) -> Lineage:
        mask = mask_of(node)
        return cls([(mask.text(each.title), len(each.inputs)) for each in node.walk()])

    def to_json(self) -> list[list[Any]]:
        return [list(stage) for stage in self.stages]

    @classmethod
    def from_json(cls, data: Any) -> Lineage | None:
        """What ``to_json`` gave; None for anything else: nothing depends on it."""
        if not isinstance(data, list):
            return None
        missing, stages = 1, []
        for stage in data:
            match stage:
                case [str(title), int(inputs)] if inputs >= 0 and missing > 0:
                    missing += inputs - 1
                    stages.append((title, inputs))
                case _:
                    return None
        return cls(stages) if missing == 0 else None

    def __str__(self) -> str:
        """A line for each; the inputs of one that has several branch off."""
        lines, waiting = [], [("", "")]
        for title, inputs in self.stages:
            first, rest = waiting.pop()
            lines.append(first + title)
            if inputs == 1:
                waiting.append((rest, rest))
            elif inputs:
                waiting.append((f"{rest}└ ", f"{rest}  "))
                waiting += [(f"{rest}├ ", f"{rest}│ ")] * (inputs - 1)
        return "\n".join(lines)


def mask_of(node: Node) -> Mask:
    """Hides what is secret in the titles of stages: by its shape, or elsewhere in the pipeline."""
    known: set[str] = set()
    for each in node.walk():
        for name, value in each.parameters.items():
            if isinstance(value, FunctionType):
                known |= secrets_of_function(value)
            elif not callable(value):
                known |= secret_texts(value, strength_of_name(name))
    return Mask(known)
