"""GlobalShuffle: all elements in random order, by a permutation that is computed, not stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from keepset.core.dtypes import Array
from keepset.core.node import stage
from keepset.core.random import Permutation, Randomness
from keepset.core.run import Run
from keepset.errors import InvalidArgumentError, NotAddressableError
from keepset.nodes.indexed import Indexed


class Global:
    """The type of ``keepset.GLOBAL``, which stands for a buffer that holds everything."""

    def __repr__(self) -> str:
        return "keepset.GLOBAL"

    def __reduce__(self) -> str:
        return "GLOBAL"


GLOBAL: Final = Global()


@stage
class GlobalShuffle(Indexed):
    """Every element equally likely in every place, in memory that does not grow."""

    source: Randomness

    def __post_init__(self) -> None:
        obstacle = self.parent.obstacle()
        if obstacle is not None:
            raise NotAddressableError(
                "shuffle(keepset.GLOBAL) needs elements that can be had by position, but "
                f"{obstacle}; shuffle earlier, or use a buffer: shuffle(buffer_size)"
            )
        if self.parent.cardinality() < 0:
            raise InvalidArgumentError(
                "shuffle(keepset.GLOBAL) needs a finite number of elements, but "
                f"{self.parent.title} has no end; shuffle before repeat"
            )

    @property
    def randomness(self) -> Randomness:
        return self.source

    @property
    def jumps(self) -> bool:
        return True

    def cardinality(self) -> int:
        return self.parent.cardinality()

    def translator(self, run: Run) -> Callable[[Array], Array]:
        return Permutation(self.cardinality(), run.key(self))

    @property
    def kind(self) -> str:
        return "shuffle_global"
