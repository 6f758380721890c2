"""Kills, silent writers and failing disks, simulated within one process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

from keepset.snapshot.writing import lease
from keepset.snapshot.writing.first_pass import FirstPass
from keepset.storage import steps


class Killed(BaseException):
    """What the threads of a writer meet that is to be gone."""


def kill(first: FirstPass) -> None:
    """As if the process of a writer were gone: nothing more is written, nothing is tidied up."""
    first._open = False
    first._lost = True  # so that its iterator, when it is dropped, has nothing to finish
    lease.let_go(first._lease._run)
    first._lease._released.set()
    first._lease._thread.join()
    recorder = first._recorder
    recorder._failure = recorder._failure or Killed()
    recorder._jobs.put(None)
    recorder._thread.join()
    file = getattr(recorder._segments._file, "_file", None)
    if file is not None:
        file.close()  # the descriptor only; the file stays


@contextmanager
def dead_writers(are_so: bool = True) -> Iterator[None]:
    """All writers seem to be dead, as those do that are elsewhere and were silent for long."""
    if are_so:
        with mock.patch.object(lease.Holder, "is_alive", return_value=False):
            yield
    else:
        yield


@contextmanager
def failing_at(step: str | None) -> Iterator[None]:
    """The disk fails the next time that a write has come to a step."""

    def hook(reached: str) -> None:
        if reached == step:
            steps.hook = None
            raise OSError(5, "the disk is failing")

    steps.hook = hook if step is not None else None
    try:
        yield
    finally:
        steps.hook = None
