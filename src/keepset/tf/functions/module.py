"""Module: the base of classes that hold variables and other modules."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from typing import Any

from keepset.tf.functions.graphs import name_scope
from keepset.tf.functions.variable import Variable

_WORDS = (re.compile(r"(.)([A-Z][a-z0-9]+)"), re.compile(r"([a-z0-9])([A-Z])"))


class Module:
    """As ``tf.Module``: it names itself, and finds the variables in its attributes.

    Example:
        >>> import keepset.tf as tf
        >>> class RunningMean(tf.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.count = tf.Variable(0)
        >>> RunningMean().name, len(RunningMean().trainable_variables)
        ('running_mean', 1)
    """

    _name: str

    def __init__(self, name: str | None = None) -> None:
        if name is not None and not name.isidentifier():
            raise ValueError(
                f"{name!r} is not a valid module name. Module names must be valid Python "
                "identifiers (e.g. a valid class name)."
            )
        self._name = _snake_case(type(self).__name__) if name is None else name

    @property
    def name(self) -> str:
        return self._name

    @property
    def name_scope(self) -> Any:
        """For ``with``, where graphs would show the name."""
        return name_scope(self._name)

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables of this module and of those in it."""
        return tuple(each for each in self._found() if isinstance(each, Variable))

    @property
    def trainable_variables(self) -> tuple[Variable, ...]:
        return tuple(each for each in self.variables if each.trainable)

    @property
    def non_trainable_variables(self) -> tuple[Variable, ...]:
        return tuple(each for each in self.variables if not each.trainable)

    @property
    def submodules(self) -> tuple[Module, ...]:
        """The modules in this one, and in those."""
        return tuple(each for each in self._found() if isinstance(each, Module))

    def _found(self) -> Iterator[Any]:
        return _inside(self, {id(self)})

    @classmethod
    def with_name_scope(cls, method: Callable[..., Any]) -> Callable[..., Any]:
        """A method that runs in the module's ``name_scope``."""

        @functools.wraps(method)
        def call(self: Module, *args: Any, **kwargs: Any) -> Any:
            with self.name_scope:
                return method(self, *args, **kwargs)

        return call


def _inside(module: Module, seen: set[int]) -> Iterator[Any]:
    """What the attributes of a module hold, by their names, and then what its modules hold."""
    modules = []
    for _, held in sorted(vars(module).items()):
        for each in _leaves(held):
            if id(each) not in seen:
                seen.add(id(each))
                yield each
                modules.append(each)
    for each in modules:
        if isinstance(each, Module):
            yield from _inside(each, seen)


def _leaves(held: Any) -> Iterator[Any]:
    if isinstance(held, Variable | Module):
        yield held
    elif isinstance(held, dict):
        for _, each in sorted(held.items(), key=lambda pair: str(pair[0])):
            yield from _leaves(each)
    elif isinstance(held, list | tuple):
        for each in held:
            yield from _leaves(each)


def _snake_case(name: str) -> str:
    for pattern in _WORDS:
        name = pattern.sub(r"\1_\2", name)
    return name.lower()


__all__ = ["Module"]
