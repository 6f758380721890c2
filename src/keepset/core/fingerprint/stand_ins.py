"""Stand-ins: values that are not there, but of which something is known, while code is followed.

Nothing runs then, so what a call would make is known by its class at most. Each stand-in is one of
many that mean the same: ``identity`` compares them.
"""

from __future__ import annotations

from functools import partial
from types import BuiltinMethodType, MethodType
from typing import Any

from keepset.core.fingerprint.effects import ANY_KEY

_FEW = 20  # items of a tuple that are compared one by one


class Inside:
    """Something inside a container that is too large to be looked into."""

    __slots__ = ("container",)

    def __init__(self, container: Any) -> None:
        self.container = container


class Members:
    """Something new that holds the members of a container: a copy, a slice, its items.

    ``key`` is the only one under which they are, if that is known.
    """

    __slots__ = ("container", "key")

    def __init__(self, container: Any, key: Any = ANY_KEY) -> None:
        self.container, self.key = container, key


class Namespace:
    """The ``__dict__`` of an object, or the globals of a function."""

    __slots__ = ("owner",)

    def __init__(self, owner: Any) -> None:
        self.owner = owner


class Made:
    """A new instance of a class, which is made when the function runs."""

    __slots__ = ("kind",)

    def __init__(self, kind: type) -> None:
        self.kind = kind


class Held:
    """What a cache holds for later calls, or is going to: that of a function or of a property.

    ``kind`` is the class of the value, if that is known before it is made; of functions that change
    what they capture, that is their class. ``is_result`` says that a method of it has returned
    this, which may be new.
    """

    __slots__ = ("is_result", "kind", "name", "owner")

    def __init__(
        self, owner: Any, name: str, kind: type | None = None, is_result: bool = False
    ) -> None:
        self.owner, self.name, self.kind, self.is_result = owner, name, kind, is_result


class Dotted:
    """Something in a module that is not loaded yet, by its full name."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


# Of these there are several for one thing: each look at a method makes another object.
_SEVERAL = {
    *(Inside, Members, Namespace, Made, Held, Dotted),
    *(MethodType, BuiltinMethodType, partial, tuple),
}
# Nothing can be written to these, and nothing is inside: which of them it is makes no difference.
_PLAIN = {bool, bytes, complex, float, int, str, type(None)}


def identity(value: Any) -> Any:
    """What makes two values the same, also of those that stand for others."""
    kind = type(value)
    if kind in _PLAIN:
        return "plain"
    if kind not in _SEVERAL or (kind is tuple and len(value) >= _FEW):
        return id(value)
    if kind is tuple:
        return tuple, *map(identity, value)
    if kind is Members:
        return Members, identity(value.container), value.key
    if kind is Held:
        return Held, id(value.owner), value.name, value.kind, value.is_result
    if kind is Made:
        return Made, id(value.kind)
    if kind is Dotted:
        return Dotted, value.name
    if kind is Inside:
        return Inside, id(value.container)
    if kind is Namespace:
        return Namespace, id(value.owner)
    if kind is MethodType:
        return MethodType, id(value.__func__), identity(value.__self__)
    if kind is BuiltinMethodType:
        return BuiltinMethodType, id(value.__self__), value.__qualname__
    named = tuple((name, identity(given)) for name, given in value.keywords.items())
    return partial, id(value.func), tuple(map(identity, value.args)), named


def unlike(values: list[Any]) -> list[Any]:
    """The values, each once, without new containers that hold nothing but plain values."""
    if not values or (len(values) == 1 and type(values[0]) is not Members):
        return values
    found: dict[Any, Any] = {}
    for value in values:
        if not (type(value) is Members and _is_plain(value)):
            found.setdefault(identity(value), value)
    return list(found.values())


def _is_plain(value: Any) -> bool:
    kind = type(value)
    if kind is Members:
        return _is_plain(value.container)
    return kind in _PLAIN or (kind is tuple and len(value) < _FEW and all(map(_is_plain, value)))


def nesting(value: Any) -> int:
    """How many new containers are inside each other."""
    if type(value) is not Members:
        return 0
    inner = value.container if isinstance(value.container, tuple) else (value.container,)
    return 1 + max(map(nesting, inner), default=0)
