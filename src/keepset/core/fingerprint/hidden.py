"""Hidden: what the facts of a fingerprint show of secret values, which their digests count."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

from keepset.core.fingerprint.sketch import Sketch
from keepset.core.secret_literals import masked_source
from keepset.core.secrets import (
    ALL,
    NONE,
    Mask,
    positional_name,
    secret_texts,
    strength_of_name,
    strength_of_pair,
)

# Their texts say nothing that could be a secret.
_NEVER = (bool, int, float, complex, type(None))
_HOLDING = (str, bytes, list, tuple, set, frozenset, dict)
# Secrets that occur twice are looked for among as many values; fewer are ever shown.
_MOST_PARTS = 100_000


class Hidden:
    """Makes the texts of one graph, once it is known what is secret in it.

    Args:
        rule: Describes a value.
        parts: The label, the value and the source of everything in the graph.
    """

    def __init__(
        self, rule: Callable[[Any], Sketch], parts: Iterable[tuple[str, Any, str]]
    ) -> None:
        self._rule = rule
        known: set[str] = set()
        for label, value, source in islice(parts, _MOST_PARTS):
            if source:
                known |= masked_source(source).secrets
            elif type(value) in _HOLDING:
                known |= secret_texts(value, self.strength(label, value))
        self._mask = Mask(known)

    def strength(self, label: str, value: Any, above: Any = None, inherited: int = NONE) -> int:
        """How surely a part of ``above`` is secret, by its own name or by that of what holds it."""
        # A function or a class is no secret, and neither is what it uses.
        if callable(value):
            return NONE
        if value is os.environ:
            return ALL
        if isinstance(above, functools.partial) and label.startswith("argument "):
            number = label.removeprefix("argument ")
            label = positional_name(above.func, int(number)) if number.isdecimal() else number
            return max(inherited, strength_of_name(label))
        pair = strength_of_pair(above) if label == "item 1" else NONE
        return max(inherited, pair, _strength(label))

    def label(self, label: str) -> str:
        return self._mask.text(label)

    def text(self, value: Any, sketch: Sketch, strength: int) -> str:
        shown = self._mask.value(value, strength)
        if shown is not value:
            return self._rule(shown).text
        return sketch.text if type(value) in _NEVER else self._mask.text(sketch.text)

    def source(self, source: str) -> str:
        return masked_source(source, self._mask.known).text if source else ""


def _strength(label: str) -> int:
    """That of the name in a label: ``global API_KEY``, ``key 'password'``, ``attribute token``."""
    word, _, name = label.rpartition(" > ")[2].partition(" ")
    return NONE if word == "item" else strength_of_name(name or word)
