"""EmptyHit: say once in a process that a snapshot which is replayed has no elements."""

from __future__ import annotations

from keepset.core.warn import warn_user

_warned: set[str] = set()


def warn_of_empty_hit(url: str) -> None:
    """Warn, once for each snapshot, that it is complete and has no elements.

    The pass that stored it may have been warned of a filter, and is over: training on nothing would
    go on in silence.
    """
    if url not in _warned:
        _warned.add(url)
        warn_user(
            f"{url} is a complete snapshot of no elements, so that this pass yields none; if that "
            "is not meant, look at the sources and filters before it, and remove it with "
            f"`keepset rm {url}` to compute it again"
        )
