"""FileRows: the rows of files of another format, one file after another.

A format is a subclass that opens one file. This gives it everything that files have in common: many
of them, on a disk or in a bucket; a length, and elements by position, where the format knows them;
some columns only; states that are restored without reading what lies before.
"""

from __future__ import annotations

import os
import threading
from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np

from keepset.core.cached import cached_property
from keepset.core.chunk import EMPTY, Chunk
from keepset.core.cursor import Cursor, State
from keepset.core.dtypes import Array
from keepset.core.gathering import gather_from
from keepset.core.node import UNKNOWN, Node, must_run, stage
from keepset.core.parameter import parameter, upstream
from keepset.core.run import Run
from keepset.core.spec import Spec
from keepset.errors import ElementError, InvalidArgumentError, ObjectMissingError
from keepset.exchange.files.file_names import store_of
from keepset.exchange.files.row_file import Place, RowFile
from keepset.exchange.files.size_watch import SizeWatch
from keepset.exchange.files.unlisted_files import unlisted_files
from keepset.storage import path_text
from keepset.storage.private_url import private_url

# What helps where elements cannot be had by position.
KEEP_FIRST: Final = "keep it with save(path), and load(path)"
# How many files stay open for those who read here and there.
_MOST_OPEN = 64


@stage
class FileRows(Node):
    """The rows of the files that ``parent`` names; of their ``columns``, if not all are wanted."""

    parent: Node = upstream()
    columns: tuple[Any, ...] | None = None
    # Credentials and endpoints: the files count by what their store says of them.
    store_options: Any = parameter(default=None, identity=False, recipe=False)

    # What a format can do: tell its length, give rows by position, read some columns only.
    knows_length: ClassVar[bool] = False
    is_addressable: ClassVar[bool] = False
    has_columns: ClassVar[bool] = True

    @abstractmethod
    def open_file(self, place: Place) -> RowFile:
        """Open one file."""

    @property
    def outside(self) -> Any:
        return unlisted_files(self.parent, self.store_options)

    def cursor(self, run: Run) -> Cursor:
        return _FileRowsCursor(self, self.parent.cursor(run.input(0)))

    @property
    def reads_to_count(self) -> bool:
        return self.knows_length and "_starts" not in self.__dict__

    def cardinality(self) -> int:
        if not self.knows_length or self._names is None:
            return UNKNOWN
        starts = self._starts
        return UNKNOWN if starts is None else int(starts[-1])

    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        known = self._opened.first_spec if self._names else None
        return must_run() if known is None else known

    def project(self, keys: tuple[Any, ...]) -> Node | None:
        known = self.known_spec()
        if not self.has_columns or known is None or not isinstance(known[0], dict):
            return None
        if not set(keys) <= set(known[0]):
            return None  # whoever selects says what there is
        return self.replaced(columns=tuple(key for key in known[0] if key in keys))

    def obstacle(self) -> str | None:
        if self._names is None:
            return f"{self.title} does not know its files before it runs"
        if not self.is_addressable:
            return f"{self.title} reads its files from the beginning; {KEEP_FIRST}"
        return self._obstacle

    @cached_property
    def _obstacle(self) -> str | None:
        for number, name in enumerate(self._names or []):
            if (reason := self._opened.obstacle(number)) is not None:
                return f"{self.title} reads {private_url(name)}, {reason}; {KEEP_FIRST}"
        return None

    def gather(self, indices: Array, run: Run) -> Chunk:
        starts = self._starts
        assert starts is not None
        return gather_from(
            starts, indices, lambda number, rows: self._opened.gather(number, rows - starts[number])
        )

    def place_of(self, name: str) -> Place:
        return Place(private_url(name), *store_of(path_text(name), self.store_options))

    @cached_property
    def _names(self) -> list[str] | None:
        """The files, if they are known before anything runs."""
        named = self.parent.file_names
        if named is None:
            tensors = getattr(self.parent, "tensors", None)
            if isinstance(tensors, np.ndarray) and tensors.dtype == object and tensors.ndim == 1:
                named = tensors.tolist()
        return None if named is None else [path_text(os.fsdecode(name)) for name in named]

    @cached_property
    def _starts(self) -> Array | None:
        """Before which row each file begins, and the number of all rows; None if unknown."""
        lengths = [self._opened.length(number) for number in range(len(self._names or []))]
        if None in lengths:
            return None
        return np.cumsum([0, *lengths])

    @cached_property
    def _opened(self) -> _OpenFiles:
        return _OpenFiles(self, self._names or [])


class _Opened(NamedTuple):
    """A file, and what notices that it is cut."""

    rows: RowFile
    watch: SizeWatch

    def chunks(self, start: int) -> Iterator[Chunk]:
        check = self.watch.check
        check()
        for chunk in self.rows.chunks(start):
            yield chunk
            check()

    def gather(self, rows: Array) -> Chunk:
        self.watch.check()
        return self.rows.gather(rows)


