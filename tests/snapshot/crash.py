"""A program that keeps a data set and is killed at a step of its choice. Run by test_faults.

    python crash.py PATH STEP COUNT SEED

Kills itself the COUNT-th time that STEP is reached (a step that is never reached: it ends), or at
a random moment if STEP is "random" and COUNT the longest time in milliseconds. Prints how many
elements it had given.
"""

import os
import random
import signal
import sys
import threading
import time
from typing import Any

import numpy as np

import keepset as ks
from keepset.snapshot import first_pass
from keepset.storage import steps

ELEMENTS = 400


def dataset(path: str) -> ks.Dataset:
    def element(x: np.int64) -> dict[str, Any]:
        time.sleep(0.0005)
        return {"x": x, "v": np.full(int(x) % 5, x, np.float32)}

    return (
        ks.Dataset.range(ELEMENTS)
        .shuffle(30)
        .map(element)
        .snapshot(path, fingerprint="f", shard_func=lambda e: e["x"] % 3)
    )


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    path, step, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    # Commits several times within the run, not once a second.
    first_pass._FIRST_COMMIT_S = 0.03
    reached = [0]

    def hook(name: str) -> None:
        if name == step:
            reached[0] += 1
            if reached[0] == count:
                die()

    steps.hook = hook
    if step == "random":
        threading.Timer(random.uniform(0, count / 1000), die).start()
    for given, _ in enumerate(dataset(path), 1):
        print(given, flush=True)
    print("done", flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
