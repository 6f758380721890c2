"""The process that runs one contender: it answers requests over a pipe, one line of JSON each.

Started by the harness as ``python worker.py MODULE TABLE [CORES]``, with the interpreter of the
environment that has the contender's library. It needs NumPy and that library, nothing else.
"""

from __future__ import annotations

import ctypes
import gc
import hashlib
import importlib
import json
import math
import os
import platform
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from importlib import metadata
from time import perf_counter
from typing import Any, TextIO

import numpy as np
from memory_watch import Watch

Start = Callable[[], Iterator[Any]]
Build = Callable[[int], Start]

# A measurement shorter than this is made of several passes.
SHORTEST_S = 0.2


def measure(start: Start, passes: int) -> float:
    """Seconds for so many passes, consumed as a training loop would.

    The collector runs once before, and stays on during, for every contender alike. What a pass
    leaves behind is removed by its ``finish``, if it has one, while the clock stands still.
    """
    gc.collect()
    finish: Callable[[], None] | None = getattr(start, "finish", None)
    seconds, began = 0.0, perf_counter()
    for _ in range(passes):
        for _element in start():
            pass
        if finish is not None:
            seconds += perf_counter() - began
            finish()
            began = perf_counter()
    return seconds + (perf_counter() - began)


def calibrate(build: Build, n: int, cap_s: float) -> dict[str, int]:
    """Find how many of ``n`` elements fit in the cap, and how many passes fill the minimum.

    What a pass takes to begin (a permutation, processes, a commit) is told from what its elements
    take by comparing two sizes. If it is long, more elements are gone through, up to four times
    the cap: a pass that is mostly beginning says little about one of all elements.
    """
    n, least = min(n, getattr(build, "most", n)), getattr(build, "least", 1)
    first = size = min(n, max(256, least))
    before, seconds = (0, 0.0), measure(build(size), 1)
    each_s, begin_s, budget_s, is_sure = seconds / size, 0.0, cap_s, False
    while size < n:
        larger = min(n, size * 4)
        # One size alone does not tell a slow beginning from slow elements.
        if size > first and larger * each_s > budget_s:
            if is_sure:
                break
            # Measured again before it counts as slow: the first time is often the slowest.
            seconds, is_sure = min(seconds, measure(build(size), 1)), True
        else:
            before, size, is_sure = (size, seconds), larger, False
            seconds = measure(build(size), 1)
        each_s = max((seconds - before[1]) / (size - before[0]), 0.01 * seconds / size)
        begin_s = max(0.0, seconds - each_s * size)
        budget_s = max(cap_s, min(9 * begin_s, 4 * cap_s))
    chosen = min(n, max(size, int(budget_s / max(each_s, 1e-12)) // least * least))
    expected_s = max(begin_s + chosen * each_s, 1e-9)
    return {"n": chosen, "passes": max(1, math.ceil(SHORTEST_S / expected_s))}


def digest(iterator: Iterator[Any]) -> dict[str, Any]:
    """Hash structure, dtypes, shapes and bytes of every element, in order."""
    total, count = hashlib.blake2b(digest_size=16), 0
    for element in iterator:
        _feed(total, element)
        count += 1
    return {"digest": f"{count} elements, {total.hexdigest()}"}


def digest_shuffled(iterator: Iterator[Any]) -> dict[str, Any]:
    """Hash the batch sizes and the sorted rows; say whether the rows came out of order."""
    found = list(iterator)
    if found and isinstance(found[0], Mapping):
        return _digest_shapes(found)
    batches = [np.asarray(batch) for batch in found]
    rows = np.concatenate(batches)
    ordered = np.sort(rows)
    total = hashlib.blake2b(digest_size=16)
    _feed(total, ([len(batch) for batch in batches], ordered))
    moved = float(np.mean(rows != ordered))
    return {"digest": f"{len(batches)} batches, {total.hexdigest()}", "moved": moved}


def _digest_shapes(batches: list[Mapping[str, Any]]) -> dict[str, Any]:
    """Hash names, dtypes and shapes: these rows are some of all, and others each time."""
    total = hashlib.blake2b(digest_size=16)
    for batch in batches:
        for name in sorted(batch):
            rows = _rows_of(batch[name])
            kinds = {(np.asarray(row).dtype.kind, np.ndim(row)) for row in rows}
            total.update(f"{name} {len(rows)} {sorted(kinds)}".encode())
    return {"digest": f"{len(batches)} batches, {total.hexdigest()}", "moved": 1.0}


def _rows_of(column: Any) -> list[Any]:
    """The rows of a batch, in whatever form a tool gives them."""
    return [column[i] for i in range(len(column))]


def _is_stretches(element: Any) -> bool:
    """Whether this is many rows of different lengths: a Jagged, a Ragged or an array of bytes."""
    is_objects = isinstance(element, np.ndarray) and element.dtype == object
    return is_objects or hasattr(element, "offsets") or hasattr(element, "row_splits")


def _feed(total: Any, element: Any) -> None:
    if isinstance(element, Mapping):
        for key in sorted(element):
            total.update(f"key {key}".encode())
            _feed(total, element[key])
    elif isinstance(element, tuple | list) or _is_stretches(element):
        element = _rows_of(element)
        # Some collate tuples into lists; for a consumer who unpacks them that is the same.
        total.update(f"tuple {len(element)}".encode())
        for part in element:
            _feed(total, part)
    else:
        array = np.asarray(element)
        total.update(f"{array.dtype.str} {array.shape}".encode())
        total.update(array.tobytes())


def versions(distributions: tuple[str, ...]) -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in distributions:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            # On the path without being installed, or installed under another name (tensorflow-cpu).
            found[name] = str(getattr(sys.modules.get(name), "__version__", "unknown"))
    return found


class Server:
    """The requests, one method each."""

    def __init__(self, module: str, table: str, cores: str = "") -> None:
        if cores:
            # Before the import: threads that it starts are bound as well.
            os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: int(cores)])
        contender = importlib.import_module(module)
        self._jobs: dict[str, Build] = getattr(contender, table)
        self._notes: dict[str, str] = dict(getattr(contender, "NOTES", {}))
        for job, build in self._jobs.items():
            parts = [self._notes.get(job, ""), getattr(build, "note", "")]
            self._notes[job] = "; ".join(part for part in parts if part)
        self._distributions: tuple[str, ...] = contender.DISTRIBUTIONS
        self._built: dict[tuple[str, int], Start] = {}

    def hello(self) -> dict[str, Any]:
        return {
            "jobs": sorted(self._jobs),
            "notes": self._notes,
            "versions": versions(self._distributions),
        }

    def check(self, job: str, n: int, *, shuffled: bool) -> dict[str, Any]:
        build: Any = self._jobs[job]
        found: dict[str, Any] = {"digest": None}
        if not getattr(build, "unchecked", False):
            start = build(n)
            found = digest_shuffled(start()) if shuffled else digest(start())
            getattr(start, "finish", lambda: None)()
        if hasattr(build, "stored_bytes"):
            found["stored_bytes"] = build.stored_bytes()
        return found

    def calibrate(self, job: str, n: int, cap_s: float) -> dict[str, int]:
        return calibrate(self._jobs[job], n, cap_s)

    def time(self, job: str, n: int, passes: int) -> dict[str, Any]:
        if (job, n) not in self._built:
            self._built[job, n] = self._jobs[job](n)
        start = self._built[job, n]
        # A job may note when it came to some point of its pass.
        return {"seconds": measure(start, passes), "marks": getattr(start, "marks", {})}

    def footprint(self, job: str, n: int) -> dict[str, float]:
        """How much memory one pass takes; asked of a process that did nothing before."""
        start = self._jobs[job](n)
        gc.collect()
        with Watch() as watch:
            for _element in start():
                pass
        getattr(start, "finish", lambda: None)()
        return {"anonymous_mb": watch.most_mb - watch.first_mb, "resident_mb": watch.resident_mb}

    def forget(self) -> dict[str, Any]:
        """Let go of what was built, so that one job's data does not lie about in the next."""
        self._built.clear()
        return {}


def serve(server: Server, requests: TextIO, replies: TextIO) -> None:
    for line in requests:
        request = json.loads(line)
        try:
            answer = getattr(server, request.pop("do"))(**request)
        except Exception as error:
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}"}
        _say(replies, answer)


def _say(replies: TextIO, answer: dict[str, Any]) -> None:
    replies.write(json.dumps(answer) + "\n")
    replies.flush()


def _end_with_parent() -> None:
    """A worker that stands still would outlive a harness that is killed, and nobody would see."""
    set_death_signal = 1
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL)


def main() -> None:
    _end_with_parent()
    # Libraries print to standard output and processes they start inherit both ends, so the
    # conversation moves to descriptors that nobody else knows.
    requests, replies = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    try:
        server = Server(*sys.argv[1:])
    except ModuleNotFoundError as error:
        _say(replies, {"missing": f"not installed ({error.name})"})
    except Exception as error:
        traceback.print_exc()
        _say(replies, {"missing": f"cannot be imported ({type(error).__name__}: {error})"})
    else:
        _say(replies, server.hello())
        serve(server, requests, replies)


if __name__ == "__main__":
    main()
