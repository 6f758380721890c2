"""BadRows: what to do about rows that cannot be read, and how many there were."""

from __future__ import annotations

import warnings
from typing import Final

from keepset.errors import (
    CorruptRecordError,
    CorruptRecordWarning,
    InvalidArgumentError,
    KeepsetError,
)

POLICIES: Final = ("error", "skip", "warn")


def check_policy(on_bad_row: str) -> None:
    """An error if there is no such policy."""
    if on_bad_row not in POLICIES:
        raise InvalidArgumentError(
            f"on_bad_row={on_bad_row!r} is unknown; choose one of {', '.join(map(repr, POLICIES))}"
        )


class BadRows:
    """Takes note of the bad rows of one file, and tells of them at its end."""

    def __init__(self, name: str, on_bad_row: str) -> None:
        self._name, self._policy = name, on_bad_row
        self._count, self._first = 0, ""

    @property
    def are_errors(self) -> bool:
        return self._policy == "error"

    def error(
        self, line: int, what: str, kind: type[KeepsetError] = CorruptRecordError
    ) -> KeepsetError:
        """The error for a row that begins in a line."""
        message = f'{self._name}: line {line}: {what}; or leave out such rows, on_bad_row="skip"'
        if kind is CorruptRecordError:
            return CorruptRecordError(message, path=self._name, record=line)
        return kind(message)

    def note(self, line: int, what: str) -> None:
        """Do as the user wants about a bad row."""
        if self.are_errors:
            raise self.error(line, what)
        self._count += 1
        self._first = self._first or f"line {line}: {what}"
        if self._policy == "warn":
            self._warn(f"{self._name}: left out line {line}: {what}")

    def tell(self) -> None:
        """Say how many there were."""
        if self._count:
            rows = "row was" if self._count == 1 else "rows were"
            self._warn(f"{self._name}: {self._count} bad {rows} left out; the first: {self._first}")

    def _warn(self, text: str) -> None:
        warnings.warn(text, CorruptRecordWarning, stacklevel=3)
