"""Anonymous memory does not grow with the data, while writing and while reading."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

PROGRAM = """
    import sys
    import numpy as np
    import keepset as ks

    def anonymous():
        for line in open("/proc/self/status"):
            if line.startswith("RssAnon:"):
                return int(line.split()[1])

    path, megabytes = sys.argv[1], int(sys.argv[2])
    noise = np.random.default_rng(0).integers(0, 256, 1 << 20, np.uint8)
    ds = ks.Dataset.range(megabytes).map(lambda i: {"i": i, "block": np.roll(noise, i)})
    most, before = 0, anonymous()
    for _ in ds.snapshot(path, compression=sys.argv[3], fingerprint="f"):
        most = max(most, anonymous())
    written = most - before
    most, before = 0, anonymous()
    for element in ks.load(path).shuffle(ks.GLOBAL, seed=1):
        most = max(most, anonymous())
    print(written // 1024, (most - before) // 1024)
"""


def grown(path: Path, megabytes: int, compression: str) -> list[int]:
    """How many megabytes a process grew by while writing and while reading."""
    program = textwrap.dedent(PROGRAM)
    command = [sys.executable, "-c", program, str(path), str(megabytes), compression]
    return [int(n) for n in subprocess.check_output(command, text=True).split()]


def test_memory_is_bounded(tmp_path: Path) -> None:
    for compression in ("NONE", "LZ4"):
        writing, reading = grown(tmp_path / compression, 400, compression)
        assert writing < 150
        assert reading < 150
