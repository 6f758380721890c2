"""Vertex: one value in the graph of all that a pipeline uses."""

from __future__ import annotations

from typing import Any

from keepset.core.fingerprint.ignore import SEPARATOR
from keepset.core.fingerprint.sketch import Part, Sketch


class Vertex:
    """A value, what it is made of, and where it was met first.

    Attributes:
        value: Held so that its id stays its own while the graph lives.
        parent: The vertex from which it was reached first; None for a root.
        label: What ``parent`` calls it.
        sketch: What it is made of; None for a container of plain values, which was hashed at once.
        edges: Its parts; those that are plain values have no vertex.
        own: The digest of its content without its parts.
        digest: The digest of everything.
        objects: How many objects lie on the way to it.
    """

    __slots__ = ("digest", "edges", "label", "objects", "own", "parent", "sketch", "value")

    def __init__(self, value: Any, parent: Vertex | None, label: str) -> None:
        self.value, self.parent, self.label = value, parent, label
        self.sketch: Sketch | None = None
        self.edges: list[tuple[Part, Vertex | None]] = []
        self.own = self.digest = b""
        self.objects: int = parent.objects if parent is not None else 0

    def labels(self) -> list[str]:
        """The labels from the root to here."""
        labels: list[str] = []
        step: Vertex | None = self
        while step is not None:
            labels.append(step.label)
            step = step.parent
        return labels[::-1]

    @property
    def path(self) -> str:
        return SEPARATOR.join(self.labels())
