"""DatasetIterator: elements one by one at the speed of a list, with a state at every element."""

from __future__ import annotations

import time
from itertools import chain
from types import TracebackType
from typing import Any

from keepset.core.cursor import State
from keepset.core.memory import reuse_freed_memory
from keepset.core.node import Node
from keepset.core.pace import Pace
from keepset.core.run import start
from keepset.core.state_outline import check_outline, outline_of
from keepset.core.tap import tap_of
from keepset.errors import StateError


class _Feed:
    """Gives ``chain`` one iterator over the elements of each read."""

    def __init__(self, root: Node, state: State | None) -> None:
        reuse_freed_memory()
        self._outline = outline_of(root)
        self._run = start(root, None if state is None else state["draws"])
        self._tap = tap_of(root.cursor(self._run), on_error=self.close)
        self._pace = Pace(root.may_run_ahead)
        self._tap.counts_bytes = root.may_run_ahead
        self._closed = False
        self._final: State | None = None
        if state is not None:
            self._tap.restore(state["cursor"])

    def __iter__(self) -> _Feed:
        return self

    def __next__(self) -> Any:
        if self._closed:
            raise StopIteration
        began = time.perf_counter()
        try:
            rows = self._tap.read(self._pace.size)
        except BaseException:
            # An iterator that has raised is over, and its traceback may keep it alive for long.
            self.close()
            raise
        if rows is None:
            self.close()
            raise StopIteration
        self._pace.adapt(time.perf_counter() - began, self._tap.read_bytes)
        return rows

    def state(self) -> State:
        return {
            "pipeline": self._outline,
            "draws": dict(self._run.session.draws),
            "cursor": self._final or self._tap.state(),
        }

    def close(self) -> None:
        if not self._closed:
            self._final = self._tap.state()
            self.drop()

    def drop(self) -> None:
        """Close without noting the position: nobody is left to ask for it."""
        if not self._closed:
            self._closed = True
            self._tap.close()
            self._run.session.close()


class DatasetIterator(chain[Any]):
    """Iterates over a data set. Made by ``iter(ds)`` and ``ds.iterate(state)``.

    Example:
        >>> from keepset import Dataset
        >>> ds = Dataset.range(5)
        >>> it = iter(ds)
        >>> next(it), next(it)
        (np.int64(0), np.int64(1))
        >>> list(ds.iterate(it.state()))
        [np.int64(2), np.int64(3), np.int64(4)]
    """

    _feed: _Feed

    def state(self) -> State:
        """Where the iterator stands, as JSON: pass it to ``ds.iterate`` to go on from here.

        It is exact at every element, also after the last one. After an error it points to the
        element that failed.
        """
        return self._feed.state()

    def close(self) -> None:
        """Stop, and let go of threads, processes and files. Dropping the iterator does the same."""
        self._feed.close()
        for _ in self:  # rows of the current chunk that nobody took
            pass

    def __enter__(self) -> DatasetIterator:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __del__(self) -> None:
        feed = getattr(self, "_feed", None)
        if feed is not None:
            feed.drop()


def iterate(root: Node, state: State | None = None) -> DatasetIterator:
    """Iterate over the elements of ``root``, from the beginning or from a state."""
    if state is not None:
        _check_state(root, state)
    feed = _Feed(root, state)
    iterator: DatasetIterator = DatasetIterator.from_iterable(feed)  # type: ignore[assignment]
    iterator._feed = feed
    return iterator


def _check_state(root: Node, state: Any) -> None:
    if not isinstance(state, dict) or not state.keys() >= {"pipeline", "draws", "cursor"}:
        raise StateError("this is not an iterator state; pass what it.state() gave")
    check_outline(root, state["pipeline"])
