"""Reset: the commit that makes everything before it void."""

from __future__ import annotations

import time

from keepset.format.commit import Commit
from keepset.format.log import Log, LogState
from keepset.snapshot.writing.run_id import new_run_id


def add_reset(log: Log, state: LogState, reason: str) -> None:
    """Begin a new generation, behind whatever others commit meanwhile."""
    while not log.add(state, _reset(state.next_number, reason)):
        log.follow(state)


def _reset(number: int, reason: str) -> Commit:
    # Larger than that of any reset before, also of those that the state does not go back to.
    body = {"generation": number + 1, "reason": reason}
    return Commit(number, "reset", new_run_id(), time.time(), body)
