"""Scan: a map that carries a value from element to element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from keepset.core.chunk import apart, freeze
from keepset.core.element import to_element
from keepset.core.element_json import element_from_json, element_to_json
from keepset.core.node import Node, must_run, stage
from keepset.core.run import Run
from keepset.core.spec import Spec
from keepset.core.structure import structure_of
from keepset.errors import ElementError, ResultError
from keepset.nodes.row_loop import Step
from keepset.nodes.rowwise import RowStage, checked


@stage
class Scan(RowStage):
    """``carried, output = function(carried, element)``; the outputs are the elements."""

    one_to_one: ClassVar[bool] = False

    initial_state: Any
    function: Callable[..., Any]
    output_signature: Any = None

    def __post_init__(self) -> None:
        state = to_element(self.initial_state)
        freeze(state)
        object.__setattr__(self, "initial_state", state)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        freeze(self.initial_state)  # which pickle forgets

    def steps(self, run: Run) -> list[Step]:
        carrier = _Carrier(self.function, self.initial_state)
        return [Step("carried", carrier, self.title, carrier), *checked(self)]

    def obstacle(self) -> str | None:
        return f"{self.title} needs all elements before the one asked for"

    def cardinality(self) -> int:
        return self.parent.cardinality()

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        return must_run() if self.output_signature is None else self.output_signature


class _Carrier:
    """The function, with the value that it has reached.

    Its arrays are read-only, because a failed element must leave the value as it was.
    """

    def __init__(self, function: Callable[..., Any], carried: Any) -> None:
        self._function, self._carried, self._previous = function, carried, carried
        self._structure = structure_of(carried)

    def __call__(self, element: Any) -> Any:
        carried = self._carried if self._structure.is_leaf else apart(self._carried)
        result = self._function(carried, element)
        if not isinstance(result, tuple | list) or len(result) != 2:
            raise ResultError(
                "the function of scan must return two values, the new state and the output, "
                f"but it returned {type(result).__name__}"
            )
        carried, output = to_element(result[0]), to_element(result[1])
        if structure_of(carried) != self._structure:
            raise ElementError(
                f"the state of scan must keep its structure {self._structure}, but it became "
                f"{structure_of(carried)}"
            )
        freeze(carried)
        self._previous, self._carried = self._carried, carried
        return output

    def state(self, before_last: bool) -> Any:
        return element_to_json(self._previous if before_last else self._carried)

    def restore(self, state: Any) -> None:
        # Built anew by the live structure: JSON does not know a user's own classes.
        loaded = element_from_json(state)
        self._carried = self._structure.build(structure_of(loaded).leaves(loaded))
        freeze(self._carried)
