"""Unfilled state: variables that a first pass moved, and that its replay leaves as they were.

A vocabulary that the functions of a training pipeline fill stays empty where its elements are
replayed. Whatever else uses it in that process computes something else than it did beside the first
pass: a pipeline for validation, or the stages behind the replayed snapshot. That is said, and what
such a pass computes is not stored.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from keepset.core.fingerprint import Facts, Ignore, places_reached
from keepset.core.node import Node
from keepset.core.run import before_passes
from keepset.core.warn import warn_user
from keepset.errors import FingerprintError
from keepset.snapshot.identity.pipeline_identity import may_replay, values_of_stages

_MOST: Final = 1_000
# A pipeline at one moment: its digests with and without own state.
Key = tuple[str, str]


class Unfilled(NamedTuple):
    """One variable that a replay has left as it was.

    Attributes:
        path: The way to it from the pipeline that was replayed.
        url: Where that is stored.
        after: The digest of what its first pass left there; None if that is not known.
        is_lazy: Whether it holds nothing yet: the function that needs it first sets it.
    """

    path: str
    url: str
    after: str | None
    is_lazy: bool


_unfilled: OrderedDict[Any, Unfilled] = OrderedDict()
# The pipelines that were replayed, as they were then: the state is as each of them needs it.
_replayed: set[Key] = set()
_warned: set[tuple[Any, str]] = set()


def key_of(facts: Facts) -> Key:
    return facts.fixed, facts.digest


def recorded_moves(begun: Facts, now: Facts) -> dict[str, str]:
    """What a pass has moved, by its path, and the digest of what it has left there."""
    return {
        state.path: now.state[place].digest
        for place, state in begun.state.items()
        if place in now.state and now.state[place].digest != state.digest
    }


def note_replay(
    begun: Facts, moves: Mapping[str, str] | None, url: str, others: Iterable[Key] = ()
) -> None:
    """Note that a pipeline is replayed, and so does not move its state.

    Args:
        begun: The facts of it.
        moves: What was recorded with it, as :func:`recorded_moves`; None if nothing was.
        url: Where it is stored.
        others: The pipelines before it, which find the state as they need it as well.
    """
    _replayed.update((key_of(begun), *others))
    for place, state in begun.state.items():
        if moves is not None and state.path not in moves:
            continue
        after = None if moves is None else moves[state.path]
        is_lazy = state.is_unset and after is not None
        _unfilled.setdefault(place, Unfilled(state.path, url, after, is_lazy))
        if len(_unfilled) > _MOST:
            _unfilled.popitem(last=False)


def was_replayed(facts: Facts) -> bool:
    """Whether a pipeline was replayed in this process with the state that it has now."""
    return key_of(facts) in _replayed


def is_any_unfilled() -> bool:
    return bool(_unfilled)


def unfilled_reached(
    nodes: Sequence[Node], more: Sequence[tuple[str, Any]] = (), ignore: Sequence[str] = ()
) -> tuple[dict[Any, Unfilled], dict[Any, Unfilled]]:
    """The unfilled state that the functions of some stages use.

    Returns:
        That which they find otherwise than beside a first pass; and that which they set themselves,
        so that its content tells, once they have, whether it is what the first pass had left.
    """
    if not _unfilled:
        return {}, {}
    values = [*values_of_stages(nodes), *more]
    reached, written = places_reached(values, set(_unfilled), Ignore(ignore))
    awaited = {each for each in written if _unfilled[each].is_lazy}
    return (
        {each: _unfilled[each] for each in reached - awaited},
        {each: _unfilled[each] for each in awaited},
    )


def warn_unfilled(found: Mapping[Any, Unfilled], where: str, *, is_replayed: bool = False) -> None:
    """Warn of state that a replay has left unfilled, once for each place that uses it."""
    new = {place: each for place, each in found.items() if (place, where) not in _warned}
    _warned.update((place, where) for place in new)
    if new:
        warn_user(unfilled_text(list(new.values()), where, is_replayed=is_replayed))


def unfilled_text(found: Sequence[Unfilled], where: str, *, is_replayed: bool = False) -> str:
    """A warning that a pass finds state otherwise than it would beside a first pass."""
    first, more = found[0], f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    name = first.path.rpartition(" > ")[2]
    outcome = "" if is_replayed else ", and they are not stored"
    return (
        f"{where} uses {name}{more}, which the first pass of {first.url} moved and its replay does "
        f"not: its elements may be others than beside that first pass{outcome}; fill it in a pass "
        "of its own before both, or load it from a file, or put one snapshot behind both "
        "pipelines. If what it holds does not change the elements, as a memo of results, leave it "
        f'out of both: snapshot(path, ignore=["{name}"])'
    )


def note_filled(right: Iterable[Any], wrong: Iterable[Any]) -> None:
    """Note state that a pass has set, to what the first pass had left there or to another value."""
    for place in right:
        _unfilled.pop(place, None)
    for place in wrong:
        if place in _unfilled:
            _unfilled[place] = _unfilled[place]._replace(is_lazy=False)


@before_passes
def warn_of_pass(root: Node) -> None:
    """Warn of stages of a pass that no snapshot stores, and that use unfilled state."""
    if not _unfilled:
        return
    try:
        found, _ = unfilled_reached(list(_not_stored(root)))
    except (FingerprintError, RuntimeError):
        return  # it cannot be compared, or another thread is at work on it: so it is not
    warn_unfilled(found, f"a pass over {root.title}", is_replayed=True)


def _not_stored(root: Node) -> Iterator[Node]:
    """The stages that run in each pass: those before a snapshot say for themselves."""
    if not may_replay(root):
        yield root
        for each in root.inputs:
            yield from _not_stored(each)


def forget_unfilled_state() -> None:
    """Know nothing of earlier passes, as another process."""
    for table in (_unfilled, _replayed, _warned):
        table.clear()
