"""The power is cut behind every call to the file system: what was promised is there.

By default a seeded share of the states is tried. ``KEEPSET_FAULTS=full``, or ``-m slow``, tries all
of them; ``KEEPSET_TALLY`` names a file that gets a line of JSON with the counts.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.faults.cut_scenarios import SCENARIOS, Scenario
from tests.faults.cut_tally import CutTally
from tests.faults.power_cut import PowerCut, Recorded, Violation, distinct, sample

from keepset.storage import durable, local

SEED = 20_261_117
IS_FULL = os.environ.get("KEEPSET_FAULTS") == "full"


@dataclass(frozen=True)
class Share:
    """How many states are opened, written on, and cut off again; and so many cuts of each."""

    opened: int
    written_on: int
    cut_again: int
    second_cuts: int


FEW = Share(opened=100, written_on=6, cut_again=1, second_cuts=5)
ALL = Share(opened=1_000_000, written_on=1_000_000, cut_again=12, second_cuts=20)
SHARES = [pytest.param(ALL, id="all", marks=() if IS_FULL else pytest.mark.slow)]
if not IS_FULL:
    SHARES.append(pytest.param(FEW, id="few"))

# Scenarios that are known to fail, and why; each is expected to.
KNOWN: dict[str, str] = {}


def _marks(scenario: Scenario) -> list[pytest.MarkDecorator]:
    reason = KNOWN.get(scenario.name)
    return [pytest.mark.xfail(reason=reason, raises=AssertionError, strict=True)] if reason else []


@pytest.fixture(scope="module")
def tally(request: pytest.FixtureRequest) -> Iterator[CutTally]:
    """The counts of all tests, told when they are done."""
    counts = CutTally()
    yield counts
    counts.write()
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        print(f"\n{counts}")


def run(scenario: Scenario, base: Path, share: Share) -> tuple[CutTally, list[Violation]]:
    """Cut a scenario off everywhere; what was tried, and all that is against the law."""
    cut = PowerCut(scenario, base)
    recording = cut.record()
    states = list(recording.states())
    unlike = distinct(states)
    opened = sample(unlike, share.opened, SEED)
    found = list(cut.violations(opened, recording.before, scenario.work))
    written_on = [each for each in sample(opened, share.written_on, SEED + 1) if cut.opens(each)]
    found += [violation for state in written_on if (violation := cut.stuck(state))]
    second_cuts = 0
    for number, state in enumerate(sample(opened, share.cut_again, SEED + 2)):
        count, violations = cut.second_cuts(state, share.second_cuts, SEED + number)
        second_cuts += count
        found += violations
    tally = CutTally(
        scenarios=1,
        calls=len(recording.calls),
        states=len(states),
        distinct_states=len(unlike),
        opened=len(opened),
        written_on=len(written_on),
        second_cuts=second_cuts,
    )
    return tally, found


def listed(violations: list[Violation]) -> str:
    """The first few, which say enough."""
    return f"{len(violations)} violations:\n" + "\n".join(map(str, violations[:3]))


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize(
    "scenario", [pytest.param(each, id=each.name, marks=_marks(each)) for each in SCENARIOS]
)
def test_a_cut_anywhere_loses_nothing_that_was_promised(
    tmp_path: Path, tally: CutTally, scenario: Scenario, share: Share
) -> None:
    counts, found = run(scenario, tmp_path, share)
    if scenario.name in KNOWN:
        counts.known_violations = len(found)
    else:
        counts.violations = len(found)
    tally.add(counts)
    assert not found, listed(found)


# Where nothing is known to fail, so that whatever does is due to a sync that was left out.
SOUND = [scenario for scenario in SCENARIOS if scenario.name not in KNOWN]

# Each sync, by the functions that it is called from, and a scenario in which a state is against
# the law without it. A new sync needs a line here, and one that no state needs may go.
SITES = {
    "LocalStore._create > TemporaryFile.sync": "first save",
    "LocalStore._create > sync_folder": "first save",
    "LocalStore._put > TemporaryFile.sync": "pass over files",
    "LocalStore._put > sync_folder": "pass over files",
    "Log.add > LocalStore.sync > sync_folder": "gc behind half a save",
    "_LocalWriter._finish > TemporaryFile.sync": "first save",
    "_LocalWriter._finish > sync_folder": "first save",
    "_remove > LocalStore.sync > sync_folder": "gc of a recipe behind half a save",
    "make_folder > sync_folder": "first save",
    "_repaired > LocalStore.sync > sync_folder": "repair of a recipe",
}

# No state is against the law without it: what comes back of a removed snapshot is void. But
# it is not needless: who removes data wants the bytes gone, and not only what the log says of them,
# and rm has told how many were. The law here is about elements; bytes that are back break none.
BEYOND_THE_LAW = {"remove_snapshot > LocalStore.sync > sync_folder"}

# Syncs that no state shows to be needed, and none can, with the reason of each. All are calls of
# ``put`` and ``create`` for names that need no durability, in functions whose syncs are needed for
# other names (see SITES). Leaving them out would take a second kind of both in every store, with a
# weaker promise that a later caller could choose by mistake.
UNSEEN = {
    "LocalStore._put > TemporaryFile.sync in leases": "a power cut ends the writer that a lease "
    "speaks for, and what is torn of one is read as no lease",
    "LocalStore._put > sync_folder in leases": "a lease that is missing after a power cut is that "
    "of a dead writer; one that comes back names a process of an earlier boot",
    "LocalStore._create > TemporaryFile.sync in sources": "the first table of files is for people "
    "who ask why a pass that was cut short is not found; one that is torn fails its checksum and "
    "counts as unknown, and the table that is compared is put over it before the pass ends",
    "LocalStore._create > sync_folder in sources": "without the first table only that explanation "
    "is missing; the put before the pass ends syncs the same folder",
}


def named(name: str) -> Scenario:
    return next(scenario for scenario in SCENARIOS if scenario.name == name)


def first_violation(cut: PowerCut, recording: Recorded) -> Violation | None:
    """One, if there is any; the last states first, of which most is promised."""
    states = reversed(distinct(recording.states()))
    return next(cut.violations(states, recording.before, cut.scenario.work), None)


def test_every_sync_has_a_line_in_the_table(tmp_path: Path) -> None:
    found = set()
    for scenario in SOUND:
        recording = PowerCut(scenario, tmp_path / scenario.name).record()
        found |= {call.site for call in recording.calls if call.site}
    assert found == {*SITES, *BEYOND_THE_LAW}


@pytest.mark.parametrize("site", SITES)
def test_without_a_sync_a_promise_is_broken(tmp_path: Path, site: str) -> None:
    cut = PowerCut(named(SITES[site]), tmp_path)
    recording = cut.record()
    less = recording.without(lambda call: call.site == site)
    assert len(less.calls) < len(recording.calls)
    assert first_violation(cut, less) is not None


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_each_sync_in_each_folder_is_needed_unless_it_is_advice(tmp_path: Path) -> None:
    """Finer than the table: by the folder too. What is listed as unseen must stay so."""
    cuts = [PowerCut(scenario, tmp_path / scenario.name) for scenario in SOUND]
    recordings = [(cut, cut.record()) for cut in cuts]
    syncs = {call.sync for _, recording in recordings for call in recording.calls if call.sync}
    unseen = {sync for sync in syncs if not any(_misses(*each, sync) for each in recordings)}
    beyond = {sync for sync in unseen if sync.startswith(tuple(BEYOND_THE_LAW))}
    assert unseen - beyond == set(UNSEEN)


def _misses(cut: PowerCut, recording: Recorded, sync: str) -> bool:
    """Whether a state is against the law without a sync."""
    less = recording.without(lambda call: call.sync == sync)
    return less != recording and first_violation(cut, less) is not None


# The harness must find defects that are really in the code, not only in a recording.


def test_a_segment_that_is_named_before_it_is_synced_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commit is then durable before the elements that it names."""

    def finish(writer: local._LocalWriter) -> None:
        writer._file.close()
        os.replace(writer._file.path, writer._final)
        durable.sync_folder(os.path.dirname(writer._final))

    monkeypatch.setattr(local._LocalWriter, "_finish", finish)
    _, found = run(named("first save"), tmp_path, FEW)
    assert any("it cannot be opened: CorruptSnapshotError" in each.what for each in found)


def test_a_commit_that_is_acknowledged_before_its_folder_is_synced_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "sync_folder", lambda folder: None)
    _, found = run(named("second save"), tmp_path, FEW)
    old = "(0, 1, 2, 3, 4) is found"
    assert any(each.what.startswith(old) and "replace" in each.what for each in found)


def test_a_put_that_writes_over_the_old_object_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that is changed in place is more than the model knows, so nothing passes it over."""

    def put(store: local.LocalStore, name: str, data: bytes) -> None:
        os.close(os.open(store._path("in-place"), os.O_WRONLY | os.O_CREAT))

    monkeypatch.setattr(local.LocalStore, "put", put)
    with pytest.raises(NotImplementedError, match="changed in place"):
        PowerCut(named("first save"), tmp_path).record()
