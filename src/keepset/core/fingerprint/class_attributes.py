"""Class attributes: what a class has, found without running the user's code.

``hasattr`` and ``getattr`` run the ``__getattr__`` of an object or of a metaclass, which may raise
anything or make something new. ``isinstance`` believes what ``__class__`` says.
"""

from __future__ import annotations

import weakref
from types import UnionType
from typing import Any

_MRO = type.__dict__["__mro__"].__get__
_NAMESPACE = type.__dict__["__dict__"].__get__
_CLASS = object.__dict__["__class__"]


def class_attribute(kind: type, name: str, default: Any = None) -> Any:
    """What a class or one of its bases defines, as it stands there and not bound."""
    for base in _MRO(kind):
        namespace = _NAMESPACE(base)
        if name in namespace:
            return namespace[name]
    return default


def has_class_attribute(kind: type, name: str) -> bool:
    return any(name in _NAMESPACE(base) for base in _MRO(kind))


def attributes_of(value: Any) -> dict[str, Any]:
    """The ``__dict__`` of an object; an empty dict if it has none."""
    try:
        found = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return found if isinstance(found, dict) else {}


def is_a(value: Any, kinds: type | tuple[type, ...] | UnionType) -> bool:
    """As ``isinstance``, by the class that an object has and not by the one that it names."""
    return issubclass(type(value), kinds)


def is_disguised(kind: type) -> bool:
    """Whether objects of a class may pretend to be of another one: mocks, proxies of all sorts.

    ``isinstance`` says of them what their ``__class__`` does, and rules for that class fail.
    """
    return class_attribute(kind, "__class__") is not _CLASS or issubclass(kind, weakref.ProxyTypes)
