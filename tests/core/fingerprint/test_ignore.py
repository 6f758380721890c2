"""Parts that the user leaves out do not count, and are shown as such."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from keepset.core.fingerprint import Facts, Ignore, differences, fingerprint_of_value
from keepset.errors import FingerprintError

Load = Callable[..., ModuleType]

JOB = """
LOG = {log!r}
SIZE = {size}
TABLE = {{"path": {log!r}, "size": {size}}}

class Writer:
    def __init__(self): self.path = LOG; self.size = SIZE

writer = Writer()

def helper(x): return LOG

def f(x): return (helper(x), LOG, SIZE, TABLE, writer)
"""


def facts(load: Load, ignore: Ignore, log: str = "a", size: int = 1) -> Facts:
    return fingerprint_of_value(
        load(JOB.format(log=log, size=size)).f, name="map(f)", ignore=ignore
    )


ALL = ["global LOG", "global TABLE > key 'path'", "attribute path"]


def test_what_is_ignored_does_not_count(load: Load) -> None:
    ignore = Ignore(ALL)
    one = facts(load, ignore)
    assert one.digest == facts(load, ignore, log="b").digest
    assert one.digest != facts(load, ignore, size=2).digest
    assert ignore.used == set(ALL)
    without = fingerprint_of_value(load(JOB.format(log="a", size=1)).f)
    assert without.digest != one.digest


@pytest.mark.parametrize("left", range(3))
def test_each_name_matters(load: Load, left: int) -> None:
    names = [name for i, name in enumerate(ALL) if i != left]
    assert facts(load, Ignore(names)).digest != facts(load, Ignore(names), log="b").digest


@pytest.mark.parametrize(
    ("name", "matches"),
    [
        ("global LOG", ["helper f > global LOG", "global LOG", "__init__ > global LOG"]),
        ("helper helper > global LOG", ["helper f > global LOG"]),
        ("map(f) > helper helper > global LOG", ["helper f > global LOG"]),
        ("batch > map(f) > helper helper > global LOG", ["helper f > global LOG"]),
        ("map(f) > global LOG", ["global LOG"]),
        ("map(g) > global LOG", []),
        ("LOG", []),
        ("global LO", []),
        ("helper > global LOG", []),
    ],
)
def test_names_match_the_end_of_a_path(load: Load, name: str, matches: list[str]) -> None:
    ignore = Ignore([name])
    found = facts(load, ignore)
    assert (ignore.used == {name}) == bool(matches)
    assert len(ignored(found)) == len(matches)


def ignored(found: Facts) -> list[str]:
    here = [label for label, child in found.children if child.kind == "ignored"]
    return here + [each for _, child in found.children for each in ignored(child)]


def test_the_choice_is_shown(load: Load) -> None:
    found = facts(load, Ignore(["global SIZE"]))
    assert dict(found.children)["global SIZE"].text == "left out by ignore"
    plain = fingerprint_of_value(load(JOB.format(log="a", size=1)).f)
    [change] = differences(plain, found, name="map(f)")
    assert str(change) == "map(f) > global SIZE: 1 -> left out by ignore"


def test_what_cannot_be_compared_can_be_ignored() -> None:
    lock = threading.Lock()

    def f(x: Any) -> Any:
        with lock:
            return x

    with pytest.raises(FingerprintError, match=r'ignore=\["captured lock"\]'):
        fingerprint_of_value(f)
    assert fingerprint_of_value(f, ignore=Ignore(["captured lock"])).digest


def test_own_state_and_ignored_parts_go_together(load: Load) -> None:
    job = load("SEEN = []\nLOG = 1\ndef f(x):\n    SEEN.append(LOG)\n    return len(SEEN)")
    before = fingerprint_of_value(job.f, ignore=Ignore(["global LOG"]))
    job.f(1)
    vars(job)["LOG"] = 2
    after = fingerprint_of_value(job.f, ignore=Ignore(["global LOG"]))
    assert after.digest != before.digest
    assert after.fixed == before.fixed


def test_own_state_that_is_ignored_is_none() -> None:
    facts = fingerprint_of_value(counting, ignore=Ignore(["global tally"]))
    assert facts.fixed == facts.digest
    assert fingerprint_of_value(counting).fixed != fingerprint_of_value(counting).digest


tally = 0


def counting(x: int) -> int:
    global tally
    tally += 1
    return x + tally
