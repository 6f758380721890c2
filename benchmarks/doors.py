"""Doors: other people's files and frameworks through Keepset, beside their own libraries.

    python benchmarks/doors.py              all jobs; kept as JSON
    python benchmarks/doors.py --only CSV   the jobs with that in their name
    python benchmarks/doors.py --quick      to see that all of it runs

The environment needs ``keepset[test,interop]``.
"""

from __future__ import annotations

import sys

from harness import BEST_PEER, Contender, Goal, Job
from side_by_side import Benchmark

KEEPSET, LIBRARY, FRAMEWORK = "keepset", "own library", "framework"
CONTENDERS = (
    Contender(LIBRARY, "others.own_libraries", "yardstick", table="LIBRARIES"),
    Contender(FRAMEWORK, "others.frameworks", "peer", table="FRAMEWORKS"),
    Contender(KEEPSET, "others.keepset_doors", "subject", table="DOORS"),
)
_VECTORS, _NUMBERS = "{x: f32[32], y: i64}", "a whole number and seven of float64"


def _job(
    name: str,
    what: str,
    elements: int,
    least: float | None,
    *,
    peer: float | None = None,
    shuffled: bool = False,
) -> Job:
    goals = () if least is None else (Goal(LIBRARY, least),)
    goals += () if peer is None else (Goal(BEST_PEER, peer),)
    return Job(name, what, elements, goals, shuffled=shuffled, check_elements=1000)


JOBS = (
    _job("npy, batches", "f32[32] in batches of 128", 500_000, 0.8),
    _job("HDF5, batches", f"{_VECTORS} in batches of 128", 500_000, 1),
    _job("HDF5, gzip, batches", "the same, compressed", 500_000, 1),
    _job("HDF5, shuffled", "the same, not compressed, in any order", 500_000, 1, shuffled=True),
    _job("CSV, batches", f"{_NUMBERS} in batches of 128", 400_000, 0.8, peer=1),
    _job("JSON lines, batches", "the same as objects", 400_000, 0.8, peer=1),
    _job("Parquet, batches", "the same", 400_000, 1),
    _job("Parquet, elements", "the same, one by one", 400_000, 1),
    _job("Arrow, batches", "the same", 400_000, 0.8),
    _job("text, lines", "about 38 bytes each", 1_000_000, 0.8),
    _job("pictures, decoded", "JPEG of 320x240, resized to 224x224", 600, 1, peer=1),
    _job("WebDataset, samples", "{jpg, cls} as bytes", 20_000, 1, peer=1),
    _job(
        "Hugging Face, batches", "{x: f32[1, 32], y: i64} in batches of 128", 500_000, None, peer=1
    ),
    _job("PyTorch, batches", f"{_VECTORS} in batches of 128, kept on disk", 500_000, None, peer=1),
    _job("PyTorch, shuffled", "the same, all shuffled", 500_000, None, peer=1, shuffled=True),
    _job("PyTorch, two workers", "the same in order, in two processes", 500_000, None, peer=1),
    _job("JAX, batches", f"{_VECTORS} in batches of 128, kept on disk", 500_000, None, peer=0.8),
    _job("write npy", "f32[32] from memory", 500_000, 0.5),
    _job("write HDF5", f"{_VECTORS} from memory", 500_000, 0.5),
    _job("write CSV", f"{_NUMBERS} from memory", 400_000, 0.5, peer=1),
    _job("write JSON lines", "the same as objects", 400_000, 0.8, peer=1),
    _job("write Parquet", "the same", 400_000, 0.8, peer=0.8),
)


def make_files() -> None:
    from others.files import make_files as make  # brings half a dozen libraries

    make()


BENCHMARK = Benchmark(
    "doors",
    "doors",
    JOBS,
    CONTENDERS,
    table="",
    compared=(LIBRARY, BEST_PEER),
    rounds=5,
    cap_s=0.7,
    make_files=make_files,
)

if __name__ == "__main__":
    sys.exit(BENCHMARK.main())
