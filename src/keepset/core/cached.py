"""Cached properties that a fork cannot leave locked."""

from __future__ import annotations

import functools
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from functools import cached_property as cached_property
else:

    def cached_property(function: Any) -> functools.cached_property:
        """Compute a property once, as ``functools.cached_property`` does from Python 3.12 on.

        In Python 3.11 that has a lock for all instances. A process that is forked while a thread
        computes the property of any of them would wait for the lock for ever. Without it, two
        threads may both compute a value, and the last one stays.

        Example:
            >>> class Squares:
            ...     @cached_property
            ...     def first(self):
            ...         return [x * x for x in range(3)]
            >>> squares = Squares()
            >>> squares.first, squares.first is squares.first
            ([0, 1, 4], True)
        """
        made = functools.cached_property(function)
        if hasattr(made, "lock"):
            made.lock = nullcontext()
        return made
