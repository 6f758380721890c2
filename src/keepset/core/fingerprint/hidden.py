"""Hidden: what the facts of a fingerprint show of secret values, which their digests count."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

from keepset.core.fingerprint.sketch import Sketch
from keepset.core.secrets import (
    ALL,
    NONE,
    Mask,
    secret_texts,
    strength_after,
    strength_of_name,
)
from keepset.core.secrets.arguments import (
    Signatures,
    positional_name,
    secret_signatures,
    values_of,
)
from keepset.core.secrets.literals import masked_source

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
        self._signatures: dict[str, Signatures] = {}
        known: set[str] = set()
        for label, value, source in islice(parts, _MOST_PARTS):
            if source:
                signatures = self._signatures[source] = secret_signatures(value)
                masked = masked_source(source, (), signatures)
                known |= masked.secrets
                for passed, strength in values_of(value, masked.aliases):
                    known |= secret_texts(passed, strength)
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
            return max(inherited, _strength_of_argument(label.removeprefix("argument "), above))
        if label.startswith("item "):
            number = label.removeprefix("item ")
            return max(inherited, strength_after(above, int(number) if number.isdecimal() else 0))
        return max(inherited, _strength(label))

    def label(self, label: str) -> str:
        return self._mask.text(label)

    def text(self, value: Any, sketch: Sketch, strength: int) -> str:
        shown = self._mask.value(value, strength)
        if shown is not value:
            return self._rule(shown).text
        return sketch.text if type(value) in _NEVER else self._mask.text(sketch.text)

    def source(self, source: str) -> str:
        signatures = self._signatures.get(source, ())
        return masked_source(source, self._mask.known, signatures).text if source else ""


def _strength_of_argument(name: str, of: functools.partial[Any]) -> int:
    """That of an argument by its name or its number."""
    if not name.isdecimal():
        return strength_of_name(name)
    number = int(name)
    return max(strength_of_name(positional_name(of.func, number)), strength_after(of.args, number))


def _strength(label: str) -> int:
    """That of the name in a label: ``global API_KEY``, ``key 'password'``, ``attribute token``."""
    word, _, name = label.rpartition(" > ")[2].partition(" ")
    return strength_of_name(name or word)
