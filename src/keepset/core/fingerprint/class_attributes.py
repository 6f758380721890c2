"""Class attributes: what a class has, found without running the user's code.

``hasattr`` and ``getattr`` run the ``__getattr__`` of an object or of a metaclass, which may raise
anything or make something new. ``isinstance`` believes what ``__class__`` says.
"""

from __future__ import annotations

from typing import Any

_MRO = type.__dict__["__mro__"].__get__
_NAMESPACE = type.__dict__["__dict__"].__get__


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
