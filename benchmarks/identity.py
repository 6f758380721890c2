"""What it costs to know what a pipeline is: fingerprints of functions, arrays and files.

    python benchmarks/identity.py [--quick]

Each row is measured in this process, against the physical limit that stands beside it: the speed
of xxh3 over the same memory, the time of ``os.stat`` for the same files. Counts are exact: how
often each byte is hashed and each file is looked at in a first pass and in a replay.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import xxhash

import keepset as ks
from keepset.core.fingerprint import arrays
from keepset.storage import files

RESULTS = Path(__file__).parent / "results" / "identity.json"
MEAN, STD, TABLE = 0.5, 0.25, {"a": 1, "b": 2}
Row = tuple[str, float, str, float | None]


def normalise(x: Any) -> Any:
    return (x - MEAN) / STD


def decode(x: Any) -> Any:
    return normalise(np.asarray(x) * TABLE["a"])


def is_even(x: Any) -> bool:
    return bool(x % 2 == 0)


def best(work: Callable[[], Any], repeats: int = 7) -> float:
    """The least time of several, in seconds."""
    found = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        found.append(time.perf_counter() - began)
    return min(found)


def consume(ds: Any) -> None:
    for _ in ds:
        pass


class Counted:
    """How often a function of the library is called, and with how much."""

    def __init__(self, module: Any, name: str, size: Callable[..., int]) -> None:
        self._module, self._name, self._size = module, name, size
        self._original = getattr(module, name)
        self.total = 0

    def __enter__(self) -> Counted:
        def counting(*args: Any, **kwargs: Any) -> Any:
            self.total += self._size(*args)
            return self._original(*args, **kwargs)

        setattr(self._module, self._name, counting)
        return self

    def __exit__(self, *_: object) -> None:
        setattr(self._module, self._name, self._original)


def functions(folder: Path) -> list[Row]:
    ds = ks.Dataset.range(100).map(decode).filter(is_even).map(lambda x: x + 1).batch(4)
    stage = ds.snapshot(folder / "functions")._node
    stage.begin_pass()
    return [
        ("identity of four stages with functions, ms", 1e3 * best(stage.begin_pass), "5 ms", 5.0)
    ]


def memory(folder: Path, gigabytes: float) -> list[Row]:
    data = np.random.default_rng(0).integers(0, 256, (int(gigabytes * 2**20), 1024), np.uint8)
    rows: list[Row] = []
    limit = data.nbytes / best(lambda: xxhash.xxh3_128_digest(data), 3) / 1e9
    ds = ks.Dataset.from_tensor_slices(data)
    stage = ds.snapshot(folder / "arrays", fingerprint=None)._node
    speed = data.nbytes / best(stage.begin_pass, 3) / 1e9
    rows.append((f"{gigabytes:g} GB of arrays, GB/s", speed, "xxh3 alone, GB/s", limit))
    small = ks.Dataset.range(10).map(lambda i: int(data[i, 0]))
    with Counted(arrays, "_large_content", lambda value: value.nbytes) as counted:
        consume(small.snapshot(folder / "counted"))
        rows.append(
            ("array hashed in a first pass, times", counted.total / data.nbytes, "goal", 2.0)
        )
        counted.total = 0
        consume(small.snapshot(folder / "counted"))
        rows.append(("array hashed in a replay, times", counted.total / data.nbytes, "goal", 1.0))
        data.flags.writeable = False
        ds = small.snapshot(folder / "counted")
        consume(ds)
        counted.total = 0
        consume(ds)
        rows.append(
            (
                "read-only array hashed in the next replay, times",
                counted.total / data.nbytes,
                "goal",
                0.0,
            )
        )
    return rows


def many_files(folder: Path, count: int) -> list[Row]:
    place = folder / f"files-{count}"
    place.mkdir()
    for i in range(count):
        (place / f"{i:07}.txt").touch()
    time.sleep(2.1)  # a file that was changed a moment ago is waited for
    ds = ks.Dataset.list_files(f"{place}/*.txt", shuffle=False)
    names = [os.path.join(place, f"{i:07}.txt") for i in range(count)]
    limit = best(lambda: [os.stat(name) for name in names], 3) / count
    stage = ds.snapshot(folder / "of-files")._node

    def look() -> None:
        stage.looks.forget()
        stage.begin_pass()

    spent = best(look, 3) / count
    rows: list[Row] = [
        (f"{count:,} files, us a file", 1e6 * spent, "os.stat alone, us", 1e6 * limit)
    ]
    with Counted(files, "_facts_of", lambda paths: count) as counted:
        one = ds.take(3).snapshot(folder / f"counted-{count}")
        consume(one)
        rows.append(
            (f"{count:,} files, looked at in a first pass", counted.total / count, "goal", 2.0)
        )
        counted.total = 0
        consume(one)
        rows.append((f"{count:,} files, looked at in a replay", counted.total / count, "goal", 0.0))
    shutil.rmtree(place)
    return rows


def workers(folder: Path) -> list[Row]:
    """The first batch of a replay with loader workers, beside that of a plain array."""
    try:
        import torch  # noqa: F401
    except ImportError:
        return []
    data = np.random.default_rng(0).integers(0, 256, (2**18, 1024), np.uint8)
    ds = ks.Dataset.range(64).map(lambda i: data[i]).snapshot(folder / "loaded").batch(8)
    consume(ds)
    rows: list[Row] = []
    for count in (0, 2, 8):
        loader = ds.to_torch().loader(num_workers=count)
        bare = ks.load(folder / "loaded").batch(8).to_torch().loader(num_workers=count)
        spent, limit = best(partial(consume, loader), 3), best(partial(consume, bare), 3)
        rows.append(
            (f"epoch with {count} workers over 256 MB, s", spent, "without identity, s", limit)
        )
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few files and little memory")
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    try:
        rows = functions(folder)
        rows += memory(folder, 0.1 if given.quick else 1.0)
        for count in (1, 10_000) if given.quick else (1, 10_000, 1_000_000):
            rows += many_files(folder, count)
        rows += workers(folder)
    finally:
        shutil.rmtree(folder)
    for what, value, beside, limit in rows:
        print(f"{what:55} {value:10.3f}   {beside} {limit:.3f}" if limit is not None else what)
    if not given.quick:
        table = [dict(zip(("what", "value", "beside", "limit"), row, strict=True)) for row in rows]
        RESULTS.write_text(json.dumps(table, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
