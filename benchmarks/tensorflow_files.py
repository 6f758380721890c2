"""TensorFlow's files: Keepset beside TensorFlow itself, in the same run.

    python benchmarks/tensorflow_files.py              all jobs; kept as JSON
    python benchmarks/tensorflow_files.py --only GZIP  the jobs with that in their name
    python benchmarks/tensorflow_files.py --quick      to see that all of it runs

The environment needs ``keepset[interop]``.
"""

from __future__ import annotations

import sys

from foreign.files import ROWS, folder, path_of, rows
from harness import Contender, Goal, Job
from side_by_side import Benchmark

import keepset as ks

KEEPSET, TENSORFLOW = "keepset", "tensorflow"
CONTENDERS = (
    Contender(TENSORFLOW, "foreign.tensorflow_files", "peer"),
    Contender(KEEPSET, "foreign.keepset_files", "subject"),
)


def _job(name: str, what: str, kind: str, least: float) -> Job:
    return Job(name, what, ROWS[kind], (Goal(TENSORFLOW, least),), check_elements=2000)


JOBS = (
    _job("save, elements", "{x: f32[32], y: i64}, one by one", "numbers", 50),
    _job("save, batches", "the same in batches of 128", "numbers", 5),
    _job("save of images, batches", "u8[64, 64, 3] in batches of 128", "images", 5),
    _job("save, GZIP, batches", "as save, batches", "numbers", 1.6),
    _job("save, SNAPPY, batches", "as save, batches", "numbers", 5),
    _job("records, scanned", "bytes of 170 B in batches of 128", "numbers", 2),
    _job("records, GZIP, scanned", "the same", "numbers", 1.6),
    _job("examples of numbers", "{x: f32[32], y: i64} in batches of 128", "numbers", 1),
    _job("examples of numbers, GZIP", "the same", "numbers", 1.6),
    _job("examples of texts", "{text: 20 to 400 B, label} in batches of 128", "texts", 1),
    _job("examples of token lists", "{tokens: 8 to 256 i64, label}, ragged", "tokens", 1),
    _job("examples of 50 features", "50 single floats in batches of 128", "wide", 1),
    _job("write records", "140 B each, from memory", "numbers", 1),
    _job("write records, GZIP", "the same", "numbers", 2),
)


def make_files() -> None:
    """Write what both read, unless it is there."""
    folder().mkdir(parents=True, exist_ok=True)
    for kind in ROWS:
        ds = ks.Dataset.from_generator(lambda kind=kind: iter(rows(kind)))
        compressions = ("", "GZIP", "SNAPPY") if kind == "numbers" else ("",)
        for compression in compressions:
            save, records = (path_of(kind, form, compression) for form in ("save", "tfrecord"))
            if kind in ("numbers", "images") and not save.exists():
                print(f"writing {save.name}", flush=True)
                ds.save(save, compression or None, format="tensorflow")
            if kind != "images" and not records.exists():
                print(f"writing {records.name}", flush=True)
                ds.write_tfrecord(records, compression or None)


BENCHMARK = Benchmark(
    "tensorflow_files",
    "tensorflow files",
    JOBS,
    CONTENDERS,
    table="FILES",
    compared=(TENSORFLOW,),
    rounds=7,
    cap_s=1.0,
    make_files=make_files,
)

if __name__ == "__main__":
    sys.exit(BENCHMARK.main())
