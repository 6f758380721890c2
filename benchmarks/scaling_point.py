"""One point of a scaling curve: ``python scaling_point.py JSON`` prints nanoseconds and memory."""

from __future__ import annotations

import gc
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from memory_watch import Watch

import keepset as ks

OPERATIONS = ("writing", "elements", "batches", "shuffled")
_BATCH = 128
# Large elements come in smaller batches, so that these are not what takes the memory.
_BATCH_BYTES = 16 << 20
_PASSES = 3
# After so long, what was measured stands as it is.
_ENOUGH_S = 3.0

Array = np.ndarray[Any, Any]
Ways = dict[str, Callable[[], Iterable[Any]]]


def keepset_writing(rows: Array, shards: int, folder: Path) -> None:
    if shards == 1:
        ks.Dataset.from_tensor_slices({"x": rows}).save(folder / "kept")
        return
    numbered = ks.Dataset.from_tensor_slices({"x": rows, "i": np.arange(len(rows))})
    numbered.save(folder / "kept", shard_func=lambda element: element["i"] % shards)


def numpy_writing(rows: Array, shards: int, folder: Path) -> None:
    np.save(folder / "kept.npy", rows)


# Opened once, as one does before the first of many epochs.


def keepset_reading(folder: Path, batch: int) -> Ways:
    kept = ks.load(folder / "kept")
    return {
        "elements": lambda: kept,
        "batches": lambda: kept.batch(batch),
        "shuffled": lambda: kept.shuffle(ks.GLOBAL, seed=1).batch(batch),
    }


def numpy_reading(folder: Path, batch: int) -> Ways:
    # A plain array over the map: memmap's own class makes every slice several times as slow.
    kept: Array = np.load(folder / "kept.npy", mmap_mode="r").view(np.ndarray)
    firsts = range(0, len(kept), batch)

    def shuffled() -> Iterable[Any]:
        order = np.random.default_rng(1).permutation(len(kept))
        return ({"x": kept[order[first : first + batch]]} for first in firsts)

    return {
        "elements": lambda: ({"x": row} for row in kept),
        "batches": lambda: ({"x": kept[first : first + batch]} for first in firsts),
        "shuffled": shuffled,
    }


def best_pass(way: Callable[[], Iterable[Any]], n: int) -> dict[str, float]:
    """The best of some passes, and the most anonymous memory that the process had in them."""
    seconds: list[float] = []
    gc.collect()
    with Watch() as watch:
        while len(seconds) < _PASSES and sum(seconds) < _ENOUGH_S:
            began = perf_counter()
            for _ in way():
                pass
            seconds.append(perf_counter() - began)
    return {"value": min(seconds) / n * 1e9, "rss_anon_mb": watch.most_mb}


def written(asked: dict[str, Any], folder: Path) -> dict[str, float]:
    """Writing; the rows themselves are not counted as memory that it takes."""
    n, size = asked["elements"], asked["size_bytes"]
    # Numbers of eight bytes; one of them is a plain number, not an array.
    shape = (n,) if size == 8 else (n, size // 8)
    rows = np.random.default_rng(0).integers(0, 1 << 40, shape)
    write = keepset_writing if asked["contender"] == "keepset" else numpy_writing

    def once() -> Iterable[Any]:
        # Anew each time: a second save adds a version to the first.
        here = Path(tempfile.mkdtemp(dir=folder))
        write(rows, asked["shards"], here)
        places.append(here)
        return ()

    places: list[Path] = []
    found = best_pass(once, n)
    found["rss_anon_mb"] -= rows.nbytes / (1 << 20)
    for place in places[1:]:
        shutil.rmtree(place)
    places[0].rename(folder / "data")
    return found


def main() -> None:
    asked = json.loads(sys.argv[1])
    folder = Path(asked["folder"])
    found = {"writing": written(asked, folder)}
    batch = max(1, min(_BATCH, _BATCH_BYTES // asked["size_bytes"]))
    read = keepset_reading if asked["contender"] == "keepset" else numpy_reading
    for name, way in read(folder / "data", batch).items():
        found[name] = best_pass(way, asked["elements"])
    print(json.dumps(found))


if __name__ == "__main__":
    main()
