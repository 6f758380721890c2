"""ChooseFromDatasets: take each element from the input that a data set of numbers names."""

from __future__ import annotations

from typing import Any

import numpy as np

from keepset.core.cursor import Cursor, State
from keepset.core.dtypes import Array
from keepset.core.node import INFINITE, UNKNOWN, Node, stage
from keepset.core.parameter import upstream
from keepset.core.run import Run
from keepset.core.spec import Spec, TensorSpec, spec_of
from keepset.core.structure import LEAF
from keepset.errors import ElementError
from keepset.nodes.directed import Directed, Input, Selector


@stage
class ChooseFromDatasets(Directed):
    """The next element of ``parents[c]`` for each number ``c`` of ``choice``.

    It ends when ``choice`` ends, when a chosen input is empty (if ``stop_on_empty_dataset``), or
    when all are; otherwise choices of empty inputs are passed over.
    """

    choice: Node = upstream()
    stop_on_empty_dataset: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        known = self.choice.known_spec()
        if known is not None:
            _check_choice(known[0])

    def selector(self, run: Run) -> Selector:
        choices = self.choice.cursor(run.input(len(self.parents)))
        return _Choices(choices, len(self.parents))

    def cardinality(self) -> int:
        # One endless input is enough only if the others may run empty.
        endless = [parent.cardinality() == INFINITE for parent in self.parents]
        lasts = all(endless) if self.stop_on_empty_dataset else any(endless)
        return INFINITE if lasts and self.choice.cardinality() == INFINITE else UNKNOWN


def _check_choice(spec: Spec) -> None:
    if (
        not isinstance(spec, TensorSpec)
        or spec.shape not in ((), None)
        or not isinstance(spec.dtype, np.dtype)
        or spec.dtype.kind not in "iu"
    ):
        raise ElementError(f"choose_from_datasets needs choices that are integers, not {spec}")


class _Choices:
    is_free = False

    def __init__(self, cursor: Cursor, inputs: int) -> None:
        self._source, self._inputs = Input(cursor), inputs

    def peek(self, count: int) -> Array:
        self._source.raise_error()
        chunk = self._source.peek(count)
        if not len(chunk):
            self._source.raise_error()
            return np.zeros(0, np.int64)
        column: Any = chunk.columns[0] if chunk.structure == LEAF else None
        if not isinstance(column, np.ndarray) or column.ndim != 1 or column.dtype.kind not in "iu":
            column = np.array([self._checked(chunk.rows[0])])
        outside = np.flatnonzero((column < 0) | (column >= self._inputs))
        inside = int(outside[0]) if len(outside) else len(column)
        if inside:
            choices: Array = column[:inside].astype(np.int64, copy=False)
            return choices
        self._source.use(1)
        raise ElementError(
            f"choose_from_datasets has {self._inputs} data sets, but the choice was {column[0]}; "
            f"choose from 0 to {self._inputs - 1}"
        )

    def _checked(self, choice: Any) -> Any:
        try:
            _check_choice(spec_of(choice))
        except ElementError:
            self._source.use(1)
            raise
        return choice

    def use(self, count: int) -> None:
        self._source.use(count)

    def state(self) -> State:
        return self._source.state()

    def restore(self, state: State) -> None:
        self._source.restore(state)

    def close(self) -> None:
        self._source.close()
