"""Steps: names for the points in a write at which a process may be killed.

Tests set ``hook`` and end the process, or look at the disk, at the step they are about.
"""

from __future__ import annotations

from collections.abc import Callable

hook: Callable[[str], None] | None = None


def reached(step: str) -> None:
    """Say that a write has come to ``step``, such as ``create:linked``."""
    if hook is not None:
        hook(step)
