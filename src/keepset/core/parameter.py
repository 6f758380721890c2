"""Parameter: what a field of a stage counts for, said where the field is declared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, Field, field
from typing import Any, Final, NamedTuple

from keepset.core.random import Randomness

_KEY: Final = "keepset"


class Declared(NamedTuple):
    """What a field counts for; one that says nothing counts for everything.

    Attributes:
        identity: Whether another value is another fingerprint.
        recipe: Whether recipes contain the value.
        inputs: How many stages the field holds: none, ``"one"`` or ``"several"``.
    """

    identity: bool = True
    recipe: bool = True
    inputs: str | None = None


_EVERYTHING: Final = Declared()


def parameter(
    *,
    default: Any = MISSING,
    default_factory: Callable[[], Any] | Any = MISSING,
    identity: bool = True,
    recipe: bool = True,
) -> Any:
    """Declare a field of a stage that does not count for everything.

    Args:
        default: The value of the field where none is given.
        default_factory: Makes that value.
        identity: Whether another value is another fingerprint. False is a promise that the
            elements are the same whatever the value is.
        recipe: Whether recipes contain the value. False for what belongs to this machine or this
            process, such as folders, credentials and objects that are found again.
    """
    declared = Declared(identity, recipe)
    if default_factory is not MISSING:
        return field(default_factory=default_factory, metadata={_KEY: declared})
    return field(default=default, metadata={_KEY: declared})


def upstream(*, several: bool = False) -> Any:
    """Declare a field of a stage that holds the stage before it, or ``several`` in a tuple."""
    declared = Declared(inputs="several" if several else "one")
    return field(metadata={_KEY: declared})


def declared(of: Field[Any]) -> Declared:
    """What a field of a stage counts for."""
    found: Declared = of.metadata.get(_KEY, _EVERYTHING)
    return found


def is_default(of: Field[Any], value: Any) -> bool:
    """Whether a field has the value that it has where none is given."""
    if isinstance(value, Randomness):
        return of.default_factory is not MISSING and value.seed is None and value.rerandomize
    if of.default is MISSING:
        return False
    return value is of.default or (
        type(value) is type(of.default)
        and isinstance(value, bool | int | float | str)
        and value == of.default
    )
