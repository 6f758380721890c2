"""RowFile: one file of another format, opened, as rows that become elements."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, NamedTuple

from keepset.core.chunk import Chunk
from keepset.core.dtypes import Array
from keepset.core.spec import Spec
from keepset.errors import CorruptRecordError, InvalidArgumentError
from keepset.storage import Store
from keepset.storage.shortage import raise_shortage


class Place(NamedTuple):
    """Where a file is: its name as the user gave it, its store, and its name in that."""

    name: str
    store: Store
    file: str

    def raise_shortage(self, error: BaseException) -> None:
        """Raise if an error is about memory, open files or a disk: it is no sign of damage."""
        raise_shortage(error, self.name)

    def damaged(self, what: object, *, record: int = 0, byte: int = 0) -> CorruptRecordError:
        """The error for contents that cannot be read."""
        return CorruptRecordError(
            f"{self.name} cannot be read: {what}; restore the file from a copy, or leave it out",
            path=self.name,
            record=record,
            byte=byte,
        )


class RowFile(ABC):
    """The rows of one file.

    It is used by one thread at a time, and only in the process that opened it.

    Attributes:
        spec: The spec of a row; None of a file without rows that does not say what they would be.
        length: How many rows there are, or None if only reading them all can tell.
        obstacle: Why its rows cannot be had by position, such as "which is compressed", though
            those of other files of the format can.
    """

    spec: Spec
    length: int | None = None
    obstacle: str | None = None

    @abstractmethod
    def chunks(self, start: int) -> Iterator[Chunk]:
        """The rows from ``start`` on, a few at a time; a megabyte or so each."""

    def gather(self, rows: Array) -> Chunk:
        """The rows at these positions, in this order, for files that can be read anywhere."""
        raise NotImplementedError

    def close(self) -> None:
        """Let go of what is open."""


def selected_columns(names: list[Any], columns: tuple[Any, ...] | None, where: str) -> list[Any]:
    """Those of a file's columns that are wanted, in the order of the file."""
    if columns is None:
        return names
    known, wanted = set(names), set(columns)
    missing = [column for column in columns if column not in known]
    if missing:
        raise InvalidArgumentError(
            f"{where} has no {', '.join(map(repr, missing))}; there are "
            f"{', '.join(map(repr, names))}"
        )
    return [name for name in names if name in wanted]
