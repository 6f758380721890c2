"""Mask: what of a graph does not count."""

from __future__ import annotations

from typing import Any, Protocol

from keepset.core.fingerprint.sketch import Part
from keepset.core.fingerprint.vertex import Vertex


class Mask(Protocol):
    """What of a graph does not count."""

    def hides(self, vertex: Vertex) -> bool:
        """Whether the own content of a vertex does not count."""

    def hides_part(self, vertex: Vertex, part: Part) -> bool:
        """Whether a part of a vertex does not count."""

    def hidden_keys(self, vertex: Vertex) -> frozenset[Any]:
        """The keys of a container of which the items do not count."""
