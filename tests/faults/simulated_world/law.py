"""The law of the simulated world.

The journal of a run says in which order commits came to be, and by which operation. Let ``c(x)`` be
the step at which the newest whole version of the data set ``x`` came to be. An operation begins and
ends at a step.

1.  Nothing that a reader or a pass yields is wrong: a load, and a pass that ends, yields all
    elements of one data set, in order. After damage to it, or to what had superseded it, a repair
    may have left some of them only, still in order.
2.  Nothing is called damaged unless it is: no actor meets a ``CorruptSnapshotError`` before the
    first damage, nor in an operation that begins after a repair has returned, if no damage came
    since that repair began. No actor meets an exception that is not the library's.
3.  What was acknowledged stays. A save is acknowledged when it returns, a pass when it says that it
    has stored its elements. A load that begins after ``y`` was acknowledged yields ``y`` or a data
    set ``x`` with ``c(x) > c(y)``; it finds nothing only if a reset or a repair came to be after
    ``c(y)``. So an rm whose reset came before a save has no effect on the save, even if the rm is
    still deleting files when the save returns. (A load that goes by a late listing may find what
    was there before that. The last load, when all is over, may not.) Damage to ``y`` itself, its
    commit or its segments, frees from that; damage to others does not, nor does a repair of them.
    One exception: if the commit of an rm is damaged while that rm deletes, a repair goes back to
    files that are about to go, and ``y`` may rest on them (docs/design/0023-repair.md).
4.  What was removed stays away. A load that begins after an rm has returned yields only data sets
    with ``c(x)`` after the rm began. Damage to the commit of the rm frees from that: a repair goes
    back to what came before it, as far as an rm that went by a late listing has left files.
5.  The place can be used. When all is over, whoever died when, a pass runs to its end and yields a
    whole data set, garbage is collected, the snapshot can be removed, and what is saved then can be
    loaded; nothing that is needed is damaged.
    If anything was damaged, a repair comes before all that, and succeeds.
6.  No collection removes an unfinished file that was written to within the last minute, by the
    clock of the disk: its writer may be alive, and have no lease yet.
7.  Nothing hangs: there is a bound on the number of steps, and all tasks never wait for each other.
"""

from __future__ import annotations

from tests.faults.simulated_world.scheduler import Actor
from tests.faults.simulated_world.store import Created, Operation
from tests.faults.simulated_world.world import PLACE, World, elements

from keepset.snapshot.upkeep.checking import check_snapshot

_QUIET_S = 2000.0  # longer than any lease, clocks that differ included
_WHOLE = ("complete", "replace")
_VOIDING = ("reset", "removed", "repair")


class BrokenLawError(AssertionError):
    """A run that must not be."""


def judge(world: World) -> None:
    """Check a run, and use the place afterwards."""
    for operation in list(world.operations):
        _judge_operation(world, operation)
    world.alone(lambda actor: _use(world, actor))
    if world.disk.swept:
        raise BrokenLawError(f"swept while it was written: {world.disk.swept[0]}")
    for operation, complaint in world.complaints:
        if not _was_damaged(world, operation):
            raise BrokenLawError(f"called damaged: {complaint}")


def _was_damaged(world: World, operation: Operation) -> bool:
    """Whether an operation could meet damage that no repair had dropped before it began."""
    damages = [step for step, _ in world.disk.damaged]
    end = world.scheduler.steps if operation.end is None else operation.end
    if not any(step <= end for step in damages):
        return False
    return not any(
        each.kind == "repair"
        and each.outcome == "ok"
        and not (world.plan.late_lists and each.actor != "judge")
        and each.end is not None
        and each.end <= operation.begin
        and not any(each.begin <= step <= end for step in damages)
        for each in world.operations
    )


def _judge_operation(world: World, operation: Operation) -> None:
    found = world.found.get(id(operation))
    if found is not None:
        _check_elements(world, operation, found)
    if operation.kind == "load" and operation.end is not None:
        _judge_load(world, operation, found, is_strict=not world.plan.late_lists)


