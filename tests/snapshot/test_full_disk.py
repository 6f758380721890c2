"""A disk that is full: the error says so and where, nothing committed is lost, later it goes on."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("full_disk.py")


def check_jobs(command: list[str], jobs: list[str]) -> None:
    run = subprocess.run([*command, *jobs], stdout=subprocess.PIPE, text=True, check=True)
    assert run.stdout.splitlines() == [f"{job} is right" for job in jobs]


def test_files_that_may_not_grow(tmp_path: Path) -> None:
    command = [sys.executable, str(PROGRAM), "rlimit", str(tmp_path)]
    check_jobs(command, ["a_pass", "a_pass_that_goes_on", "a_save"])


def test_a_small_file_system(tmp_path: Path) -> None:
    """Of 1 MiB, in a name space of its own, so that no rights are needed where that is allowed."""
    mount = f"mount -t tmpfs -o size=1m tmpfs {shlex.quote(str(tmp_path))}"
    inside = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
    try:
        tried = subprocess.run([*inside, mount], capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("there is no unshare command to make a small file system with")
    if tried.returncode:
        pytest.skip(f"a small file system cannot be made here: {tried.stderr.strip()}")
    command = [*inside, f'{mount} && exec "$@"', "sh"]
    command += [sys.executable, str(PROGRAM), "tmpfs", str(tmp_path)]
    jobs = [
        "a_pass",
        "a_pass_that_goes_on",
        "a_pass_that_waits",
        "a_save",
        "a_repair",
        "a_collection",
        "a_collection_after_a_kill",
    ]
    check_jobs(command, [*jobs, "a_removal"])
