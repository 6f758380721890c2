"""Generators with the functions written into them: what a loop costs that calls nothing.

No library can be given its functions this way. The distance to ``generators`` is the price of
the calls alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from contenders.generators import batched, shuffled

DISTRIBUTIONS = ("numpy",)

Start = Callable[[], Iterator[Any]]


def doubled(n: int) -> Iterator[np.int64]:
    return (x * 2 for x in np.arange(n))


def even(n: int) -> Iterator[np.int64]:
    return (x for x in np.arange(n) if x % 2 == 0)


def doubled_even(n: int) -> Iterator[np.int64]:
    return (y for x in np.arange(n) if (y := x * 2) % 2 == 0)


PIPELINE: dict[str, Callable[[int], Start]] = {
    "map": lambda n: lambda: doubled(n),
    "filter": lambda n: lambda: even(n),
    "map+filter": lambda n: lambda: doubled_even(n),
    "map+batch": lambda n: lambda: batched(doubled(n)),
    "filter+batch": lambda n: lambda: batched(even(n)),
    "map+filter+shuffle+batch": lambda n: lambda: batched(shuffled(doubled_even(n))),
}
