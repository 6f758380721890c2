"""Scaling: what one element costs, by how many there are, by shards, and by their size.

    python benchmarks/scaling.py                  all curves; kept as JSON
    python benchmarks/scaling.py --only shards    the curves with that in their name
    python benchmarks/scaling.py --quick          small ones, to see that all of it runs

Each point is measured in a process of its own, which writes the data, reads it and removes it.
NumPy writes with ``np.save`` and reads a memory map; what it gives is as Keepset's a view.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from choosing import choose
from harness import HERE, machine
from scaling_point import OPERATIONS
from worker import versions

RESULTS = HERE / "results" / "scaling.json"
FOLDER = HERE / ".data"
CONTENDERS = ("keepset", "numpy")
_MOST_BYTES = 1 << 28


@dataclass(frozen=True)
class Point:
    """So many elements of a size, in so many shards; ``x`` is the one that the curve is about."""

    x: int
    elements: int
    size_bytes: int = 64
    shards: int = 1


@dataclass(frozen=True)
class Curve:
    name: str
    x_name: str
    points: tuple[Point, ...]


def curves(quick: bool) -> list[Curve]:
    counts = [10**power for power in range(4, 6 if quick else 8)]
    many = 10_000 if quick else 200_000
    most_bytes = 1 << 23 if quick else _MOST_BYTES
    sizes = [8, 64, 512, 4 << 10, 32 << 10, 256 << 10, 2 << 20, 8 << 20]
    limited = [(size, min(1_000_000, max(1, most_bytes // size))) for size in sizes]
    return [
        Curve("by elements", "elements of 64 B", tuple(Point(n, n) for n in counts)),
        Curve("by shards", "shards", tuple(Point(n, many, 64, n) for n in (1, 10, 100, 1000))),
        Curve("by size", "bytes of an element", tuple(Point(s, n, s) for s, n in limited)),
    ]


def measured(curve: Curve, folder: Path) -> Iterator[dict[str, Any]]:
    """The curve of each operation, with the points of every contender."""
    points: dict[str, list[dict[str, Any]]] = {operation: [] for operation in OPERATIONS}
    for point in curve.points:
        for contender in CONTENDERS:
            # A shard is a way to write; files by hand have none.
            if contender == "numpy" and point.shards > 1:
                continue
            for operation, found in _ask(contender, point, folder).items():
                points[operation].append({"x": point.x, "contender": contender} | found)
                value = f"{found['value']:12,.0f} ns {found['rss_anon_mb']:6.0f} MB"
                print(f"{operation:<10} {curve.name} {point.x:>10,} {contender:<8} {value}")
    for operation, line in points.items():
        name = f"{operation} {curve.name}"
        yield {"name": name, "x_name": curve.x_name, "unit": "ns per element", "points": line}


def _ask(contender: str, point: Point, folder: Path) -> dict[str, dict[str, float]]:
    here = tempfile.mkdtemp(dir=folder)
    asked = {"contender": contender, "folder": here} | asdict(point)
    command = [sys.executable, str(HERE / "scaling_point.py"), json.dumps(asked)]
    try:
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    finally:
        shutil.rmtree(here)
    answer: dict[str, dict[str, float]] = json.loads(done.stdout)
    return answer


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure how costs grow.")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="a curve")
    parser.add_argument("--quick", action="store_true", help="small; nothing is kept")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the data is written")
    parser.add_argument("--output", type=Path, help="where to keep the results")
    parser.add_argument("--list", action="store_true", help="print the names of the curves")
    return parser.parse_args()


def main() -> int:
    given = arguments()
    all_curves = curves(given.quick)
    if given.list:
        print("\n".join(curve.name for curve in all_curves))
        return 0
    chosen = choose(given.only, all_curves, ()).jobs
    given.folder.mkdir(parents=True, exist_ok=True)
    facts: dict[str, Any] = {"topic": "scaling", "machine": machine()}
    facts["versions"] = {"keepset": versions(("keepset", "numpy", "pyarrow"))}
    facts["curves"] = [line for curve in chosen for line in measured(curve, given.folder)]
    facts["finished"] = datetime.now(UTC).isoformat(timespec="seconds")
    whole = not given.only and not given.quick
    if path := given.output or (RESULTS if whole else None):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(facts, indent=1) + "\n")
        print(f"kept in {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
