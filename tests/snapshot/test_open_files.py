"""A place with more segments than a process may have open files is read, resumed and looked after.

Each job runs in a process of its own, with a limit of the system.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import keepset as ks

SEGMENTS, FILES = 1200, 256
_SETUP = f"""
import resource, sys
import numpy as np
import keepset as ks
limit = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[2]), limit[1]))
place, count = sys.argv[1], {SEGMENTS}

def element(i):
    if place.endswith("/kept"):
        raise SystemExit("an element was computed")
    return {{"x": np.full(3, i)}}

def pipeline(path=place, count=count):
    return ks.Dataset.range(count).map(element).snapshot(
        path, None, segment_bytes=1, chunk_bytes=1, fingerprint="f"
    )

def numbers(ds):
    return [int(each["x"][0]) for each in ds]
"""
_JOBS = {
    "replay": "assert numbers(pipeline()) == list(range(count))",
    "replay twice at once": """
ds = pipeline()
for one, other in zip(ds, ds):
    assert one["x"][0] == other["x"][0]""",
    "load": "assert numbers(ks.load(place)) == list(range(count))",
    "shuffle": """
found = numbers(ks.load(place).shuffle(ks.GLOBAL, seed=1))
assert sorted(found) == list(range(count)) != found""",
    "random access": """
ds = ks.load(place)
assert [int(ds[i]["x"][0]) for i in range(0, count)] == list(range(count))
held = [ds[i] for i in range(count)]
assert numbers(held) == list(range(count))""",
    "batches that are held": """
held = list(ks.load(place).batch(7))
assert sum(len(each["x"]) for each in held) == count""",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("segments") / "kept"
    # The name is that of the place that may not be computed again.
    code = _SETUP.replace('place.endswith("/kept")', "False") + "assert numbers(pipeline())"
    run(code, path, 1000)
    assert len(list(path.rglob("segments/*"))) == SEGMENTS
    return path


def run(code: str, *arguments: object) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("job", _JOBS)
def test_more_segments_than_open_files_are_read(place: Path, job: str) -> None:
    run(_SETUP + _JOBS[job], place, FILES)


@pytest.mark.parametrize("command", ["verify", "ls", "inspect", "gc"])
def test_more_segments_than_open_files_are_looked_after(place: Path, command: str) -> None:
    code = """
import resource, runpy, sys
limit = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (64, limit[1]))
sys.argv[0] = "keepset"
runpy.run_module("keepset", run_name="__main__")
"""
    run(code, command, place)


def test_a_pass_of_many_commits_is_resumed(tmp_path: Path) -> None:
    """With far fewer files than the segments that are there."""
    path = tmp_path / "unfinished"
    for stop in range(20, 120, 20):
        part = f"assert numbers(pipeline(count=150).take({stop})) == list(range({stop}))"
        run(_SETUP + part, path, 48)
    assert len(list(path.rglob("segments/*"))) > 48
    run(_SETUP + "assert numbers(pipeline(count=150)) == list(range(150))", path, 48)


def test_what_is_mapped_outlives_its_file(tmp_path: Path) -> None:
    """As when gc removes an old version that somebody reads."""
    ks.Dataset.range(100).save(tmp_path / "kept", None, segment_bytes=1, chunk_bytes=80)
    held = list(ks.load(tmp_path / "kept").batch(10))
    for segment in tmp_path.rglob("segments/*"):
        segment.unlink()
    assert [int(x) for batch in held for x in batch] == list(range(100))
