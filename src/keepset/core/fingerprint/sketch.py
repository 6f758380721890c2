"""Sketch: what one value is made of, before anything is hashed.

Each kind of value has a rule that turns it into a sketch: a few bytes of its own and a list of
parts that are values again. Rules do not call each other; the graph that is built from sketches
takes care of depth, repetition and cycles.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

from keepset.core.record import mutable_record, record


@mutable_record
class Part:
    """A value inside another one.

    ``label`` is for people; ``tag`` counts, and must tell the parts of one value apart where their
    order does not.
    """

    label: str
    value: Any
    tag: bytes


def part(label: str, value: Any) -> Part:
    return Part(label, value, label.encode("utf-8", "surrogatepass"))


@mutable_record
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

    kind: str
    text: str
    own: bytes = b""
    parts: list[Part] = field(default_factory=list)
    ordered: bool = False
    listed: bool = True
    source: str = ""
    library: str = ""


@record
class ByName:
    """Stands for something in a library, which counts by its name."""

    name: str


class Uncountable(Exception):  # noqa: N818 - a signal between the rules and the graph
    """Raised by a rule for a value that has no content: ``what`` it is, and a remark."""

    def __init__(self, what: str, remark: str = "") -> None:
        super().__init__(what)
        self.what, self.remark = what, remark


def shortened(text: str, limit: int = 80) -> str:
    return text if len(text) <= limit else text[: limit - 3] + "..."