class _OpenFiles:
    """Files that are open for reading anywhere, in this process."""

    def __init__(self, node: FileRows, names: list[str]) -> None:
        self._node, self._names = node, names
        self._lock = threading.Lock()
        self._files: dict[int, _Opened] = {}
        self._process = os.getpid()

    @cached_property
    def first_spec(self) -> Spec:
        with self._lock:
            return self._file(0).rows.spec

    def length(self, number: int) -> int | None:
        with self._lock:
            return self._file(number).rows.length

    def obstacle(self, number: int) -> str | None:
        with self._lock:
            return self._file(number).rows.obstacle

    def gather(self, number: int, rows: Array) -> Chunk:
        with self._lock:
            return self._file(number).gather(rows)

    def _file(self, number: int) -> _Opened:
        if self._process != os.getpid():
            # What a parent process has open is not for its children: some libraries keep a
            # position, others threads.
            self._files, self._process = {}, os.getpid()
        file = self._files.pop(number, None)
        if file is None:
            if len(self._files) >= _MOST_OPEN:
                self._files.pop(next(iter(self._files))).rows.close()
            first = (self._file(0).rows.spec, self._names[0]) if number else None
            file = opened(self._node, self._names[number], first)
        self._files[number] = file
        return file


def opened(node: FileRows, name: str, first: tuple[Spec, str] | None) -> _Opened:
    """A file; an error if its rows are of another type than those of the ``first`` one."""
    place = node.place_of(name)
    watch = SizeWatch(place)
    try:
        file = node.open_file(place)
    except ObjectMissingError:
        if not os.path.isdir(name):
            raise
        pattern = os.path.join(name, "*")
        raise InvalidArgumentError(
            f"{name!r} is a folder, and {node.title} reads files; name those that are in it, with "
            f"a pattern such as {pattern!r}"
        ) from None
    if first is None or file.spec is None or first[0] in (None, file.spec):
        return _Opened(file, watch)
    file.close()
    raise ElementError(
        f"{private_url(name)} has rows of the type {file.spec}, but {private_url(first[1])} has "
        f"{first[0]}; read them apart, and bring them to one type with map before they are "
        "concatenated"
    )


class _FileRowsCursor(Cursor):
    def __init__(self, node: FileRows, parent: Cursor) -> None:
        self._node, self._parent = node, parent
        self._before: State = {}  # where the parent was before the file that is open
        self._file: _Opened | None = None
        self._chunks: Iterator[Chunk] = iter(())
        self._rest: Chunk = EMPTY
        self._given = 0  # of the file that is open
        self._first: tuple[Spec, str] | None = None

    def read(self, max_rows: int) -> Chunk:
        while self._file is not None or self._open(0):
            if not len(self._rest):
                self._rest = self._next()
            if len(self._rest):
                chunk, self._rest = self._rest[:max_rows], self._rest[max_rows:]
                self._given += len(chunk)
                return chunk
            self._close_file()
        return EMPTY

    def _next(self) -> Chunk:
        try:
            return next((chunk for chunk in self._chunks if len(chunk)), EMPTY)
        except BaseException:
            self._chunks = iter(())  # behind an error the file is over
            raise

    def skip(self, count: int) -> int:
        skipped = 0
        while skipped < count and (self._file is not None or self._open(0)):
            assert self._file is not None
            length = self._file.rows.length
            if length is None:
                return skipped + super().skip(count - skipped)
            step = min(count - skipped, length - self._given)
            skipped += step
            self._go_to(self._given + step)
            if self._given == length:
                self._close_file()
        return skipped

    def _open(self, row: int) -> bool:
        """Go on to the next file, and in it to a row."""
        self._before = self._parent.state()
        chunk = self._parent.read(1)
        if not len(chunk):
            return False
        name = chunk.rows[0]
        if not isinstance(name, bytes | str):
            raise ElementError(
                f"{self._node.title} needs names of files, and one is a {type(name).__name__}"
            )
        text = os.fsdecode(name)
        self._file = opened(self._node, text, self._first)
        spec = self._file.rows.spec
        if self._first is None and spec is not None:
            self._first = spec, text
        self._go_to(row)
        return True

    def _go_to(self, row: int) -> None:
        assert self._file is not None
        self._chunks, self._rest, self._given = self._file.chunks(row), EMPTY, row

    def _close_file(self) -> None:
        file, self._file = self._file, None
        self._chunks, self._rest = iter(()), EMPTY
        if file is not None:
            file.rows.close()

    def state(self) -> State:
        if self._file is None:
            return {"parent": self._parent.state(), "given": None}
        return {"parent": self._before, "given": self._given}

    def restore(self, state: State) -> None:
        self._close_file()
        self._parent.restore(state["parent"])
        if state["given"] is not None:
            self._open(state["given"])

    def close(self) -> None:
        self._close_file()
        self._parent.close()
