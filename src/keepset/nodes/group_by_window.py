"""GroupByWindow: collect elements by key, and make a data set of each group that is full."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field
from typing import Any

import numpy as np

from keepset.core.chunk import EMPTY, Chunk
from keepset.core.cursor import Cursor, State
from keepset.core.node import INFINITE, UNKNOWN, Node, must_run, stage
from keepset.core.parameter import parameter, upstream
from keepset.core.random import Randomness
from keepset.core.run import Run, look
from keepset.core.spec import Spec
from keepset.errors import ElementError, InvalidArgumentError, ResultError
from keepset.nodes.nested import Nested, open_nested, to_node
from keepset.nodes.row_loop import explain
from keepset.nodes.rows import Rows
from keepset.nodes.trail import Trail


@stage
class GroupByWindow(Node):
    """The elements of ``reduce_func(key, window)`` for every window of elements of one key.

    A window is given when it is full; those that never fill follow at the end, by rising key.
    ``wrap`` makes a data set of a node.
    """

    opens_pipelines = True
    makes_batches = False

    parent: Node = upstream()
    key_func: Callable[..., Any]
    reduce_func: Callable[[Any, Any], Any]
    window_size: int | None = None
    window_size_func: Callable[[Any], Any] | None = None
    smallest_window: int = 1  # no window of window_size_func is smaller than this
    wrap: Callable[[Node], Any] = parameter(recipe=False)  # the reader of a recipe has its own
    source: Randomness = field(default_factory=lambda: Randomness(None))

    def __post_init__(self) -> None:
        if (self.window_size is None) == (self.window_size_func is None):
            raise InvalidArgumentError(
                f"group_by_window needs window_size or window_size_func, one of the two, not "
                f"window_size={self.window_size} and window_size_func={self.window_size_func}"
            )
        if self.window_size is not None and self.window_size < 1:
            raise InvalidArgumentError(f"window_size must be at least 1, not {self.window_size}")

    @property
    def randomness(self) -> Randomness:
        return self.source

    @property
    def parameters(self) -> dict[str, Any]:
        hidden = ("source", "smallest_window")
        return {name: value for name, value in super().parameters.items() if name not in hidden}

    def cursor(self, run: Run) -> Cursor:
        return GroupByWindowCursor(self, run, run.key(self), self.title)

    def cardinality(self) -> int:
        return INFINITE if self.parent.cardinality() == INFINITE else UNKNOWN

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        return must_run()

    def _first_spec(self) -> Spec:
        run = look(self)
        try:
            cursor = GroupByWindowCursor(self, run, run.key(self), self.title)
            found = cursor.first_spec()
        finally:
            run.session.close()
        return super()._first_spec() if found is None else found

    def size_for(self, key: int) -> int:
        """How many elements a window of this key holds."""
        if self.window_size_func is None:
            assert self.window_size is not None
            return self.window_size
        size = int(self.window_size_func(np.int64(key)))
        if size < 1:
            raise ElementError(f"window_size_func must give at least 1, not {size} (key {key})")
        return size


class _Group:
    """Elements of one key, with their positions in the input."""

    def __init__(self, key: int, positions: Iterable[int] = (), rows: Iterable[Any] = ()) -> None:
        self.key, self.positions, self.rows = key, list(positions), list(rows)

    def state(self) -> list[Any]:
        return [self.key, self.positions[:]]


class GroupByWindowCursor(Cursor):
    """Keeps the groups, and the data set that the last full one became.

    The state names the positions of the elements that are held. They are fetched again by
    position where the parent allows it, and else by reading on from before the oldest of them.
    """

    def __init__(self, node: GroupByWindow, run: Run, key: tuple[int, ...], title: str) -> None:
        self._node, self._run, self._key, self._title = node, run, key, title
        self._parent = Trail(node.parent.cursor(run.input(0)))
        self._promised = node.parent.known_spec()
        self._is_addressable = node.parent.obstacle() is None
        self._groups: dict[int, _Group] = {}
        self._sizes: dict[int, int] = {}
        self._window: _Group | None = None
        self._nested: Nested | None = None
        self._ended = False

    def read(self, max_rows: int) -> Chunk:
        while True:
            if self._nested is not None:
                chunk = self._nested.read(max_rows)
                if len(chunk):
                    return chunk
                self._leave_window()
            if not self._ended:
                self._collect(max_rows)
            elif self._groups:
                self._open(self._groups.pop(min(self._groups)))
            else:
                return EMPTY

    def first_spec(self) -> Spec | None:
        """The spec of the dataset that the first window became, which may hold partial batches."""
        if not len(self.read(1)):
            return None
        assert self._nested is not None
        return self._nested.node.spec()

    def _collect(self, max_rows: int) -> None:
        """Deal elements out to their groups until one of these is full."""
        self._parent.release(min(self._held_positions(), default=self._parent.position))
        first = self._parent.position
        chunk = self._parent.read(max(max_rows, self._surely_needed()))
        self._ended = not len(chunk)
        for number, row in enumerate(chunk.rows):
            try:
                group = self._group_of(row)
            except Exception as error:
                self._parent.unread(chunk[number + 1 :])
                raise explain(error, self._title, first + number) from error.__cause__
            group.positions.append(first + number)
            group.rows.append(row)
            if len(group.rows) >= self._sizes[group.key]:
                self._parent.unread(chunk[number + 1 :])
                self._open(self._groups.pop(group.key))
                return

    def _surely_needed(self) -> int:
        """How many elements it takes at least until a group is full."""
        missing = (self._sizes[key] - len(group.rows) for key, group in self._groups.items())
        return min((self._node.window_size or self._node.smallest_window, *missing))

    def _group_of(self, row: Any) -> _Group:
        function = self._node.key_func
        value = function(*row) if type(row) is tuple else function(row)
        key = _as_key(value)
        if key not in self._sizes:
            self._sizes[key] = self._node.size_for(key)
        if key not in self._groups:
            self._groups[key] = _Group(key)
        return self._groups[key]

    def _open(self, group: _Group, state: State | None = None) -> None:
        """Make a data set of a group and begin to give its elements."""
        last = group.positions[-1]
        rows = Rows(chunk=Chunk.from_rows(group.rows), promised=self._promised)
        key = np.int64(group.key)  # no error of the function's if a state says what is no key
        try:
            result = self._node.reduce_func(key, self._node.wrap(rows))
            node = to_node(result, self._title)
        except Exception as error:
            raise explain(error, self._title, last) from error.__cause__
        self._window = group
        self._nested = open_nested(node, self._run, (*self._key, last), state)

    def _leave_window(self) -> None:
        assert self._nested is not None
        self._nested.close()
        self._nested = self._window = None

    def _held(self) -> Iterable[_Group]:
        yield from self._groups.values()
        if self._window is not None:
            yield self._window

    def _held_positions(self) -> list[int]:
        return [group.positions[0] for group in self._held() if group.positions]

    def state(self) -> State:
        position = self._parent.position
        oldest = min(self._held_positions(), default=position)
        nested = self._nested
        return {
            "parent": self._parent.state(position if self._is_addressable else oldest),
            "position": position,
            "groups": [group.state() for group in self._groups.values()],
            "window": None if self._window is None else self._window.state(),
            "nested": None if nested is None else nested.state(),
            "ended": self._ended,
        }

    def restore(self, state: State) -> None:
        self._parent.restore(state["parent"])
        self._ended = state["ended"]
        window = [state["window"]] if state["window"] is not None else []
        held = [p for _, positions in (*state["groups"], *window) for p in positions]
        rows = self._fetch(sorted(held), state["position"])
        for key, positions in state["groups"]:
            self._groups[key] = _Group(key, positions, [rows[p] for p in positions])
            self._sizes[key] = self._node.size_for(key)
        for key, positions in window:
            self._open(_Group(key, positions, [rows[p] for p in positions]), state["nested"])

    def _fetch(self, wanted: list[int], stop: int) -> dict[int, Any]:
        """Get elements again that were read before ``stop``."""
        if self._is_addressable:
            if not wanted:
                return {}
            chunk = self._node.parent.gather(np.array(wanted), self._run.input(0))
            return dict(zip(wanted, chunk.rows, strict=True))
        needed, found = set(wanted), {}
        for first, chunk in self._parent.replay(stop):
            for number in range(len(chunk)):
                if first + number in needed:
                    found[first + number] = chunk.rows[number]
        return found

    def close(self) -> None:
        if self._nested is not None:
            self._nested.close()
        self._parent.close()


def _as_key(value: Any) -> int:
    if isinstance(value, int | np.integer):
        return int(value)
    array = np.asarray(value)
    if array.shape == () and array.dtype.kind in "biu":
        return int(array)
    raise ResultError(f"a key function must return one integer, not {value!r:.60}")
