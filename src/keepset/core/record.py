"""Records: classes that are a list of fields, made several times as fast as data classes.

A data class compiles its methods from text when it is defined, half a millisecond for each. What
everybody imports has dozens of them. Records share methods that look at the fields instead.
``dataclasses.fields`` and ``dataclasses.replace`` work on them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(kind: type[T]) -> type[T]:
    """Make a class a value: equal to others of the same fields, hashable, and never changed.

    Example:
        >>> @record
        ... class Place:
        ...     shard: int
        ...     rank: int = 0
        >>> Place(3), Place(3) == Place(3, rank=0), Place(3) == Place(4)
        (Place(shard=3, rank=0), True, False)
    """
    return _with_methods(
        kind, {"__eq__": _eq, "__hash__": _hash, "__setattr__": _set, "__delattr__": _delete}
    )


@dataclass_transform(eq_default=False, field_specifiers=(field,))
def mutable_record(kind: type[T]) -> type[T]:
    """As ``record``, but its fields may be changed, and each is equal to itself only."""
    return _with_methods(kind, {})


def _with_methods(kind: type[T], methods: dict[str, Callable[..., Any]]) -> type[T]:
    for name, method in {"__init__": _init, "__repr__": _repr, **methods}.items():
        # A method that the class defines stays, and so does one of a record that it extends.
        if getattr(kind, name) is getattr(object, name):
            setattr(kind, name, method)
    return dataclass(init=False, repr=False, eq=False, match_args=False)(kind)


def _init(self: Any, *values: Any, **named: Any) -> None:
    known, left = self.__dict__, list(reversed(values))
    for each in fields(self):
        if not each.init:
            continue
        if left and each.name not in named:
            known[each.name] = left.pop()
        elif left:
            raise TypeError(f"{type(self).__name__} got {each.name} twice")
        elif each.name in named:
            known[each.name] = named.pop(each.name)
        elif each.default is not MISSING:
            known[each.name] = each.default
        elif each.default_factory is not MISSING:
            known[each.name] = each.default_factory()
        else:
            raise TypeError(f"{type(self).__name__} needs {each.name}")
    if left or named:
        raise TypeError(f"{type(self).__name__} takes no {', '.join(named) or 'further values'}")
    if finish := getattr(self, "__post_init__", None):
        finish()


def _values(self: Any) -> tuple[Any, ...]:
    return tuple(getattr(self, each.name) for each in fields(self) if each.compare)


def _eq(self: Any, other: object) -> Any:
    return _values(self) == _values(other) if type(other) is type(self) else NotImplemented


def _hash(self: Any) -> int:
    return hash(_values(self))


def _repr(self: Any) -> str:
    shown = [f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr]
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _set(self: Any, name: str, value: Any) -> None:
    raise FrozenInstanceError(f"cannot assign to {name} of a {type(self).__name__}")


def _delete(self: Any, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete {name} of a {type(self).__name__}")
