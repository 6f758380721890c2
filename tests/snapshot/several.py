"""A program that lets several processes loose on one place at once. Run by test_processes.

    python several.py JSON

The JSON is a list of runs, one after another. Each says which ``job`` of those below its processes
do, how many ``processes`` there are, by which ``method`` they are started (fork, spawn, forkserver)
and where the ``path`` is. Another list comes out: what each process of a run gave, or null for one
that was killed or did not end in time, and what this process gave itself.
"""

import fcntl
import json
import multiprocessing
import os
import signal
import sys
import tempfile
import warnings
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

import keepset as ks
from keepset.snapshot.writing import first_pass

PATIENCE_S = 60.0


class Slow:
    """Computes an element; at some elements, whoever is the first to come there is killed."""

    def __init__(self, killers: dict[str, str]) -> None:
        self.killers = killers  # by the element: a file that the first one removes

    def __call__(self, x: np.int64) -> dict[str, Any]:
        killer = self.killers.get(str(x))
        if killer is not None:
            with suppress(FileNotFoundError):
                os.unlink(killer)
                os.kill(os.getpid(), signal.SIGKILL)
        # A little work, so that the processes meet each other in the middle of it.
        return {"x": x, "v": np.sort(np.arange(3000)[::-1])[: int(x) % 3]}


def kept(facts: dict[str, Any]) -> ks.Dataset:
    ds = ks.Dataset.range(facts["elements"]).map(Slow(facts.get("killers", {})))
    return ds.snapshot(facts["path"], fingerprint="f", on_pending=facts.get("pending", "wait"))


def xs(elements: Any) -> list[int]:
    found = []
    for element in elements:
        x = int(element["x"])
        assert element["v"].tolist() == list(range(x % 3))
        found.append(x)
    return found


# The jobs:


def snapshot(number: int, facts: dict[str, Any]) -> list[int]:
    """Iterate over the whole of a snapshot."""
    return xs(kept(facts))


def worker(number: int, facts: dict[str, Any]) -> list[int]:
    """Iterate over a share of a snapshot, as the worker of a data loader does."""
    return xs(kept(facts).shard(facts["processes"], number))


def save(number: int, facts: dict[str, Any]) -> Any:
    """Save a few times, or, in every other process, load all the while."""
    path = facts["path"]
    if number % 2 == 0:
        for version in range(facts["versions"]):
            value = number * 100 + version
            ds = ks.Dataset.range(200 + value).map(lambda x, value=value: (value, x))
            ds.save(path, segment_bytes=1000)
        return None
    return [_version(path) for _ in range(facts["versions"] * 4)]


def over_itself(number: int, facts: dict[str, Any]) -> Any:
    """Save what is loaded from a place, changed, to the same place; or load all the while."""
    path = facts["path"]
    if number > 0:
        return [_version(path) for _ in range(facts["versions"] * 4)]
    for _ in range(facts["versions"]):
        ks.load(path).map(lambda value, x: (value + 1, x)).save(path, segment_bytes=1000)
    return None


def _version(path: str) -> int:
    """Read everything there is; which version it was, all of which must be of one."""
    found = [(int(value), int(x)) for value, x in ks.load(path)]
    ((value, _), *_) = found
    assert [each for each, _ in found] == [value] * len(found)
    assert [x for _, x in found] == list(range(len(found)))
    return value


JOBS: dict[str, Callable[[int, dict[str, Any]], Any]] = {
    "snapshot": snapshot,
    "worker": worker,
    "save": save,
    "over_itself": over_itself,
}


def _locked(*_: Any) -> None:
    raise AssertionError("a file was locked")


def run(number: int, facts: dict[str, Any], ready: Any, answer: Connection) -> None:
    first_pass._FIRST_COMMIT_S = 0.05
    fcntl.flock = fcntl.lockf = _locked
    ready.wait(PATIENCE_S)
    answer.send(JOBS[facts["job"]](number, facts))
    answer.close()


def answers(facts: dict[str, Any]) -> list[Any]:
    context: Any = multiprocessing.get_context(facts["method"])
    if facts["method"] == "forkserver":
        context.set_forkserver_preload(["keepset"])
    count = facts["processes"]
    ready = context.Barrier(count)
    running = []
    for number in range(count):
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=run, args=(number, facts, ready, sender), daemon=True)
        process.start()
        sender.close()
        running.append((process, receiver))
    return [_answer(process, receiver) for process, receiver in running]


def _answer(process: Any, receiver: Connection) -> Any:
    try:
        given = receiver.recv() if receiver.poll(PATIENCE_S) else None
    except EOFError:
        given = None
    process.join(PATIENCE_S)
    return given


def main() -> None:
    # Newer Pythons warn of a fork while threads run, which is what some of the jobs are about.
    warnings.filterwarnings("ignore", ".*fork", DeprecationWarning)
    first_pass._FIRST_COMMIT_S = 0.05
    with tempfile.TemporaryDirectory() as path:
        ks.Dataset.range(3).save(path)  # imports all there is to import, once for all forks
    print(json.dumps([meeting(facts) for facts in json.loads(sys.argv[1])]))


def meeting(facts: dict[str, Any]) -> dict[str, Any]:
    if not facts.get("begun"):
        return {"given": answers(facts)}
    # This process is in the middle of a pass of its own when the others are started.
    it = iter(kept({**facts, "pending": "passthrough"}))
    own = xs(next(it) for _ in range(facts["begun"]))
    given = answers(facts)
    return {"given": given, "own": own + xs(it)}


if __name__ == "__main__":
    main()
