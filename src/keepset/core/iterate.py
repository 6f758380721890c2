"""DatasetIterator: elements one by one at the speed of a list, with a state at every element.

Several threads may share an iterator, and one thread pays nothing for that, because ``chain`` runs
no Python code of ours between two elements of a chunk. What makes it safe, as of CPython 3.11 to
3.13 with the global interpreter lock:

- ``chain_next`` is atomic but for two calls: that of the feed for the next chunk, and that of the
  chunk's own iterator.
- Iterators over lists and arrays, and ``zip`` of them, hand out an element without running Python
  code. ``map`` takes its arguments in the same way, and does not look at itself again after the
  function was called. So they are safe, and so is everything that ``Chunk.iterate`` returns.
- A generator, which calls the functions of ``map`` and ``filter`` stages, raises ValueError where a
  second thread enters it. It stands behind a gate (``_Gate``), which looks exhausted to a second
  thread, so that ``chain`` turns to the feed instead. The gate costs some nanoseconds, and is left
  out where nothing but the caller, such as a ``for`` statement, refers to the iterator.
- The feed locks. A thread that comes while another one is under way, or has just been given a chunk
  that ``chain`` may lose by storing two at once, gets the iterator ``_Turns`` in place of a
  chunk: it takes one element at a time, under the lock, beginning with the rest of that chunk.
- ``chain`` does not own the chunk's iterator while it calls it: the feed keeps the one that was
  current when a second thread showed up.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from sys import getrefcount
from types import GeneratorType, TracebackType
from typing import Any
from weakref import ref

from keepset.core.cursor import State
from keepset.core.memory import reuse_freed_memory
from keepset.core.node import Node
from keepset.core.pace import Pace
from keepset.core.run import start
from keepset.core.state_errors import state_errors
from keepset.core.state_outline import check_outline, outline_of
from keepset.core.tap import tap_of
from keepset.errors import StateError

# How often a thread looks whether the one before it is through with its element. That happens once,
# when the second thread arrives; from then on they wait for the lock.
_LOOK_AGAIN_S = 0.0005
# How long ``close`` waits for an element that another thread is computing.
_PATIENCE_S = 5.0
# How many reads behind a state may fail because of it. Later errors have other causes.
_READS_OF_STATE = 16


class _Gate:
    """Lets one thread at a time into a generator; to a second one it looks like an empty chunk.

    Each element takes a token from ``tokens``, and the generator puts one back before it yields. A
    thread that finds none exhausts the list's iterator for good.
    """

    def __init__(self) -> None:
        self.tokens: list[None] = [None]

    def around(self, rows: GeneratorType[Any, None, None]) -> Iterator[Any]:
        return map(rows.send, self.tokens)

    def shut(self) -> None:
        """Let no thread in any more."""
        # One that is inside puts back one token, and the list's iterator has passed at least one.
        self.tokens.clear()


class _Turns:
    """The elements one at a time, for threads that take turns."""

    def __init__(self, feed: _Feed) -> None:
        self.feed: _Feed | None = feed

    def __iter__(self) -> _Turns:
        return self

    def __next__(self) -> Any:
        feed = self.feed
        if feed is None:
            raise StopIteration
        return feed.take()


class _Feed:
    """Gives ``chain`` one iterator over the elements of each read."""

    def __init__(
        self, root: Node, state: State | None, translate: Callable[[Any], Any] | None
    ) -> None:
        reuse_freed_memory()
        self._translate = translate
        self._outline = outline_of(root)
        with state_errors(state):
            self._run = start(root, None if state is None else state["draws"])
            self._tap = tap_of(root.cursor(self._run), on_error=self._fail)
        self._pace = Pace(root.may_run_ahead)
        self._tap.counts_bytes = root.may_run_ahead
        self._closed = False
        self._final: State | None = None
        self._lock = threading.RLock()
        self._reader = 0  # the thread that has read the current chunk
        self._is_reading = False
        self._rows: Any = None  # the elements of the current chunk, as the tap gave them
        self._gate: _Gate | None = None
        self._given: Any = None  # what stands for them in ``chain``
        self._turns: _Turns | None = None
        self._iterator: ref[DatasetIterator] | None = None
        self._from = state  # until so many reads were good
        self._reads_of_state = _READS_OF_STATE
        if state is not None:
            try:
                with state_errors(state, self._outline):
                    self._tap.restore(state["cursor"])
            except BaseException:
                self.drop()
                raise

    def serve(self, iterator: DatasetIterator) -> None:
        """Say whose feed this is, without keeping it alive."""
        _open_iterators[id(self)] = self._iterator = ref(iterator)

    def __iter__(self) -> _Feed:
        return self

    def __next__(self) -> Any:
        self._stop_if_closed()
        with self._lock:
            if self._closed:
                raise StopIteration
            if self._turns is None and self._is_first_thread():
                self._given = self._read()
                return self._given
            if self._turns is None:
                self._turns = _Turns(self)
                # A thread that ``chain`` has already sent to the generator must not come in between
                # two looks at whether it runs.
                if self._gate is not None:
                    self._gate.shut()
            return self._turns

    def _stop_if_closed(self) -> None:
        # Without the lock: a fork leaves it held for ever if a thread was just about to release it.
        if self._closed:
            raise StopIteration

    def _is_first_thread(self) -> bool:
        """Whether the thread that asks for a chunk is alone, and through with the last one."""
        if self._rows is None:
            return True
        return (
            self._reader == threading.get_ident() and getattr(self._rows, "gi_frame", None) is None
        )

    def _read_of_state(self, state: State, tokens: list[None] | None) -> Any:
        """The next elements behind a state: some of what it says is only looked at here."""
        with state_errors(state, self._outline, is_reading=True):
            rows = self._tap.read(self._pace.size, tokens)
        self._reads_of_state -= 1
        if not self._reads_of_state:
            self._from = None
        return rows

    def _read(self) -> Any:
        """An iterator over the elements of the next chunk, safe for all who can reach it."""
        if self._is_reading:
            raise _reads_itself()
        self._rows = self._given = None  # so that their memory is used again
        self._reader = threading.get_ident()
        self._gate = None if self._is_private() else _Gate()
        tokens = None if self._gate is None else self._gate.tokens
        began = time.perf_counter()
        self._is_reading = True
        try:
            if self._from is None:
                rows = self._tap.read(self._pace.size, tokens)
            else:
                rows = self._read_of_state(self._from, tokens)
        except BaseException as error:
            was_closed = self._closed
            # An iterator that has raised is over, and its traceback may keep it alive for long.
            if isinstance(error, StateError) and self._from is not None and not was_closed:
                self._final = self._from["cursor"]  # where it stands is not known any more
                self.drop()
            self.close()
            if was_closed and isinstance(error, Exception):
                raise StopIteration from None  # another thread has closed what this one was reading
            if self._translate is None or (told := self._translate(error)) is error:
                raise
            raise told from error
        finally:
            self._is_reading = False
        if rows is None:
            self.close()
            raise StopIteration
        self._pace.adapt(time.perf_counter() - began, self._tap.read_bytes)
        self._rows = rows
        if self._gate is None or not isinstance(rows, GeneratorType):
            return rows
        return self._gate.around(rows)

    def _is_private(self) -> bool:
        """Whether no code can hand the iterator to another thread while this chunk lasts.

        A ``for`` statement over a dataset holds the only reference there is. From Python 3.14 on,
        a variable of the calling function may be lent without being counted.
        """
        iterator = None if self._iterator is None else self._iterator()
        return _COUNTS_ALL and iterator is not None and getrefcount(iterator) <= _PRIVATE_REFERENCES

    def take(self) -> Any:
        """The next element, for a thread that takes its turn."""
        while True:
            self._stop_if_closed()
            with self._lock:
                if self._closed:
                    raise StopIteration
                if not self._is_taken():
                    for element in self._rows:
                        return element
                    self._read()
                    continue
            # It is not under the lock, which a failing element needs.
            time.sleep(_LOOK_AGAIN_S)

    def _is_taken(self) -> bool:
        """Whether another thread, which came when it was alone, is computing an element."""
        rows = self._rows
        if self._is_reading:
            raise _reads_itself()
        if type(rows) is not GeneratorType or not rows.gi_running:
            return False
        if _is_at_work_here(rows):
            raise _reads_itself()
        return True

    @contextmanager
    def between_elements(self) -> Iterator[None]:
        """Hold on while no other thread is computing an element."""
        while True:
            if self._closed:
                yield  # without the lock, as above
                return
            with self._lock:
                rows = self._rows
                runs = type(rows) is GeneratorType and rows.gi_running
                if not runs or self._closed or _is_at_work_here(rows):
                    yield
                    return
                if self._gate is not None:
                    self._gate.shut()
            time.sleep(_LOOK_AGAIN_S)

    def state(self) -> State:
        return {
            "pipeline": self._outline,
            "draws": dict(self._run.session.draws),
            "cursor": self._final or self._tap.state(),
        }

    def close(self) -> None:
        if self._closed:
            return
        # Whatever another thread waits for may never come; its place is not known then.
        is_held = self._lock.acquire(timeout=_PATIENCE_S)
        try:
            if is_held and not self._closed:
                self._final = self._tap.state()
            self.drop()
        finally:
            if is_held:
                self._lock.release()

    def _fail(self, error: BaseException) -> BaseException:
        self.close()
        return error if self._translate is None else self._translate(error)

    def drop(self) -> None:
        """Close without noting the position: nothing is left that could ask for it."""
        if not self._closed:
            self._closed = True
            _open_iterators.pop(id(self), None)
            if self._gate is not None:
                self._gate.shut()
            if self._turns is not None:
                self._turns.feed = None  # ``chain`` may have lost count of it
            self._tap.close()
            self._run.session.close()


def _is_at_work_here(rows: GeneratorType[Any, None, None]) -> bool:
    """Whether it is the calling thread that runs a generator."""
    frame = sys._getframe()
    while frame is not None and frame is not rows.gi_frame:
        frame = frame.f_back  # type: ignore[assignment]
    return frame is not None


def _reads_itself() -> RuntimeError:
    return RuntimeError(
        "a function of this pipeline takes an element of the very iterator that called it; give it "
        "an iterator of its own"
    )


class DatasetIterator(chain[Any]):
    """Iterates over a dataset. Made by ``iter(ds)`` and ``ds.iterate(state)``.

    Several threads may take elements of one iterator: each element is given once, and functions of
    ``map`` and other stages are called by one thread at a time. (What is wrapped around it, such as
    ``enumerate(ds)``, makes no such promise.) A process that was forked cannot go on with an
    iterator of its parent, and gets a StateError.

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
        element that failed. With several threads it is behind the last element that any has taken.
        """
        with self._feed.between_elements():
            return self._feed.state()

    def close(self) -> None:
        """Stop, and let go of threads, processes and files. Dropping the iterator does the same.

        Other threads that take elements of it find its end.
        """
        self._feed.close()
        for _ in self:  # rows of the current chunk that nothing has taken
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


class _ForkedIterator(DatasetIterator):
    """What an iterator of the parent becomes in a process that was forked.

    The threads and processes that it reads from are not there, its locks may be held for ever, and
    the files and the snapshot that it writes are the parent's.
    """

    def __next__(self) -> Any:
        raise _was_forked()

    def state(self) -> State:
        raise _was_forked()

    def close(self) -> None:
        """Leave everything to the parent."""

    def __del__(self) -> None:
        pass


def _was_forked() -> StateError:
    return StateError(
        "this iterator belongs to the process that was forked, and its elements come there; "
        "iterate over the dataset anew in this process, or pass it.state(), taken before the fork, "
        "to ds.iterate"
    )


# Those that are not over, by the identity of their feed. (A WeakSet costs a microsecond for each.)
_open_iterators: dict[int, ref[DatasetIterator]] = {}
_of_parent: list[DatasetIterator] = []


def _leave_to_parent() -> None:
    for reference in _open_iterators.values():
        iterator = reference()
        if iterator is not None:
            iterator.__class__ = _ForkedIterator
            # Files that it holds must not be flushed, nor workers ended, by destructors.
            _of_parent.append(iterator)
    _open_iterators.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)


def iterate(
    root: Node,
    state: State | None = None,
    translate: Callable[[BaseException], BaseException] | None = None,
) -> DatasetIterator:
    """Iterate over the elements of ``root``, from the beginning or from a state.

    ``translate`` is given each error, and returns the one that is raised in its place.
    """
    if state is not None:
        _check_state(root, state)
    feed = _Feed(root, state, translate)
    iterator: DatasetIterator = DatasetIterator.from_iterable(feed)  # type: ignore[assignment]
    iterator._feed = feed
    feed.serve(iterator)
    return iterator


class _Probe:
    """Counts the references to its reader that a feed sees when a ``for`` statement asks it."""

    def __init__(self) -> None:
        self.reader: ref[Any] = ref(_Probe)
        self.seen = 0

    def __iter__(self) -> _Probe:
        return self

    def __next__(self) -> Any:
        if self.seen:
            raise StopIteration
        self.count()
        return ()

    def count(self) -> None:
        reader = None if self.reader is None else self.reader()
        self.seen = getrefcount(reader)


def _private_references() -> int:
    """The count that ``_is_private`` sees; measured, as it depends on the interpreter."""

    class Reader(chain[Any]):
        pass

    probe = _Probe()

    def read() -> Reader:
        reader: Reader = Reader.from_iterable(probe)  # type: ignore[assignment]
        probe.reader = ref(reader)
        return reader

    for _ in read():
        pass
    return probe.seen


_COUNTS_ALL = sys.version_info < (3, 14)
_PRIVATE_REFERENCES = _private_references()


def _check_state(root: Node, state: Any) -> None:
    if not isinstance(state, dict) or not state.keys() >= {"pipeline", "draws", "cursor"}:
        raise StateError("this is not an iterator state; pass what it.state() gave")
    check_outline(root, state["pipeline"])
