"""Choice: what the texts after ``--only`` ask for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar


class Named(Protocol):
    @property
    def name(self) -> str: ...


JobT = TypeVar("JobT", bound=Named)


@dataclass(frozen=True)
class Choice(Generic[JobT]):
    jobs: list[JobT]
    peers: list[str]
    figures: list[str]


def choose(
    only: Sequence[str], jobs: Sequence[JobT], peers: Sequence[str], figures: Sequence[str] = ()
) -> Choice[JobT]:
    """Each text picks jobs with it in their name, or figures, or else peers.

    Who picks only peers wants all jobs; who picks only jobs or figures wants all peers; "none" is
    a choice of no peer.
    """
    picked_jobs: set[str] = set()
    picked_peers: set[str] = set()
    picked_figures: set[str] = set()
    for text in only:
        found = {job.name for job in jobs if text in job.name}
        named = {name for name in figures if text in name}
        known = {name for name in peers if text in name} if not found and not named else set()
        if not (found or named or known or text == "none"):
            names = ", ".join([*peers, *figures, *(job.name for job in jobs)])
            raise SystemExit(f"error: {text!r} is in no name; choose from {names}")
        picked_jobs |= found
        picked_figures |= named
        picked_peers |= known
    everything = not picked_jobs and not picked_figures
    return Choice(
        [job for job in jobs if everything or job.name in picked_jobs],
        [name for name in peers if name in picked_peers or not (picked_peers or "none" in only)],
        [name for name in figures if everything or name in picked_figures],
    )
