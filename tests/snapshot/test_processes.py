"""Several processes on one place at once: each gets everything, once and in order; nothing hangs.

By default a share of the combinations is run; KEEPSET_KILLS of more than 100 runs all of them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import keepset as ks
from keepset.format.log import Log
from keepset.storage import open_store

PROGRAM = Path(__file__).with_name("several.py")
ALL = int(os.environ.get("KEEPSET_KILLS", "0")) > 100
ELEMENTS = 240
METHODS = ("fork", "spawn", "forkserver")
PENDING = ("passthrough", "wait", "follow")
NUMBERS = (2, 4, 8)
# Each number and each way of waiting once in each place.
MEETINGS = [
    pytest.param(number, pending, id=f"{number}-{pending}")
    for i, (number, pending) in enumerate(product(NUMBERS, PENDING))
    if ALL or i % 4 == 0
]


@pytest.fixture(params=["local", "s3"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "local":
        return str(tmp_path / "kept")
    url: str = request.getfixturevalue("s3_url")
    return url


def several(job: str, path: str, processes: int, **facts: Any) -> Any:
    """What each of the processes gave."""
    (answers,) = meetings([{"job": job, "path": path, "processes": processes, **facts}])
    return answers["given"]


def meetings(runs: list[dict[str, Any]]) -> Any:
    """What the processes gave, run by run, and what the one that started them did."""
    runs = [{"method": "fork", "elements": ELEMENTS, **facts} for facts in runs]
    command = [sys.executable, "-W", "error", str(PROGRAM), json.dumps(runs)]
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(run.stdout)


def kinds(path: str) -> list[str]:
    return [commit.kind for commit in Log(open_store(path)).history()]


def check_place(path: str) -> None:
    """One version came of it, and nothing else is left: no lease, no lock, no temporary file."""
    found = kinds(f"{path}/f")
    assert found.count("complete") == 1
    assert found[-1] == "complete"
    assert set(found) <= {"append", "complete"}
    assert [int(e["x"]) for e in ks.load(path)] == list(range(ELEMENTS))
    names = {info.name.split("/")[1] for info in open_store(path).list("")}
    assert names - {"recipes"} == {"commits", "segments"}
    if "://" not in path:
        assert not list(Path(path).rglob(".tmp-*"))


@pytest.mark.parametrize(("number", "pending"), MEETINGS)
def test_each_process_gets_everything(place: str, number: int, pending: str) -> None:
    given = several("snapshot", place, number, pending=pending)
    assert given == [list(range(ELEMENTS))] * number
    check_place(place)


@pytest.mark.parametrize("pending", ["wait", "follow"])
def test_those_who_wait_take_the_places_of_those_who_die(
    place: str, tmp_path: Path, pending: str
) -> None:
    killers = {str(x): tmp_path / f"killer-{x}" for x in (80, 160)}
    for killer in killers.values():
        killer.touch()
    killers_by_name = {x: str(killer) for x, killer in killers.items()}
    given = several("snapshot", place, 4, pending=pending, killers=killers_by_name)
    assert given.count(None) == 2
    assert given.count(list(range(ELEMENTS))) == 2
    # A killed process may have left a lease, which is advice, and files without a name.
    assert kinds(f"{place}/f").count("complete") == 1
    assert "reset" not in kinds(f"{place}/f")
    assert [int(e["x"]) for e in ks.load(place)] == list(range(ELEMENTS))


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("method", METHODS)
def test_workers_of_a_data_loader_never_hang(tmp_path: Path, method: str) -> None:
    """Each run begins in a process that is itself at work, or is not; 144 runs in all if asked."""
    runs: list[dict[str, Any]] = []
    for number in range(48 if ALL else {"fork": 6, "forkserver": 4, "spawn": 2}[method]):
        # Workers that waited for the process that waits for them would never end.
        begun = 0 if number % 2 else ELEMENTS // 2
        pending = "passthrough" if begun else PENDING[number % 3]
        runs.append({"path": str(tmp_path / str(number)), "pending": pending, "begun": begun})
    workers = 4 if ALL else 2
    facts = {"job": "worker", "method": method, "processes": workers}
    for run, answers in zip(runs, meetings([{**facts, **run} for run in runs]), strict=True):
        shares = [list(range(number, ELEMENTS, workers)) for number in range(workers)]
        assert answers["given"] == shares
        if run["begun"]:
            assert answers["own"] == list(range(ELEMENTS))
        check_place(run["path"])


FORKED = """
    import os, sys, warnings
    import keepset as ks
    from keepset.snapshot.writing import first_pass

    warnings.filterwarnings("ignore", ".*fork", DeprecationWarning)
    how, path = sys.argv[1:]
    if how == "save":
        def forks(x):
            if x == 3000 and os.fork() == 0:
                sys.exit(7)
            return x
        ks.Dataset.range(6000).map(forks).save(path, chunk_bytes=80)
        assert os.waitstatus_to_exitcode(os.wait()[1]) == 7
        assert [int(x) for x in ks.load(path)] == list(range(6000))
        sys.exit()

    ds = ks.Dataset.range(6000).map(lambda x: x).snapshot(path, fingerprint="f", chunk_bytes=80)
    it = iter(ds)
    given = [int(next(it)) for _ in range(3000)]
    child = os.fork()
    if child == 0:
        if how == "goes on":
            try:
                next(it)
                sys.exit(1)
            except ks.StateError as error:
                assert "anew in this process" in str(error)
        elif how == "begins anew":
            assert [int(x) for x in ds] == list(range(6000))
        elif how == "closes":
            it.close()
        elif how == "drops":
            del it
        sys.exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    # This one is still the writer, and what it wrote is still there.
    assert len(os.listdir(path + "/f/leases")) == 1
    assert given + [int(x) for x in it] == list(range(6000))
    assert [int(x) for x in ks.load(path)] == list(range(6000))
    assert sorted(os.listdir(path + "/f")) == ["commits", "leases", "segments"]
    assert os.listdir(path + "/f/leases") == []
