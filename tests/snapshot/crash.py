"""A program that keeps data sets and is killed at steps of one's choice. Run by test_faults.

It reads requests, one JSON object in a line each, does what is asked in a fork of itself, which
spares an import for each kill, and answers with another line:

    path    where to keep the data set
    step    at which of the named steps to die, or "random", "given" or "never"
    at      the how-manieth time that step is reached; the longest time in milliseconds until a
            random moment; or the number of elements that were given
    every   after how many elements a commit is due, in chunks of one or two elements each; if it
            is not said, time decides

The answer says whether the process was ``killed``, and ``times``: when it gave each of its
elements, in seconds since it began.
"""

import json
import os
import random
import signal
import struct
import sys
import tempfile
import threading
import time
from typing import Any

import numpy as np

import keepset as ks
from keepset.snapshot.writing import first_pass
from keepset.storage import steps

ELEMENTS = 400
WORK_S = 0.0005  # what each element takes


def dataset(path: str, **options: Any) -> ks.Dataset:
    def element(x: np.int64) -> dict[str, Any]:
        time.sleep(WORK_S)
        return {"x": x, "v": np.full(int(x) % 5, x, np.float32)}

    return (
        ks.Dataset.range(ELEMENTS)
        .shuffle(30)
        .map(element)
        .snapshot(path, fingerprint="f", shard_func=lambda e: e["x"] % 3, **options)
    )


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def run(request: dict[str, Any], answer: int) -> None:
    """Iterate, and tell of each element."""
    step, at, every = request["step"], request["at"], request.get("every")
    # Commits several times within the run, not once a second.
    first_pass._FIRST_COMMIT_S = 0.03
    options = {}
    if every is not None:
        options = {"chunk_bytes": 30}
        is_due = property(lambda self: self._added >= every)
        first_pass.FirstPass.is_due = is_due  # type: ignore[method-assign,assignment]
    reached = 0

    def hook(name: str) -> None:
        nonlocal reached
        if name == step:
            reached += 1
            if reached == at:
                die()

    steps.hook = hook
    if step == "random":
        threading.Timer(random.uniform(0, at / 1000), die).start()
    began = time.monotonic()
    for given, _ in enumerate(dataset(request["path"], **options), 1):
        os.write(answer, struct.pack("<d", time.monotonic() - began))
        if step == "given" and given == at:
            die()


def served(request: dict[str, Any]) -> dict[str, Any]:
    receiver, sender = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(receiver)
        status = 1
        try:
            run(request, sender)
            status = 0
        finally:
            os._exit(status)
    os.close(sender)
    with os.fdopen(receiver, "rb") as file:
        data = file.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, -signal.SIGKILL), code
    return {"killed": code != 0, "times": [time for (time,) in struct.iter_unpack("<d", data)]}


def main() -> None:
    with tempfile.TemporaryDirectory() as path:
        list(dataset(path).take(3))  # imports all there is to import, once for all forks
    for line in sys.stdin:
        print(json.dumps(served(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
