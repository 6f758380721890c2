"""A fresh process that reads one element: ``python first_element.py MODULE TABLE JOB``.

Says when it is there by writing a line. Without arguments it imports NumPy and Arrow, no more; with
``--load FOLDER`` or ``--stage FOLDER`` it does what a user of Keepset does, without the tables of
jobs, which would be a tenth of the time.
"""

from __future__ import annotations

import os
import sys
from typing import Any


def twice(x: Any) -> Any:
    return x * 2


def main() -> None:
    if len(sys.argv) == 1:
        import numpy  # noqa: F401
        import pyarrow  # noqa: F401
    elif sys.argv[1] == "--load":
        import keepset as ks

        next(iter(ks.load(sys.argv[2])))
    elif sys.argv[1] == "--stage":
        import keepset as ks

        is_there = os.path.exists(sys.argv[2])
        kept = ks.Dataset.range(100_000).map(twice).snapshot(sys.argv[2])
        for _ in kept.take(1) if is_there else kept:
            pass
    else:
        from importlib import import_module

        module, table, job = sys.argv[1:]
        build = getattr(import_module(module), table)[job]
        next(iter(build(1)()))
    sys.stdout.write("there\n")
    sys.stdout.flush()
    # At once: what a library does when it ends is another matter.
    os._exit(0)


if __name__ == "__main__":
    main()
