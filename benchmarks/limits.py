"""What the machine gives: a file of the page cache through ``cat``, and a copy in memory."""

from __future__ import annotations

import statistics
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter

import numpy as np
from figures import Figure
from harness import Job, Run

_SIZE_BYTES = 256 << 20
_ROUNDS = 7


def limits(folder: Path) -> dict[str, float]:
    """Gigabytes per second of each, the median of some rounds."""
    source = np.random.default_rng(0).integers(0, 256, _SIZE_BYTES, np.uint8)
    target = np.zeros_like(source)
    with tempfile.NamedTemporaryFile(dir=folder) as file, open("/dev/null", "wb") as nothing:
        file.write(source.data)
        file.flush()
        read = ["cat", file.name]
        return {
            "cat": _rate(lambda: subprocess.run(read, stdout=nothing, check=True)),
            "memcpy": _rate(lambda: np.copyto(target, source)),
        }


def _rate(copy: Callable[[], object]) -> float:
    copy()
    rates = []
    for _ in range(_ROUNDS):
        began = perf_counter()
        copy()
        rates.append(_SIZE_BYTES / (perf_counter() - began) / 1e9)
    return statistics.median(rates)


def throughput(
    jobs: Sequence[Job], run: Run, subject: str, limits: dict[str, float]
) -> list[Figure]:
    """Bytes per second of our rates, beside what the machine gives."""
    found = []
    for job in jobs:
        rate = run.median(job.name, subject)
        if rate is None or job.element_bytes is None:
            continue
        values = {subject: rate * job.element_bytes / 1e9} | limits
        found += [
            Figure(f"{job.name}: bytes", "as they are in memory", contender, value, "GB/s")
            for contender, value in values.items()
        ]
    return found