def _check_elements(world: World, operation: Operation, found: list[int]) -> None:
    whole = elements(found[0] // 1000) if found else []
    damaged = [name for _, name in world.disk.damaged]
    if damaged and any("/segments/" in name for name in (*damaged, *world.disk.deleted)):
        # A repair of what was saved drops damaged elements, and those that an rm or a gc has
        # deleted whose commit is damaged.
        whole = [element for element in whole if element in found]
    if operation.kind == "begin":
        whole = whole[:2]
    if not found or found != whole:
        raise BrokenLawError(f"{operation} yields {found}")


def _judge_load(world: World, load: Operation, found: list[int] | None, *, is_strict: bool) -> None:
    assert load.end is not None
    made = _made(world, found[0] // 1000, load.end) if found else None
    if found and made is None:
        raise BrokenLawError(f"{load} yields {found}, which nobody has committed")
    for each in world.operations:
        if each.kind == "rm" and each.outcome == "ok" and each.end is not None:
            is_before = each.end <= load.begin and not _is_removal_damaged(world, each)
            if is_before and made is not None and made < each.begin and is_strict:
                raise BrokenLawError(f"{load} yields {found}, which was removed by {each}")
    for each in world.acknowledged:
        _judge_acknowledged(world, load, each, made, is_strict)


def _judge_acknowledged(
    world: World, load: Operation, each: Operation, made: int | None, is_strict: bool
) -> None:
    assert load.end is not None
    own = [c for c in world.disk.journal if c.operation is each and c.kind in _WHOLE]
    if not own:
        raise BrokenLawError(f"{each} was acknowledged, and has committed nothing")
    if each.end is None or each.end > load.begin or not is_strict:
        return
    step = own[-1].step
    if _is_damaged(world, own[-1]):
        return
    if load.outcome in ("SnapshotMissingError", "PendingSnapshotError"):
        voided = any(
            c.kind in _VOIDING and step < c.step <= load.end and not _is_of_repair(c)
            for c in world.disk.journal
        )
        # What was there before a damaged version counts again only as far as it was not collected.
        voided |= any(
            c.kind in _WHOLE and step < c.step and _is_damaged(world, c) for c in world.disk.journal
        )
        voided |= _rests_on_removed(world, step)
        if not voided:
            raise BrokenLawError(f"{load} finds nothing, although {each} was acknowledged")
    elif made is not None and made < step:
        raise BrokenLawError(f"{load} yields what {each} had replaced")


def _is_damaged(world: World, created: Created) -> bool:
    """Whether a commit, or a segment that it names, was damaged.

    A segment may be before the commit names it. Before a commit came to be, what had its name was
    another one.
    """
    return any(
        name in created.names and (created.step < step or "/segments/" in name)
        for step, name in world.disk.damaged
    )


def _is_removal_damaged(world: World, rm: Operation) -> bool:
    """Whether the commit that says what was removed was damaged."""
    return any(
        c.operation is rm and c.kind == "removed" and _is_damaged(world, c)
        for c in world.disk.journal
    )


def _rests_on_removed(world: World, step: int) -> bool:
    """Whether a version may rest on files of an rm whose commit was damaged while it deleted."""
    return any(
        rm.kind == "rm"
        and rm.begin < step
        and (rm.end is None or step < rm.end)
        and _is_removal_damaged(world, rm)
        for rm in world.operations
    )


def _is_of_repair(created: Created) -> bool:
    """Whether a commit says what a repair has left, which is all that was not damaged."""
    return created.operation is not None and created.operation.kind == "repair"


def _made(world: World, data: int, until: int) -> int | None:
    """When a data set was last committed."""
    steps = [
        c.step
        for c in world.disk.journal
        if c.kind in _WHOLE and c.operation and c.operation.data == data and c.step <= until
    ]
    return max(steps, default=None)


# When all is over:


def _use(world: World, actor: Actor) -> None:
    world.scheduler.block(lambda: False, _QUIET_S)
    if world.disk.damaged:
        _must(world, actor, "repair")
    _load(world, actor, {"ok", "SnapshotMissingError", "PendingSnapshotError"})
    if world.plan.seed % 2:
        _must(world, actor, "gc")
        _must(world, actor, "rm")
        _load(world, actor, {"SnapshotMissingError"})
    given = world.found[id(_must(world, actor, "pass"))]
    if _load(world, actor, {"ok"}) != given:
        raise BrokenLawError("a pass that ended is not what is stored")
    if world.plan.seed % 3 == 0:
        _must(world, actor, "gc")
        _must(world, actor, "save")
        _load(world, actor, {"ok"})
    needed = [damage for damage in check_snapshot(world.store()).damages if damage.is_needed]
    if needed:
        raise BrokenLawError(f"{PLACE} is damaged: {needed[0]}")


def _must(world: World, actor: Actor, job: str) -> Operation:
    operation = world.do(job, actor)
    if operation.outcome != "ok":
        raise BrokenLawError(f"{job} fails when all is over: {operation.outcome}")
    if id(operation) in world.found:
        _judge_operation(world, operation)
    return operation


def _load(world: World, actor: Actor, allowed: set[str]) -> object:
    operation = world.do("load", actor)
    if operation.outcome not in allowed:
        complaint = world.complaints[-1][1] if world.complaints else ""
        raise BrokenLawError(f"a load when all is over: {operation.outcome} {complaint}")
    found = world.found.get(id(operation))
    if found is not None:
        _check_elements(world, operation, found)
    _judge_load(world, operation, found, is_strict=True)
    return found
