"""Opens a saved data set of 1,000 files, and prints the seconds to its first element.

    python many_segments.py FOLDER

The data set is made in the folder if it is not there. Importing Keepset, NumPy and Arrow is not
counted; the parts of Keepset that it imports when something is loaded are.
"""

from __future__ import annotations

import sys
from pathlib import Path
from time import perf_counter

import pyarrow  # noqa: F401 (not counted)

import keepset as ks

SEGMENTS = 1000


def main() -> None:
    folder = Path(sys.argv[1])
    if not folder.exists():
        # Files end at the first chunk that reaches the size: each chunk is a file.
        rows = ks.Dataset.range(SEGMENTS * 1024)
        rows.save(folder, chunk_bytes=8 * 1024, segment_bytes=1)
    found = sum(1 for _ in folder.glob("**/segments/*"))
    if found < SEGMENTS:
        raise SystemExit(f"error: {folder} has {found} segments, not {SEGMENTS}; remove it")
    began = perf_counter()
    next(iter(ks.load(folder)))
    print(perf_counter() - began)


if __name__ == "__main__":
    main()
