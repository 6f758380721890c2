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
    from keepset.snapshot.upkeep.checking import check_snapshot
    from keepset.storage import open_store

    def anonymous():
        for line in open("/proc/self/status"):
            if line.startswith("RssAnon:"):
                return int(line.split()[1])

    path, megabytes, shards = sys.argv[1], int(sys.argv[2]), int(sys.argv[4])
    noise = np.random.default_rng(0).integers(0, 256, 1 << 20, np.uint8)
    ds = ks.Dataset.range(megabytes).map(lambda i: {"i": i, "block": np.roll(noise, i)})
    most, before = 0, anonymous()
    shard_func = (lambda e: e["i"] % shards) if shards > 1 else None
    for _ in ds.snapshot(path, sys.argv[3], shard_func=shard_func, fingerprint="f"):
        most = max(most, anonymous())
    written = most - before
    most, before = 0, anonymous()
    for element in ks.load(path).shuffle(ks.GLOBAL, seed=1):
        most = max(most, anonymous())
    read = most - before
    most, before = 0, anonymous()

    def note(size):
        global most
        most = max(most, anonymous())

    assert check_snapshot(open_store(path + "/f"), note).is_sound
    print(written // 1024, read // 1024, (most - before) // 1024)
"""


def grown(path: Path, megabytes: int, compression: str, shards: int = 1) -> list[int]:
    """How many megabytes a process grew by while writing, while reading and while verifying."""
    program = textwrap.dedent(PROGRAM)
    arguments = [str(path), str(megabytes), compression, str(shards)]
    command = [sys.executable, "-c", program, *arguments]
    return [int(n) for n in subprocess.check_output(command, text=True).split()]


def test_memory_is_bounded(tmp_path: Path) -> None:
    for compression in ("NONE", "LZ4"):
        writing, reading, verifying = grown(tmp_path / compression, 400, compression)
        assert writing < 150
        # What is compressed is shuffled in windows, which may take 192 MiB.
        assert reading < (150 if compression == "NONE" else 280)
        assert verifying < 150


def test_many_shards_share_what_one_may_take(tmp_path: Path) -> None:
    writing, reading, verifying = grown(tmp_path, 300, "NONE", shards=200)
    assert writing < 250
    assert reading < 150
    assert verifying < 150
