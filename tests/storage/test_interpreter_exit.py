"""What a process that ends in the middle of a pass leaves in stores of every kind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import pytest
from tests.storage.s3_proxy import uploads_at

# Begins a pass for each path and ends in the middle of it, in a process of its own. What is
# registered before keepset is imported runs after everything that keepset does at the end.
ENDS = """
import atexit, os, shutil, sys
how, paths = sys.argv[1], sys.argv[2:]
def look():
    for path in paths:
        if "broken" not in path:
            print(path.rpartition("/")[2], ks.Snapshot(path).num_elements)
atexit.register(look)
import numpy as np
import keepset as ks
iterators = []
for path in paths:
    made = ks.Dataset.range(30).map(lambda i: np.full(1 << 20, i, np.uint8))
    iterators.append(iter(made.snapshot(path, compression=None)))
    for _ in range(11):
        next(iterators[-1])
    if "broken" in path:
        shutil.rmtree(path)
        open(path, "w").close()
if how == "error":
    raise ZeroDivisionError("of the script")
"""

GOES_ON = """
import logging, sys
logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
import numpy as np
import keepset as ks
made = ks.Dataset.range(30).map(lambda i: np.full(1 << 20, i, np.uint8))
found = [int(array[-1]) for array in made.snapshot(sys.argv[1], compression=None)]
assert found == list(range(30)), found
"""


def run(program: str, *arguments: str, code: int = 0) -> tuple[list[str], str]:
    """The lines that a program prints, and what it writes to stderr."""
    command = [sys.executable, "-c", program, *arguments]
    ended = subprocess.run(command, timeout=60, capture_output=True, text=True)
    assert ended.returncode == code, ended.stderr
    return ended.stdout.splitlines(), ended.stderr


def test_a_pass_in_memory_is_stored_as_far_as_it_got() -> None:
    assert run(ENDS, "end", f"memory://{uuid4().hex}/x") == (["x 11"], "")


@pytest.mark.parametrize("kind", ["local", "s3"])
def test_the_next_process_goes_on_where_one_ended(
    kind: str, tmp_path: Path, s3_url: str, s3_endpoint: str
) -> None:
    path = f"{tmp_path if kind == 'local' else s3_url}/x"
    assert run(ENDS, "end", path) == (["x 11"], "")
    lines, errors = run(GOES_ON, path)
    assert any("goes on at element 11" in line for line in lines), lines
    assert errors == ""
    prefix = s3_url.removeprefix("s3://bucket/")
    assert not [key for key in uploads_at(s3_endpoint) if key.startswith(prefix)]


def test_an_error_of_the_script_costs_no_elements(s3_url: str) -> None:
    lines, errors = run(ENDS, "error", f"{s3_url}/x", code=1)
    assert lines == ["x 11"]
    assert errors.endswith("ZeroDivisionError: of the script\n")


def test_every_pass_is_closed_and_every_error_reported(tmp_path: Path, s3_url: str) -> None:
    broken = [str(tmp_path / f"broken {number}") for number in range(3)]
    sound = [str(tmp_path / "a"), f"memory://{uuid4().hex}/b", f"{s3_url}/c", str(tmp_path / "d")]
    lines, errors = run(ENDS, "end", broken[0], *sound[:2], broken[1], *sound[2:], broken[2])
    assert lines == ["a 11", "b 11", "c 11", "d 11"]
    for path in broken:
        assert f"cannot write {path}" in errors
    assert "ignored" not in errors
