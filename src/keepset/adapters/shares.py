"""Shares: the elements of one pipeline divided among ranks, and within a rank among workers.

Element ``i`` of a pass belongs to the rank ``i % world_size``; a rank deals its elements to its
workers in the same way. So every process that is told the number of the pass, and how many elements
were taken of it before, knows its own elements without a word from the others.
"""

from __future__ import annotations

import copy
import operator
import os
import sys
from collections.abc import Generator
from dataclasses import fields
from typing import Any

import numpy as np

from keepset.adapters.dealing import Dealt
from keepset.adapters.passes import Passes, stages_by_place
from keepset.adapters.reading import chunks_of
from keepset.core.chunk import Chunk
from keepset.core.describe import count_text
from keepset.core.dtypes import Array
from keepset.core.node import INFINITE, UNKNOWN, Node
from keepset.core.random import Randomness, seeds_are_set
from keepset.core.run import Run, start
from keepset.core.state_errors import state_errors
from keepset.core.state_outline import check_outline, outline_of
from keepset.errors import ElementIndexError, InvalidArgumentError, StateError


class Shares:
    """The share of one rank in a pipeline."""

    def __init__(
        self, node: Node, rank: int = 0, world_size: int = 1, drop_last: bool = False
    ) -> None:
        if not 0 <= rank < world_size:
            raise InvalidArgumentError(
                f"rank must be from 0 to world_size - 1, not {rank} of {world_size}"
            )
        if drop_last and node.cardinality() == UNKNOWN:
            raise InvalidArgumentError(
                "drop_last needs to know how many elements there are, and the pipeline does not; "
                "state it with assert_cardinality(n)"
            )
        self.node, self.rank, self.world_size = node, rank, world_size
        self._drop_last = drop_last
        self.passes = Passes(node)
        self._process = os.getpid()
        self._run: tuple[int, Run] | None = None  # for elements by position, and its pass
        self._begun: dict[str, Any] = {}  # by stages of the pass that was begun last
        self._handed: dict[str, Any] = {}  # the same, until the pass is under way
        self._expected: dict[str, str] = {}  # fingerprints of a state that was restored
        if world_size > 1:
            self._agree()

    def _agree(self) -> None:
        """Make sure that all ranks draw the same, though each has built its own pipeline."""
        for where, stage in stages_by_place(self.node):
            randomness = stage.randomness
            if randomness is None or randomness.seed is not None or seeds_are_set():
                continue
            if not stage.opens_pipelines:
                raise InvalidArgumentError(
                    f"{stage.title} draws a seed of its own in each process, so that ranks would "
                    "not agree about the order; pass seed=, or call keepset.set_seed(n) before "
                    "the pipeline is built"
                )
            # It draws only for pipelines that its function opens.
            self.passes.fix_seed(where, 0)

    def again(self) -> Shares:
        """The same share for another reader, who may go on with other seeds."""
        return Shares(self.node, self.rank, self.world_size, self._drop_last)

    @property
    def draws_anew(self) -> bool:
        """Whether each pass has an order, or random elements, of its own."""
        return any(
            stage.randomness is not None
            and stage.randomness.rerandomize
            and not stage.opens_pipelines
            for stage in self.node.walk()
        )

    def __len__(self) -> int:
        length = self.node.cardinality()
        if length < 0:
            kind = "is infinite" if length == INFINITE else "has an unknown length"
            raise TypeError(f"the pipeline {kind}; take(n) or assert_cardinality(n) gives a length")
        return self._left(self.rank, self.world_size, 0)

    def _left(self, first: int, step: int, taken: int) -> int:
        """How many elements there are at ``first``, ``first + step`` and so on."""
        length = self.node.cardinality()
        if length < 0:
            return sys.maxsize
        if self._drop_last:
            length -= (length - taken) % self.world_size
        return max(0, -(-(length - first) // step))

    def begin(self) -> None:
        """Find out in this process what the workers of the next pass have to agree about."""
        found = [(where, stage.begin_pass()) for where, stage in stages_by_place(self._own_node())]
        self._begun = {where: begun for where, begun in found if begun is not None}
        self._handed = dict(self._begun)
        expected, self._expected = self._expected, {}
        for where, name in expected.items():
            if where in self._begun:
                self._begun[where].check_name(name)

    def chunks(
        self, number: int, taken: int = 0, worker: int = 0, workers: int = 1
    ) -> Generator[Chunk, None, None]:
        """The elements of a worker in the pass ``number``, of which all have taken ``taken``."""
        first = taken + self.rank + worker * self.world_size
        step = self.world_size * workers
        dealt = Dealt(self._own_node(), first, step)
        # What is dealt must come in the same order everywhere.
        handed, self._handed = dealt.moved(self._handed), {}
        run = start(dealt.node, dealt.moved(self.passes.draws(number)), handed).in_order()
        most = self._left(first, step, taken) if self._drop_last else None
        try:
            yield from chunks_of(dealt.node, run, most)
        except Exception as error:
            if step > 1 or first:
                error.add_note(
                    f"where element 0 is the first that worker {worker} of {workers} on rank "
                    f"{self.rank} of {self.world_size} gets, number {first} of the pipeline"
                )
            raise

    def at(self, positions: list[int], number: int) -> Chunk:
        """The elements at these positions of the share, as in the pass ``number``."""
        length = len(self)
        wanted: Array = np.asarray(positions, np.int64).reshape(-1)
        inside = np.where(wanted < 0, wanted + length, wanted)
        outside = (inside < 0) | (inside >= length)
        if outside.any():
            raise ElementIndexError(
                f"position {wanted[outside][0]} is outside a data set of {count_text(length)}"
            )
        node = self._own_node()
        if self._run is None or self._run[0] != number:
            self._run = number, start(node, self.passes.draws(number)).in_order()
        return node.gather(inside * self.world_size + self.rank, self._run[1])

    def _own_node(self) -> Node:
        """The pipeline, with nothing open or held that belongs to a process this is a fork of."""
        if self._process != os.getpid():
            self.node, self._run, self._process = _fresh(self.node), None, os.getpid()
        return self.node

    def state(self, number: int, taken: int) -> dict[str, Any]:
        """A place in a pass, as JSON: for any number of ranks and workers."""
        return {
            "pipeline": outline_of(self.node),
            "epoch": number,
            "taken": taken,
            "draws": self.passes.draws(number),
            "snapshots": {where: begun.name for where, begun in self._begun.items()},
        }

    def restore(self, state: Any) -> tuple[int, int]:
        """Go on with the seeds of a state; the number of the pass, and what was taken of it."""
        keys = {"pipeline", "epoch", "taken", "draws"}
        if not isinstance(state, dict) or not state.keys() >= keys:
            raise StateError("this is not a state of a loader; pass what loader.state_dict() gave")
        check_outline(self.node, state["pipeline"])
        number, taken = _count_of(state["epoch"]), _count_of(state["taken"])
        if number is None or taken is None:
            raise StateError(
                f"this state is at element {state['taken']!r:.50} of the pass "
                f"{state['epoch']!r:.50}, which is no place; pass what loader.state_dict() gave"
            )
        with state_errors(state):
            # Where nothing was taken it is the beginning, whatever the stages compute.
            expected = dict(state.get("snapshots") or {}) if taken else self._expected
            if taken:
                self._check_snapshots(expected)
            self.passes.take_seeds(state["draws"])
        self._expected = expected
        return number, taken

    def _check_snapshots(self, stored: Any) -> None:
        for where, stage in stages_by_place(self.node):
            name = stored.get(where)
            if name is not None and (begun := stage.begin_pass()) is not None:
                begun.check_name(name)

    # Workers that are started afresh get it pickled, with functions that have no name.

    def __getstate__(self) -> dict[str, Any]:
        import cloudpickle  # takes longer to import than this package

        return self.__dict__ | {"node": cloudpickle.dumps(self.node), "_run": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        import cloudpickle

        self.__dict__.update(state, node=cloudpickle.loads(state["node"]), _process=os.getpid())


def _count_of(value: Any) -> int | None:
    """The number of a pass, or of elements, in a state; None if a value can be none.

    Libraries that store checkpoints give numbers back as those of NumPy.
    """
    try:
        count = operator.index(value)
    except TypeError:
        return None
    return count if type(value) is not bool and 0 <= count < 1 << 63 else None


def _fresh(node: Node) -> Node:
    """The same stages, which have found out and opened nothing yet."""
    stage = copy.copy(node)
    for field in fields(node):
        value = getattr(node, field.name)
        if isinstance(value, Node):
            stage.__dict__[field.name] = _fresh(value)
        elif isinstance(value, Randomness):
            stage.__dict__[field.name] = copy.copy(value)
        elif isinstance(value, tuple) and all(isinstance(each, Node) for each in value):
            stage.__dict__[field.name] = tuple(map(_fresh, value))
    return stage
