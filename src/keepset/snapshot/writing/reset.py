"""Reset: the commit that makes everything before it void."""

from __future__ import annotations

import time

from keepset.format.commit import Commit
from keepset.format.log import Log, LogState
from keepset.snapshot.writing.run_id import new_run_id


def add_reset(log: Log, state: LogState, reason: str) -> None:
    """Begin a new generation, behind whatever others commit meanwhile."""
    body = {"generation": state.generation + 1, "reason": reason}
    while not log.add(state, Commit(state.next_number, "reset", new_run_id(), time.time(), body)):
        log.follow(state)
        body = {"generation": state.generation + 1, "reason": reason}
