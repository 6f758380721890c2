"""Dealing: a pipeline that gives every so many-th element and computes few of the others.

``range -> map -> batch`` with every second batch wanted becomes ``range -> deal -> map -> batch``:
stages that treat each element, or each batch, by itself need not see what others get.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from keepset.core.node import Node
from keepset.nodes.batch import Batch
from keepset.nodes.deal import Deal
from keepset.nodes.map import Map
from keepset.nodes.prefetch import Prefetch
from keepset.nodes.select import Select
from keepset.nodes.with_options import WithOptions

T = TypeVar("T")

Draws = dict[str, list[int]]

# Of these an element depends on the parent's element at the same place alone.
_ONE_TO_ONE = (Map, Select, Prefetch, WithOptions)


class Dealt:
    """The elements ``first``, ``first + step`` and so on of a pipeline, as a pipeline."""

    def __init__(self, node: Node, first: int, step: int) -> None:
        size, later = 1, list[Node]()
        self.node, self._where = node, ""
        self._is_whole = first == 0 and step == 1
        if self._is_whole:
            return
        while isinstance(node, (Batch, *_ONE_TO_ONE)):
            size *= node.batch_size if isinstance(node, Batch) else 1
            later.append(node)
            node = node.parent
        self._where = ".0" * len(later)
        self.node = Deal(parent=node, first=first, step=step, size=size)
        for each in reversed(later):
            self.node = each.replaced(parent=self.node)

    def moved(self, by_place: Mapping[str, T]) -> dict[str, T]:
        """What is known of the pipeline's stages, by the places that they have in this one."""
        if self._is_whole:
            return dict(by_place)
        cut = len(self._where)
        return {
            f"{self._where}.0{where[cut:]}" if where.startswith(self._where) else where: known
            for where, known in by_place.items()
        }
