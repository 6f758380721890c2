"""Prefetch: a thread that reads ahead while the consumer is busy."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from keepset.core.chunk import EMPTY, Chunk
from keepset.core.cursor import Cursor, State
from keepset.core.dtypes import Array
from keepset.core.node import Node, stage
from keepset.core.parameter import parameter, upstream
from keepset.core.run import Run
from keepset.core.spec import Spec
from keepset.errors import InvalidArgumentError
from keepset.nodes.autotune import AUTOTUNE

_QUICK_READ_S = 0.001
_LARGEST_READ = 4096
_PATIENCE_S = 5.0
# What AUTOTUNE may hold: it doubles the buffer while the consumer finds it empty.
_FIRST_BUFFER, _LARGEST_BUFFER = 2, 1024
_LARGEST_BUFFER_BYTES = 128 << 20


@stage
class Prefetch(Node):
    """Up to ``buffer_size`` elements ready before they are asked for.

    Cheap elements are handed over in larger groups, because waking a thread costs more than
    computing hundreds of them; a source that must not run ahead is taken at its word.
    """

    is_physical = True

    parent: Node = upstream()
    buffer_size: int = parameter(identity=False)  # how far ahead, of the same elements

    def __post_init__(self) -> None:
        if self.buffer_size < 0 and self.buffer_size != AUTOTUNE:
            raise InvalidArgumentError(
                f"buffer_size must be 0 or more, or AUTOTUNE, not {self.buffer_size}"
            )

    @property
    def parameters(self) -> dict[str, Any]:
        automatic = self.buffer_size == AUTOTUNE
        return {"buffer_size": "AUTOTUNE" if automatic else self.buffer_size}

    def cursor(self, run: Run) -> Cursor:
        parent = self.parent.cursor(run.input(0))
        return parent if self.buffer_size == 0 else _PrefetchCursor(self, parent, run)

    def cardinality(self) -> int:
        return self.parent.cardinality()

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        return spec(self.parent)

    def obstacle(self) -> str | None:
        return self.parent.obstacle()

    def gather(self, indices: Array, run: Run) -> Chunk:
        return self.parent.gather(indices, run.input(0))


class _Item(NamedTuple):
    """Something read ahead: where the parent stood before, and a chunk or an error."""

    before: State
    chunk: Chunk
    error: BaseException | None


class _PrefetchCursor(Cursor):
    def __init__(self, node: Prefetch, parent: Cursor, run: Run) -> None:
        self._parent = parent
        self._grows = node.buffer_size == AUTOTUNE
        self._limit = _FIRST_BUFFER if self._grows else node.buffer_size
        self._largest_read = _LARGEST_READ if node.parent.may_run_ahead else 1
        self._items: deque[_Item] = deque()
        self._given = 0
        self._buffered = 0
        self._element_bytes = 0.0
        self._reading_from: State | None = None
        self._change = threading.Condition()
        self._thread: threading.Thread | None = None
        # What the thread runs, and what is run for it before it starts, is run in this context.
        self._context = run.session.context.copy()
        self._ended = False
        self._closed = False
        run.session.on_close(self._stop)

    # The reading side, in a thread of its own.

    def _work(self) -> None:
        size = 1
        while self._wait_for_room(size):
            before = self._parent.state()
            with self._change:
                self._reading_from = before
            began = time.perf_counter()
            item = self._read_item(before, size)
            if time.perf_counter() - began > _QUICK_READ_S:
                size = max(1, size // 2)
            elif size < self._largest_read:
                size *= 2
            with self._change:
                self._reading_from = None
                self._items.append(item)
                self._buffered += len(item.chunk)
                self._change.notify_all()
            if item.error is None and not len(item.chunk):
                return

    def _read_item(self, before: State, size: int) -> _Item:
        try:
            return _Item(before, self._parent.read(size), None)
        except BaseException as error:
            return _Item(before, EMPTY, error)

    def _wait_for_room(self, size: int) -> bool:
        """Wait until the buffer has room; False when the cursor is closed."""
        with self._change:
            while not self._closed:
                failed = bool(self._items) and self._items[-1].error is not None
                room = max(self._limit, size if size > 1 else 0) - self._buffered
                if room > 0 and not failed:
                    return True
                self._change.wait()
            return False

    # The consuming side.

    def read(self, max_rows: int) -> Chunk:
        if self._ended:
            return EMPTY
        with self._change:
            self._start()
            if not self._items:
                self._grow()
            while not self._items:
                if self._closed:
                    return EMPTY  # by another thread
                self._change.wait()
            return self._take(self._items[0], max_rows)

    def skip(self, count: int) -> int:
        if self._thread is not None or self._ended:
            return super().skip(count)
        return self._context.run(self._parent.skip, count)  # before anything is read ahead

    def _start(self) -> None:
        if self._thread is None:
            thread = threading.Thread(
                target=self._context.run, args=(self._work,), name="keepset-prefetch", daemon=True
            )
            thread.start()
            self._thread = thread  # one that could not be started cannot be waited for

    def _grow(self) -> None:
        """The consumer has to wait: keep more ready, as far as memory allows."""
        doubled = 2 * self._limit
        fits = doubled * self._element_bytes <= _LARGEST_BUFFER_BYTES
        if self._grows and fits and doubled <= _LARGEST_BUFFER:
            self._limit = doubled

    def _take(self, item: _Item, max_rows: int) -> Chunk:
        chunk = item.chunk[self._given : self._given + max_rows]
        if self._grows and not self._given and len(chunk):
            self._element_bytes = chunk.size_bytes / len(chunk)
        self._given += len(chunk)
        self._buffered -= len(chunk)
        if self._given == len(item.chunk):
            self._items.popleft()
            self._given = 0
            self._change.notify_all()
        if item.error is not None:
            raise item.error
        self._ended = not len(chunk)
        return chunk

    def state(self) -> State:
        with self._change:
            if self._items:
                return {"parent": self._items[0].before, "skip": self._given, "ended": self._ended}
            if self._reading_from is not None:
                return {"parent": self._reading_from, "skip": 0, "ended": self._ended}
            # Nothing is ready and nobody is reading, so the parent stands where the consumer does.
            return {"parent": self._parent.state(), "skip": 0, "ended": self._ended}

    def restore(self, state: State) -> None:
        self._context.run(self._parent.restore, state["parent"])
        self._context.run(self._parent.skip, state["skip"])
        self._ended = state["ended"]

    def _stop(self) -> None:
        with self._change:
            self._closed = True
            self._change.notify_all()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(_PATIENCE_S)

    def close(self) -> None:
        self._stop()
        self._parent.close()
