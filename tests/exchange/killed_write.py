"""Writes a file through a door, and is killed in the middle."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.exchange.doors import DOORS, Door

import keepset as ks


def main(door: Door, folder: Path) -> None:
    def elements() -> Iterator[Any]:
        yield from (door.kind(i) for i in range(3000))
        os.kill(os.getpid(), signal.SIGKILL)

    signature = door.dataset(1).element_spec
    ds = ks.Dataset.from_generator(elements, output_signature=signature)
    door.write(ds, folder / f"killed{door.ending}")


if __name__ == "__main__":
    main(DOORS[sys.argv[1]], Path(sys.argv[2]))
