"""Defects that the simulated world has found, put back one at a time.

A stored plan is of use only as long as its schedule still leads to the defect. That changes with
the calls that the library makes, so each defect that plans are stored for is tried again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final
from unittest import mock

from tests.faults.simulated_world.store import SimulatedStore

from keepset.snapshot.upkeep import collecting, removing
from keepset.storage import ObjectInfo, Store

_declare_removed = removing._declare_removed


def _only_over_commits(
    store: Store, found: dict[str, list[ObjectInfo]], numbers: Sequence[int]
) -> tuple[int, int]:
    """As it was: without a commit nothing says that the place was emptied, and all goes."""
    return _declare_removed(store, found, numbers) if numbers else (10**7, 0)


def _by_the_machine(store: SimulatedStore) -> float:
    """As it was: by the clock of the machine that collects, which may be wrong."""
    return float(vars(collecting)["time"].time())


DEFECTS: Final[dict[str, Callable[[], AbstractContextManager[Any]]]] = {
    "no reset without commits": lambda: mock.patch.object(
        removing, "_declare_removed", _only_over_commits
    ),
    "files of the living swept": lambda: mock.patch.object(
        SimulatedStore, "now_s", _by_the_machine
    ),
    "later commits deleted": lambda: mock.patch.object(removing, "_is_before", return_value=True),
}
