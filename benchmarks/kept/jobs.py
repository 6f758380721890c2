"""Jobs: what every tool that keeps data is asked to do, as a table for ``worker.py``.

Data is written once for each tool and workload, whole and off the clock. Reading ``n`` elements
stops after the first ``n``: a slow tool is measured on fewer. Writing ``n`` elements writes the
first ``n`` rows into a new folder.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from kept.workloads import BATCH, SEED, WORKLOADS, Array, Jagged, Table, data_folder, table

Start = Callable[[], Iterator[Any]]
Build = Callable[[int], Start]

RANDOM_READS = 10_000
# What stands before the names of methods that give the consumer memory of its own.
_OWN = "own_"
# Workloads whose elements take longer to copy one by one than in batches.
SMALL = ("W2", "W3t", "W5")
# How many elements of a job are compared, and how many rows are kept where all are too many.
CHECKED = 1000
_KEPT_BY_ALL = 50_000


class Tool:
    """A way to keep data. What a tool has no means for, it leaves as it is here.

    An element is a dict from column to array, number or ``bytes``. A batch is a dict from column to
    array; for rows of different lengths, to a Jagged or a list of rows. What reading gives may be
    views (``copies`` is False) or memory of its own.
    """

    name = ""
    copies = True
    # Whether all of it is on the disk when a method that writes returns.
    durable = False
    # Written of the first rows alone, where all of them would take minutes.
    rows_at_most = 2_000_000

    def rows(self, workload: str) -> int:
        """How many rows of a workload are kept."""
        return min(self.rows_at_most, WORKLOADS[workload].rows)

    def at_once(self, workload: str, job: str) -> int:
        """How many rows are read before the first comes out: fewer are no fair measurement."""
        return 1

    def write_arrays(self, data: Table, folder: Path, workload: str) -> None:
        raise NotImplementedError

    def write_rows(self, rows: Iterator[dict[str, Any]], like: Table, folder: Path) -> None:
        """Write rows as a generator gives them; ``like`` tells their columns, and no more."""
        raise NotImplementedError

    def elements(self, folder: Path, workload: str) -> Iterable[Any]:
        raise NotImplementedError

    def own_elements(self, folder: Path, workload: str) -> Iterable[Any]:
        """As ``elements``, in memory that is the consumer's own.

        Copied by default: small ones in batches that are taken apart, large ones one by one. Texts
        and single numbers are made anew by everybody, and so are nobody else's already.
        """
        if workload == "W3":
            return self.elements(folder, workload)
        if workload in SMALL:
            return _apart(self.own_batches(folder, workload))
        return map(own_element, self.elements(folder, workload))

    def batches(self, folder: Path, workload: str) -> Iterable[Any]:
        """``BATCH`` elements at a time, in order, the last batch may be smaller."""
        raise NotImplementedError

    def own_batches(self, folder: Path, workload: str) -> Iterable[Any]:
        return map(own_element, self.batches(folder, workload))

    def shuffled(self, folder: Path, workload: str, seed: int) -> Iterable[Any]:
        """Batches of a true shuffle of all elements."""
        raise NotImplementedError

    def buffered(self, folder: Path, workload: str, seed: int) -> Iterable[Any]:
        """Batches of a shuffle with a buffer of ``BUFFER`` elements."""
        raise NotImplementedError

    def singles(self, folder: Path, workload: str, numbers: Array) -> Iterable[Any]:
        """Single elements by their numbers."""
        raise NotImplementedError


def jobs_of(tool: Tool, codec: str = "", workloads: Sequence[str] = tuple(WORKLOADS)) -> Jobs:
    """A job for each method that a tool has, on each workload: ``"W2 batches"``."""
    jobs: Jobs = {}
    for workload in workloads:
        head = f"{workload} {codec}".strip()
        for job in _READING:
            if _has(tool, job) and not job.startswith(_OWN):
                jobs[f"{head} {job}"] = Reading(tool, workload, job)
                if job in ("elements", "batches"):
                    # What is the consumer's own already is not copied once more.
                    copied = Reading(tool, workload, job if tool.copies else _OWN + job)
                    jobs[f"{head} {job}, copied"] = copied
        for job, write in _WRITING.items():
            if _has(tool, write):
                jobs[f"{head} {job}"] = Writing(tool, workload, write)
    return jobs


def _has(tool: Tool, method: str) -> bool:
    return getattr(type(tool), method) is not getattr(Tool, method)


def _singles(tool: Tool, folder: Path, workload: str, n: int) -> Iterable[Any]:
    # The few that are compared are rows that every tool keeps.
    rows = tool.rows(workload) if n > CHECKED else min(_KEPT_BY_ALL, WORKLOADS[workload].rows)
    return tool.singles(folder, workload, np.random.default_rng(SEED).integers(0, rows, n))


# What reads so many elements. A batch counts as its elements.
_READING: dict[str, Callable[[Tool, Path, str, int], Iterable[Any]]] = {
    "elements": lambda t, f, w, n: islice(t.elements(f, w), n),
    "own_elements": lambda t, f, w, n: islice(t.own_elements(f, w), n),
    "batches": lambda t, f, w, n: islice(t.batches(f, w), -(-n // BATCH)),
    "own_batches": lambda t, f, w, n: islice(t.own_batches(f, w), -(-n // BATCH)),
    "shuffled": lambda t, f, w, n: islice(t.shuffled(f, w, SEED), -(-n // BATCH)),
    "buffered": lambda t, f, w, n: islice(t.buffered(f, w, SEED), -(-n // BATCH)),
    "singles": _singles,
}
_WRITING = {"write from arrays": "write_arrays", "write from a generator": "write_rows"}


@dataclass(frozen=True)
class Reading:
    """Reads what the tool keeps of a workload."""

    tool: Tool
    workload: str
    job: str

    @property
    def note(self) -> str:
        kept_rows, rows = self.tool.rows(self.workload), WORKLOADS[self.workload].rows
        return f"of a table of {kept_rows:,} rows, not {rows:,}" if kept_rows < rows else ""

    @property
    def most(self) -> int:
        """A pass has no more elements than this."""
        return RANDOM_READS if self.job == "singles" else self.tool.rows(self.workload)

    @property
    def least(self) -> int:
        """A pass of fewer elements would mostly measure how it begins."""
        job = self.job.removeprefix(_OWN)
        # A buffer has to be filled before the first element comes out of it.
        rows = {"elements": 1, "singles": 1, "buffered": 32 * BATCH}
        whole = rows.get(job, BATCH)
        at_once = 1 if job == "singles" else self.tool.at_once(self.workload, job)
        return min(self.most, max(whole, at_once))

    def stored_bytes(self) -> float:
        """What one element takes on disk, all files taken together."""
        files = [path for path in kept(self.tool, self.workload).rglob("*") if path.is_file()]
        return sum(path.stat().st_size for path in files) / self.tool.rows(self.workload)

    def __call__(self, n: int) -> Start:
        folder = kept(self.tool, self.workload)

        def start() -> Iterator[Any]:
            return iter(_READING[self.job](self.tool, folder, self.workload, n))

        return start


@dataclass(frozen=True)
class Writing:
    """Writes the first rows of a workload with the tool, to a folder that is removed."""

    tool: Tool
    workload: str
    method: str

    @property
    def note(self) -> str:
        return "durable when it returns" if self.tool.durable else "not durable when it returns"

    def __call__(self, n: int) -> Start:
        return _Pass(self, table(self.workload).head(n))


class _Pass:
    """Writes rows to a new folder; ``finish`` removes it, off the clock."""

    def __init__(self, job: Writing, data: Table) -> None:
        self._tool, self._workload, self._method = job.tool, job.workload, job.method
        self._data = data
        self._folder: str | None = None

    def __call__(self) -> Iterator[Any]:
        self._folder = tempfile.mkdtemp(dir=data_folder())
        if self._method == "write_arrays":
            self._tool.write_arrays(self._data, Path(self._folder), self._workload)
        else:
            self._tool.write_rows(self._data.rows(), self._data, Path(self._folder))
        return iter(())

    def finish(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder)
            self._folder = None


Jobs = dict[str, Reading | Writing]


def kept(tool: Tool, workload: str) -> Path:
    """The folder with a workload as the tool keeps it, written if it is not there."""
    folder = data_folder() / workload / tool.name
    if not folder.exists():
        data = table(workload).head(tool.rows(workload))
        unfinished = folder.with_name(f"{folder.name}.unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        if _has(tool, "write_arrays"):
            tool.write_arrays(data, unfinished, workload)
        else:
            tool.write_rows(data.rows(), data, unfinished)
        unfinished.rename(folder)
    return folder


def _apart(batches: Iterable[dict[str, Any]]) -> Iterator[Any]:
    """The elements of batches."""
    for batch in batches:
        names, columns = tuple(batch), list(map(_rows, batch.values()))
        if len(names) == 1:
            (name,) = names
            yield from ({name: a} for a in columns[0])
        else:
            k, m = names
            yield from ({k: a, m: b} for a, b in zip(*columns, strict=True))


def _rows(column: Any) -> Iterable[Any]:
    if not isinstance(column, Jagged):
        return list(column)
    values, ends = column.values, column.offsets.tolist()
    return [values[a:b] for a, b in pairwise(ends)]


def own_element(element: Any) -> Any:
    """The element in memory of its own."""
    return {name: _own(value) for name, value in element.items()}


def _own(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        # What may be written to is the consumer's own.
        return value if value.flags.writeable else value.copy()
    if isinstance(value, Jagged):
        return Jagged(value.values.copy(), value.offsets.copy(), value.is_text)
    if hasattr(value, "row_splits"):  # Keepset's own kind of the same
        return type(value)(_own(value.values), value.row_splits)
    return [_own(each) for each in value] if isinstance(value, list) else value
