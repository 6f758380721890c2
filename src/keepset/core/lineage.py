"""Lineage: the stages that something was made by, as plain data and as a tree to read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from keepset.core.node import TITLE_LETTERS, Node
from keepset.core.secrets import Mask
from keepset.core.secrets.reachable import reachable_secrets

# Fewer letters of a secret are part of too much else.
_LEAST = 4


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
    stages = list(node.walk())
    # A title without a text in it has no secrets, and looking for them takes a while.
    if not any("'" in each.title or '"' in each.title for each in stages):
        return Mask()
    known = secrets_of(node)
    return Mask(known.union(_cut_off(stages, known)))


def secrets_of(node: Node) -> set[str]:
    """The texts that are secret by their names, in all that the stages of a pipeline use."""
    return reachable_secrets(item for each in node.walk() for item in _named_values(each))


def _named_values(node: Node) -> Iterator[tuple[str, Any]]:
    yield from node.parameters.items()
    if arguments := getattr(node, "args", None):
        # They go by the names of the generator's parameters.
        yield "generator", partial(getattr(node, "generator", print), *arguments)


def _cut_off(stages: Iterable[Node], known: set[str]) -> Iterator[str]:
    """The beginnings of secrets at the end of a text that a title shows only so much of."""
    for each in stages:
        for value in each.parameters.values():
            text = repr(value) if isinstance(value, str | bytes) else ""
            for secret in known if len(text) > TITLE_LETTERS else ():
                start = text[: TITLE_LETTERS + len(secret)].find(secret)
                if 0 <= start <= TITLE_LETTERS - _LEAST < TITLE_LETTERS < start + len(secret):
                    yield text[start:TITLE_LETTERS]