"""


@pytest.mark.parametrize("how", ["exits", "goes on", "begins anew", "closes", "drops", "save"])
def test_a_fork_of_a_writer_leaves_the_writer_alone(tmp_path: Path, how: str) -> None:
    command = [sys.executable, "-c", textwrap.dedent(FORKED), how, str(tmp_path / "kept")]
    subprocess.run(command, timeout=30, check=True)


def test_saves_at_once_are_versions_and_readers_see_whole_ones(place: str) -> None:
    ks.Dataset.range(200).map(lambda x: (0, x)).save(place)
    given = several("save", place, 4, versions=3)
    for loaded in (given[1], given[3]):
        assert set(loaded) <= {0, 1, 2, 200, 201, 202}
    assert kinds(place) == ["replace"] * 7
    assert not list(open_store(place).list("leases/"))
    ((value, _), *_) = found = [(int(value), int(x)) for value, x in ks.load(place)]
    assert value in (2, 202)
    assert len(found) == 200 + value


def test_a_data_set_is_saved_over_the_one_that_it_is_read_from(place: str) -> None:
    ks.Dataset.range(300).map(lambda x: (0, x)).save(place, segment_bytes=1000)
    _, *readers = several("over_itself", place, 3, versions=5)
    for loaded in readers:
        assert loaded == sorted(loaded)  # nobody steps back
        assert set(loaded) <= set(range(6))
    assert kinds(place) == ["replace"] * 6
    assert {int(value) for value, _ in ks.load(place)} == {5}


def test_no_file_is_ever_locked() -> None:
    """The processes above would fail if one were; and nothing here even knows how to."""
    source = Path(ks.__file__).parent
    for file in source.rglob("*.py"):
        text = file.read_text()
        for word in ("fcntl", "lockf", "flock(", "msvcrt", "O_EXLOCK"):
            assert word not in text, f"{file.name} has {word}"
