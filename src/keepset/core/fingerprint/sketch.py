"""Sketch: what one value is made of, before anything is hashed.

Each kind of value has a rule that turns it into a sketch: a few bytes of its own and a list of
parts that are values again. Rules do not call each other; the graph that is built from sketches
takes care of depth, repetition and cycles. There may be a million of them.
"""

from __future__ import annotations

from typing import Any

from keepset.core.record import record


class Part:
    """A value inside another one.

    ``label`` is for people; ``tag`` counts, and must tell the parts of one value apart where their
    order does not. ``binding`` says what holds the value, for a name that can be bound again: the
    id of a namespace or of a cell, and the name in it. What is ``optional`` counts if it can, what
    is ``held`` was made by a function for its next call.
    """

    __slots__ = ("binding", "held", "label", "optional", "tag", "value")

    def __init__(
        self, label: str, value: Any, tag: bytes, binding: tuple[int, str] | None = None
    ) -> None:
        self.label, self.value, self.tag, self.binding = label, value, tag, binding
        self.optional = self.held = False


def part(label: str, value: Any) -> Part:
    return Part(label, value, label.encode("utf-8", "surrogatepass"))


class Sketch:
    """A value's own content and its parts.

    Attributes:
        kind: Counts, and names the sort of thing in messages.
        text: For people; never counts.
        own: The content that is not in the parts.
        parts: The values it consists of.
        ordered: Whether the order of the parts counts.
        listed: Whether the parts are worth listing for people, one by one.
        source: The normalised source of a function.
        library: The library that the value refers to by name.
    """

    __slots__ = ("kind", "library", "listed", "ordered", "own", "parts", "source", "text")

    def __init__(
        self,
        kind: str,
        text: str,
        own: bytes = b"",
        parts: list[Part] | None = None,
        ordered: bool = False,
        listed: bool = True,
        source: str = "",
        library: str = "",
    ) -> None:
        self.kind, self.text, self.own = kind, text, own
        self.parts: list[Part] = [] if parts is None else parts
        self.ordered, self.listed = ordered, listed
        self.source, self.library = source, library


@record
class ByName:
    """Stands for something in a library, which counts by its name."""

    name: str


class Uncountable(Exception):  # noqa: N818 - a signal between the rules and the graph
    """Raised by a rule for a value that has no content: ``what`` it is, and a remark.

    One that ``breaks_off`` cannot even be looked at, by what asks whether it counts.
    """

    def __init__(self, what: str, remark: str = "", *, breaks_off: bool = False) -> None:
        super().__init__(what)
        self.what, self.remark, self.breaks_off = what, remark, breaks_off


def shortened(text: str, limit: int = 80) -> str:
    return text if len(text) <= limit else text[: limit - 3] + "..."
