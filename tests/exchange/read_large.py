"""Reads a file, and one of ten times its size; prints the anonymous memory of each, in MB."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.exchange.doors import DOORS, Door


def anonymous_mb() -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("the system does not tell")


def main(door: Door, folder: Path) -> None:
    small, large = folder / f"small{door.ending}", folder / f"large{door.ending}"
    door.write(door.dataset(50, door.large), small)
    door.write(door.dataset(500, door.large), large)
    for path in (small, large):
        most = 0.0
        for count, _ in enumerate(door.read(path)):
            if count % 10 == 0:
                most = max(most, anonymous_mb())
        print(most)


if __name__ == "__main__":
    main(DOORS[sys.argv[1]], Path(sys.argv[2]))
