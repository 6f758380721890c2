"""Stages of the user's own count by their code, and by their fields as these are declared."""

from __future__ import annotations

import importlib.util
import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import keepset as ks
from keepset.snapshot.identity.pipeline_identity import identify

SOURCE = """
from keepset.core.chunk import Chunk
from keepset.core.cursor import Cursor
from keepset.core.node import Node, stage
from keepset.core.parameter import parameter, upstream


@stage
class Scaled(Node):
    parent: Node = upstream()
    factor: int = 2
    verbose: bool = parameter(default=False, identity=False)

    def cursor(self, run):
        return _ScaledCursor(self, self.parent.cursor(run.input(0)))

    def cardinality(self):
        return self.parent.cardinality()

    def infer_spec(self, spec):
        return spec(self.parent)


class _ScaledCursor(Cursor):
    def __init__(self, node, parent):
        self._node, self._parent = node, parent

    def read(self, max_rows):
        chunk = self._parent.read(max_rows)
        rows = [x * self._node.factor for x in chunk.rows]
        return Chunk.from_rows(rows) if rows else chunk

    def state(self):
        return {"parent": self._parent.state()}

    def restore(self, state):
        self._parent.restore(state["parent"])

    def close(self):
        self._parent.close()
"""
Make = Callable[..., ks.Dataset]


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Makes a dataset of the stage in a module that says ``source``."""
    numbers = itertools.count()

    def make(source: str = SOURCE, kind: str = "Scaled", **given: Any) -> ks.Dataset:
        folder = tmp_path / str(next(numbers))
        folder.mkdir()
        (folder / "own_stage.py").write_text(source)
        spec = importlib.util.spec_from_file_location("own_stage", folder / "own_stage.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, "own_stage", module)
        spec.loader.exec_module(module)
        return ks.Dataset(getattr(module, kind)(parent=ks.Dataset.range(4)._node, **given))

    return make


def digest(ds: ks.Dataset) -> str:
    return identify(ds._node).fingerprint


def test_the_fields_count_as_they_are_declared(own: Make) -> None:
    assert digest(own()) == digest(own())
    assert digest(own()) == digest(own(verbose=True))
    assert digest(own()) != digest(own(factor=3))


def test_the_code_counts(own: Make, tmp_path: Path) -> None:
    def elements(source: str) -> list[int]:
        return [int(x) for x in own(source).snapshot(tmp_path / "snapshot")]

    assert elements(SOURCE) == [0, 2, 4, 6]
    assert elements(SOURCE.replace("x * self", "x + self")) == [2, 3, 4, 5]
    assert elements(SOURCE) == [0, 2, 4, 6]


def test_one_that_is_called_as_ours_is_not_ours(own: Make) -> None:
    theirs = own(SOURCE.replace("Scaled", "Take").replace("factor", "count"), "Take", count=3)
    assert digest(theirs) != digest(ks.Dataset.range(4).take(3))
