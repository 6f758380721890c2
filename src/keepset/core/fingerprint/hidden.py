"""Hidden: what the facts of a fingerprint show of secret values, which their digests count."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Iterable
from itertools import islice
from types import ModuleType
from typing import Any

from keepset.core.fingerprint.class_attributes import is_a
from keepset.core.fingerprint.plain import Order
from keepset.core.fingerprint.sketch import Sketch
from keepset.core.secrets import (
    ALL,
    NONE,
    SURE,
    VAGUE,
    WEAK,
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
from keepset.core.secrets.holders import (
    held_by_class,
    own_attributes,
    strength_of_attribute,
    strength_of_key,
)
from keepset.core.secrets.literals import masked_source
from keepset.core.secrets.mask import has_secret_parts
from keepset.core.secrets.values import keys_in

# Their texts say nothing that could be a secret.
_NEVER = (bool, int, float, complex, type(None))
_HOLDING = (str, bytes, list, tuple, set, frozenset, dict, re.Pattern)
# The order of keys names as many of them.
_MOST_KEYS = 100
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
                    known |= secret_texts(_content(passed), strength)
            elif is_a(value, type):
                for held, strength in held_by_class(value):
                    known |= secret_texts(held, strength)
            elif label == "docstring" and isinstance(value, str):
                known |= keys_in(value)
            elif type(value) in _HOLDING or has_secret_parts(type(value)):
                known |= secret_texts(value, self.strength(label, value))
            elif strength := strength_of_attribute(value, ""):
                known |= secret_texts(_content(value), min(strength, WEAK))
        self._mask = Mask(known)

    def strength(self, label: str, value: Any, above: Any = None, inherited: int = NONE) -> int:
        """How surely a part of ``above`` is secret, by its own name or by that of what holds it."""
        # A function or a class is no secret, and neither is what it uses.
        if callable(value):
            return NONE
        if value is os.environ:
            return ALL
        if is_a(above, functools.partial) and label.startswith("argument "):
            return max(inherited, _strength_of_argument(label.removeprefix("argument "), above))
        if label.startswith("item "):
            number = label.removeprefix("item ")
            return max(inherited, strength_after(above, int(number) if number.isdecimal() else 0))
        return max(inherited, _strength(label), _strength_by_holder(label, above))

    def label(self, label: str) -> str:
        return self._mask.text(label)

    def text(self, value: Any, sketch: Sketch, strength: int) -> str:
        if type(value) is re.Pattern and strength >= SURE:
            return f"re.compile({self._mask.value(value.pattern, strength)!r})"
        if type(value) is Order and value.token is not None:
            # Of keys those are secret that look random, here as in the labels of their items.
            value = Order(self._mask.value(key, VAGUE) for key in value.keys[:_MOST_KEYS])
            return self._rule(value).text
        shown = self._mask.value(value, strength)
        if shown is not value:
            return self._rule(shown).text
        return sketch.text if type(value) in _NEVER else self._mask.text(sketch.text)

    def source(self, source: str) -> str:
        signatures = self._signatures.get(source, ())
        return masked_source(source, self._mask.known, signatures).text if source else ""


def _content(value: Any) -> Any:
    """The attributes of an object, or a value that is none."""
    is_plain = type(value) in _HOLDING or callable(value) or is_a(value, ModuleType)
    return value if is_plain else own_attributes(value)


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


# Labels of what a class, an object or a dict holds.
_HELD = ("attribute ", "member ", "field ")
_VALUE_LABELS = {f"key {value!r}": value for value in ("value", "Value", "VALUE", "ParameterValue")}


def _strength_by_holder(label: str, above: Any) -> int:
    """That of a part of something that holds secrets, or that names one beside it."""
    if is_a(above, dict) and label in _VALUE_LABELS:
        return strength_of_key(above, _VALUE_LABELS[label])
    if above is None or not label.startswith(_HELD):
        return NONE
    name = label.partition(" ")[2]
    strength = strength_of_attribute(above, name)
    if name == "value" and not is_a(above, type):
        strength = max(strength, strength_of_key(own_attributes(above), name))
    return strength
