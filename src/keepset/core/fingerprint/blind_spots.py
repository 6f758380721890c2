"""Blind spots: where walked functions use what their fingerprint cannot see through."""

from __future__ import annotations

from keepset.core.fingerprint.blind import Blind
from keepset.core.fingerprint.ignore import Ignore
from keepset.core.fingerprint.vertex import Vertex


def blind_spots(vertices: list[Vertex], ignore: Ignore | None) -> tuple[Blind, ...]:
    """What the functions among the vertices use and cannot be compared, without what is ignored."""
    return ()
