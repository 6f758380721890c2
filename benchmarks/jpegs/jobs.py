"""What every tool is asked to do with the JPEG files, as a table for ``worker.py``.

A first epoch ends when everything is kept, not when the last element was handed out; that moment
is noted as a mark. Later epochs hand out memory of the consumer's own.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from kept.jobs import Build, own_element
from kept.workloads import data_folder

LAST_ELEMENT = "until the last element"


class JpegTool:
    """A way to keep what is made of the files. What a tool has no means for is left as it is.

    An element is a dict with an ``image`` and a ``label``; a batch has those of 32. ``threads``
    is how many files are decoded at once.
    """

    name = ""

    def without(self, n: int, threads: int) -> Iterable[Any]:
        """An epoch that keeps nothing."""
        raise NotImplementedError

    def first(self, n: int, threads: int, folder: Path) -> Iterable[Any]:
        """An epoch that keeps the elements; exhausted when all of them are kept."""
        raise NotImplementedError

    def elements(self, n: int, folder: Path) -> Iterable[Any]:
        raise NotImplementedError

    def batches(self, n: int, folder: Path) -> Iterable[Any]:
        raise NotImplementedError


def jpeg_jobs(tool: JpegTool, threads: tuple[int, ...] = (1, 2)) -> dict[str, Build]:
    jobs: dict[str, Build] = {}
    for count in threads:
        more = "" if count == 1 else f", {count} threads"
        if type(tool).without is not JpegTool.without:
            jobs[f"W6 without a snapshot{more}"] = _Without(tool, count)
        jobs[f"W6 first epoch{more}"] = _First(tool, count)
    jobs["W6 later elements"] = _Later(tool, tool.elements)
    jobs["W6 later batches"] = _Later(tool, tool.batches)
    return jobs


@dataclass(frozen=True)
class _Without:
    tool: JpegTool
    threads: int

    def __call__(self, n: int) -> Callable[[], Iterator[Any]]:
        return lambda: iter(self.tool.without(n, self.threads))


@dataclass(frozen=True)
class _First:
    tool: JpegTool
    threads: int

    def __call__(self, n: int) -> _FirstEpoch:
        return _FirstEpoch(self.tool, n, self.threads)


class _FirstEpoch:
    """Each pass keeps all elements anew; off the clock what it made is removed, or left for later.

    Left, if later epochs have nothing yet that they could read.
    """

    def __init__(self, tool: JpegTool, n: int, threads: int) -> None:
        self._tool, self._n, self._threads = tool, n, threads
        self._folder = _folder(tool, n).with_name(f"{tool.name} {n} unfinished")
        self.marks: dict[str, float] = {}
        self._clear()

    def _clear(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True)

    def __call__(self) -> Iterator[Any]:
        began = last = perf_counter()
        for element in self._tool.first(self._n, self._threads, self._folder):
            last = perf_counter()
            yield element
        self.marks[LAST_ELEMENT] = last - began

    def finish(self) -> None:
        target = _folder(self._tool, self._n)
        if not target.exists():
            self._folder.rename(target)
        self._clear()


@dataclass(frozen=True)
class _Later:
    tool: JpegTool
    read: Callable[[int, Path], Iterable[Any]]

    def __call__(self, n: int) -> Callable[[], Iterator[Any]]:
        folder = _folder(self.tool, n)
        if not folder.exists():
            epoch = _FirstEpoch(self.tool, n, 1)
            for _ in epoch():
                pass
            epoch.finish()
        return lambda: map(own_element, self.read(n, folder))


def _folder(tool: JpegTool, n: int) -> Path:
    return data_folder() / "W6" / f"{tool.name} {n}"
