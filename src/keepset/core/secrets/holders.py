"""Holders: what holds secrets by its own name, or names one beside it.

Such as ``class Secrets: prod = "..."`` and ``{"name": "DB_PASSWORD", "value": "..."}``.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

from keepset.core.secrets.names import NONE, SURE, VAGUE, WEAK, strength_of_name
from keepset.core.secrets.values import decoded

# Words behind a name of secrets that say that they are held, and do nothing with them.
_HOLDING: Final = {
    *("config", "configs", "configuration", "settings", "store", "storage", "holder", "data"),
    *("values", "constants", "enum", "env", "environment", "vault", "info", "bundle", "map"),
}
# The keys of a dict that names one thing, in lower case.
NAMING: Final = ("name", "key", "variable", "parameterkey")
VALUES: Final = ("value", "parametervalue")
_SPELLINGS: Final = (
    *NAMING,
    *("Name", "Key", "Variable", "ParameterKey", "NAME", "KEY", "VARIABLE", "parameterKey"),
)
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


@lru_cache(4096)
def strength_of_class(name: str) -> int:
    """How surely the attributes of a class of this name are secret: ``SURE``, ``VAGUE`` or not.

    Example:
        >>> [strength_of_class(name) for name in ("ApiKeys", "Tokens", "PasswordFilter", "Keyed")]
        [3, 1, 1, 0]
    """
    words = _WORD.findall(name)
    while len(words) > 1 and words[-1].lower() in _HOLDING:
        words.pop()
    strength = strength_of_name("_".join(words))
    # A PasswordFilter does something with passwords. Tokens are mostly special tokens.
    if strength >= SURE and strength_of_name(words[-1]) != NONE:
        return SURE
    return VAGUE if strength else NONE


def _strength_of_kind(kind: type) -> int:
    return max(strength_of_class(base.__name__) for base in kind.__mro__)


def strength_of_attribute(holder: Any, name: str) -> int:
    """That of an attribute of a class or an object, by the name of the class."""
    # What Python writes into a class says something about it.
    if name.startswith("_") and name.endswith("_") and name != "_value_":
        return NONE
    kind = holder if issubclass(type(holder), type) else type(holder)
    return NONE if kind.__module__ == "builtins" else _strength_of_kind(kind)


def own_attributes(value: Any) -> dict[str, Any]:
    """The attributes of an object that are its own; none if it does not let them be seen."""
    try:
        return dict(object.__getattribute__(value, "__dict__"))
    except Exception:  # a property in the place of them may raise whatever it likes
        return {}


def held_by_class(kind: type) -> Iterator[tuple[Any, int]]:
    """The attributes and the members of a class whose name is one of secrets."""
    strength = _strength_of_kind(kind)
    if strength == NONE:
        return
    # Ordinary words among them, such as the name of a region, may be said elsewhere.
    strength = min(strength, WEAK)
    items = dict(vars(kind))
    if issubclass(kind, enum.Enum):
        items = {name: each._value_ for name, each in kind._member_map_.items()}
    for name, item in items.items():
        if not callable(item) and strength_of_attribute(kind, name):
            yield item, strength


def strength_of_key(items: dict[Any, Any], key: Any) -> int:
    """That of an item of a dict, by its key or by the name beside it."""
    if type(key) not in (str, bytes):
        return NONE
    name = decoded(key)
    own = strength_of_name(name)
    if name.lower() not in VALUES:
        return own
    named = [dict.get(items, each) for each in _SPELLINGS]
    return max(own, *(strength_of_named(each) for each in named))


def strength_of_named(name: Any) -> int:
    """That of what stands beside a name that is told as a text."""
    if type(name) not in (str, bytes) or len(name) > 100:
        return NONE
    strength = strength_of_name(decoded(name))
    return strength if strength >= SURE else min(strength, VAGUE)
