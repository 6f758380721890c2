"""A field of a stage counts for everything, unless its declaration says otherwise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields

import numpy as np

from keepset.core.cursor import Cursor
from keepset.core.node import Node, stage
from keepset.core.parameter import declared, is_default, parameter, upstream
from keepset.core.run import Run
from keepset.core.spec import Spec
from keepset.nodes.range import Range


@stage
class Own(Node):
    parent: Node = upstream()
    others: tuple[Node, ...] = upstream(several=True)
    size: int = 1
    threads: int = parameter(default=2, identity=False)
    folder: str | None = parameter(default=None, identity=False, recipe=False)
    names: list[str] = parameter(default_factory=list, recipe=False)

    def cursor(self, run: Run) -> Cursor:
        raise NotImplementedError

    def cardinality(self) -> int:
        return 0

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        return spec(self.parent)


def test_a_field_that_says_nothing_counts_for_everything() -> None:
    said = {field.name: tuple(declared(field)) for field in fields(Own)}
    assert said == {
        "name": (False, True, None),
        "parent": (True, True, "one"),
        "others": (True, True, "several"),
        "size": (True, True, None),
        "threads": (False, True, None),
        "folder": (False, False, None),
        "names": (True, False, None),
    }


def test_declared_fields_have_their_defaults() -> None:
    source = Range(start=0, stop=3, dtype=np.dtype(np.int64))
    own = Own(parent=source, others=())
    assert (own.threads, own.folder, own.names) == (2, None, [])
    values = {field.name: field for field in fields(Own)}
    assert is_default(values["threads"], 2)
    assert not is_default(values["threads"], 3)
    assert set(own.parameters) == {"others", "size", "threads", "names"}  # the folder says little
