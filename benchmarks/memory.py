"""How much memory keeping and reading a large data set takes: 10 GB by default.

    python benchmarks/memory.py [--gigabytes 10] [--folder PATH]

Counts anonymous memory (``RssAnon``): pages of mapped files are the system's cache, and it takes
them back when it needs them. The data set is written by a first pass, by ``save`` from a generator
and with many shards, and read in order, by batches and in a global shuffle.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from memory_watch import Watch

import keepset as ks

LIMIT_MB = 300
RESULTS = Path(__file__).parent / "results" / "memory.json"
_ROW_BYTES = 64 * 64 * 3


def pipeline(rows: int) -> ks.Dataset:
    noise = np.random.default_rng(0).integers(0, 256, 1 << 22, np.uint8)

    def image(i: np.int64) -> dict[str, Any]:
        start = int(i) * 977 % (len(noise) - _ROW_BYTES)
        return {"i": i, "image": noise[start : start + _ROW_BYTES].reshape(64, 64, 3)}

    return ks.Dataset.range(rows).map(image)


def generated(rows: int) -> ks.Dataset:
    def generate() -> Iterator[Any]:
        yield from pipeline(rows)

    return ks.Dataset.from_generator(generate)


def consume(dataset: ks.Dataset) -> None:
    for _ in dataset:
        pass


def jobs(rows: int, folder: Path) -> list[tuple[str, Callable[[], None]]]:
    first, sharded = folder / "snapshot", folder / "sharded"
    return [
        ("first pass, LZ4", lambda: consume(pipeline(rows).snapshot(first, "LZ4"))),
        ("replay", lambda: consume(pipeline(rows).snapshot(first, "LZ4"))),
        ("global shuffle of it, batches", lambda: shuffled(first)),
        (
            "save from a generator, 100 shards, no compression",
            lambda: generated(rows).save(sharded, shard_func=lambda e: e["i"] % 100),
        ),
        ("batches of 128, in order", lambda: consume(ks.load(sharded).batch(128))),
        ("global shuffle, elements", lambda: consume(ks.load(sharded).shuffle(ks.GLOBAL, seed=1))),
    ]


def shuffled(path: Path) -> None:
    # A global shuffle of compressed chunks decompresses one for almost every row: a part will do.
    consume(ks.load(path).shuffle(ks.GLOBAL, seed=1).take(20_000).batch(128))


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure the memory that a large data set takes.")
    parser.add_argument("--gigabytes", type=float, default=10.0)
    parser.add_argument("--folder", type=Path, help="where to write; by default a temporary one")
    given = parser.parse_args()
    rows = int(given.gigabytes * 1e9 / _ROW_BYTES)
    folder = Path(tempfile.mkdtemp(dir=given.folder))
    if shutil.disk_usage(folder).free < 2.2e9 * given.gigabytes:
        raise SystemExit(f"error: {folder} has no room for {2 * given.gigabytes:g} GB")
    found: list[dict[str, Any]] = []
    try:
        for name, job in jobs(rows, folder):
            with Watch() as watch:
                job()
            found.append({"job": name, "most_mb": watch.most_mb, "seconds": watch.seconds})
            verdict = "" if watch.most_mb <= LIMIT_MB else f"  MORE THAN {LIMIT_MB} MB"
            print(f"{name:<52} {watch.most_mb:6.0f} MB {watch.seconds:7.1f} s{verdict}", flush=True)
    finally:
        shutil.rmtree(folder)
    if given.gigabytes >= 10:
        facts = {"gigabytes": given.gigabytes, "limit_mb": LIMIT_MB, "jobs": found}
        RESULTS.write_text(json.dumps(facts, indent=1) + "\n")
    return 0 if all(each["most_mb"] <= LIMIT_MB for each in found) else 1


if __name__ == "__main__":
    sys.exit(main())
