"""Jobs: what every tool that keeps data is asked to do, as a table for ``worker.py``.

Data is written once for each tool and workload, whole and off the clock, below the folder that
``KEEPSET_BENCH_FOLDER`` names. Reading ``n`` elements stops after the first ``n``: a slow tool is
measured on fewer. Writing ``n`` elements writes the first ``n`` rows into a new folder.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from kept.workloads import BATCH, SEED, WORKLOADS, Array, Jagged, Table, table

Start = Callable[[], Iterator[Any]]
Build = Callable[[int], Start]

RANDOM_READS = 10_000


class Tool:
    """A way to keep data. What a tool has no means for, it leaves as it is here.

    An element is a dict from column to array, number or ``bytes``. A batch is a dict from column to
    array; for rows of different lengths, to a Jagged or a list of rows. What reading gives may be
    views (``copies`` is False) or memory of its own.
    """

    name = ""
    copies = True

    def write_arrays(self, data: Table, folder: Path, workload: str) -> None:
        raise NotImplementedError

    def write_rows(self, rows: Iterator[dict[str, Any]], like: Table, folder: Path) -> None:
        """Write rows as a generator gives them; ``like`` tells their columns, and no more."""
        raise NotImplementedError

    def elements(self, folder: Path, workload: str) -> Iterable[Any]:
        raise NotImplementedError

    def batches(self, folder: Path, workload: str) -> Iterable[Any]:
        """``BATCH`` elements at a time, in order, the last batch may be smaller."""
        raise NotImplementedError

    def shuffled(self, folder: Path, workload: str, seed: int) -> Iterable[Any]:
        """Batches of a true shuffle of all elements."""
        raise NotImplementedError

    def buffered(self, folder: Path, workload: str, seed: int) -> Iterable[Any]:
        """Batches of a shuffle with a buffer of ``BUFFER`` elements."""
        raise NotImplementedError

    def singles(self, folder: Path, workload: str, numbers: Array) -> Iterable[Any]:
        """Single elements by their numbers."""
        raise NotImplementedError


def jobs_of(tool: Tool) -> dict[str, Build]:
    """A job for each method that a tool has, on each workload: ``"W2 batches"``."""
    jobs: dict[str, Build] = {}
    for workload in WORKLOADS:
        for job, make in _READING.items():
            if _has(tool, job):
                jobs[f"{workload} {job}"] = _reading(tool, workload, make)
                if not tool.copies and job in ("elements", "batches"):
                    jobs[f"{workload} {job}, copied"] = _reading(tool, workload, make, True)
        for job in ("write_arrays", "write_rows"):
            if _has(tool, job):
                name = "write from arrays" if job == "write_arrays" else "write from a generator"
                jobs[f"{workload} {name}"] = _writing(tool, workload, job)
    return jobs


def _has(tool: Tool, method: str) -> bool:
    return getattr(type(tool), method) is not getattr(Tool, method)


def _singles(tool: Tool, folder: Path, workload: str, n: int) -> Iterable[Any]:
    rows = WORKLOADS[workload].rows
    return tool.singles(folder, workload, np.random.default_rng(SEED).integers(0, rows, n))


# What reads so many elements. A batch counts as its elements.
_READING: dict[str, Callable[[Tool, Path, str, int], Iterable[Any]]] = {
    "elements": lambda t, f, w, n: islice(t.elements(f, w), n),
    "batches": lambda t, f, w, n: islice(t.batches(f, w), -(-n // BATCH)),
    "shuffled": lambda t, f, w, n: islice(t.shuffled(f, w, SEED), -(-n // BATCH)),
    "buffered": lambda t, f, w, n: islice(t.buffered(f, w, SEED), -(-n // BATCH)),
    "singles": _singles,
}


def _reading(
    tool: Tool,
    workload: str,
    read: Callable[[Tool, Path, str, int], Iterable[Any]],
    copied: bool = False,
) -> Build:
    def build(n: int) -> Start:
        folder = kept(tool, workload)

        def start() -> Iterator[Any]:
            found = iter(read(tool, folder, workload, n))
            return map(_copy, found) if copied else found

        return start

    return build


def kept(tool: Tool, workload: str) -> Path:
    """The folder with a workload as the tool keeps it, written if it is not there."""
    folder = Path(os.environ["KEEPSET_BENCH_FOLDER"]) / workload / tool.name
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        unfinished = folder.with_name(f"{folder.name}.unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir()
        data = table(workload)
        if _has(tool, "write_arrays"):
            tool.write_arrays(data, unfinished, workload)
        else:
            tool.write_rows(data.rows(), data, unfinished)
        unfinished.rename(folder)
    return folder


def _writing(tool: Tool, workload: str, job: str) -> Build:
    def build(n: int) -> Start:
        data = table(workload).head(n)

        def start() -> Iterator[Any]:
            with tempfile.TemporaryDirectory(dir=os.environ["KEEPSET_BENCH_FOLDER"]) as folder:
                if job == "write_arrays":
                    tool.write_arrays(data, Path(folder), workload)
                else:
                    tool.write_rows(data.rows(), data, Path(folder))
            return iter(())

        return start

    return build


def _copy(element: Any) -> Any:
    return {name: _own(value) for name, value in element.items()}


def _own(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        # What may be written to is the consumer's own.
        return value if value.flags.writeable else value.copy()
    if isinstance(value, Jagged):
        return Jagged(value.values.copy(), value.offsets.copy(), value.is_text)
    return [_own(each) for each in value] if isinstance(value, list) else value
