"""Run the tests several times in random orders, beside a program that keeps each core busy.

A test that passes only on an idle machine, or behind another test, fails here.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

# The busy programs get about a third of each core: their weight at this niceness is half of ours.
_NICENESS = "3"


def main(times: int, arguments: list[str]) -> int:
    """Run them with the seeds 1, 2, ...; the number of runs that failed."""
    failed = 0
    with _busy(os.cpu_count() or 1):
        for seed in range(1, times + 1):
            began = time.monotonic()
            order = ["--random-order-bucket=global", f"--random-order-seed={seed}"]
            pytest = [sys.executable, "-m", "pytest", "-q", "-n", "2", *order, *arguments]
            code = subprocess.run(pytest).returncode
            failed += code != 0
            print(f"order {seed}: {'passed' if code == 0 else 'FAILED'}", end=" ")
            print(f"in {time.monotonic() - began:.0f} s", flush=True)
    print(f"{times - failed} of {times} runs passed")
    return failed


@contextmanager
def _busy(cores: int) -> Iterator[None]:
    loop = ["nice", "-n", _NICENESS, sys.executable, "-c", "while True: pass"]
    programs = [subprocess.Popen(loop) for _ in range(cores)]
    try:
        yield
    finally:
        for program in programs:
            program.kill()
            program.wait()


if __name__ == "__main__":
    sys.exit(min(main(int(sys.argv[1]), sys.argv[2:]), 1))
