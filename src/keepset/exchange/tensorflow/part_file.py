"""PartFile: a file that is written piece by piece, and gone on with after an interruption."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import Any

from keepset.storage.durable import sync_folder

_ENDING = ".part"


class PartFile:
    """Writes beside a file until it is whole, and notes now and then how far that is.

    What was written up to the last note counts: a later one for the same ``source`` goes on there.

    Attributes:
        elements: How many elements the part holds that is there already.
    """

    def __init__(self, path: str, source: str) -> None:
        self._path, self._part, self._note = path, path + _ENDING, f"{path}{_ENDING}.json"
        self._source = source
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        self.elements, start = self._kept()
        self._file = open(self._part, "r+b" if start else "wb")  # noqa: SIM115  # closed by close
        self._file.truncate(start)
        self._file.seek(start)
        self._size = start

    def _kept(self) -> tuple[int, int]:
        """How many elements and bytes count of what an earlier try left."""
        try:
            with open(self._note) as note:
                facts = json.load(note)
            if facts["source"] == self._source and facts["bytes"] <= os.path.getsize(self._part):
                return int(facts["elements"]), int(facts["bytes"])
        except (OSError, ValueError, KeyError, TypeError):
            return 0, 0  # there is none, or it is of no use
        return 0, 0

    def write(self, data: Any) -> int:
        self._file.write(data)
        self._size += len(data)
        return len(data)

    def tell(self) -> int:
        return self._size

    def note(self, elements: int) -> None:
        """Make what was written count, durably; it holds so many elements."""
        self._file.flush()
        os.fsync(self._file.fileno())
        facts = {"source": self._source, "elements": elements, "bytes": self._size}
        temporary = f"{self._note}.tmp"
        with open(temporary, "w") as note:
            json.dump(facts, note)
            note.flush()
            os.fsync(note.fileno())
        os.replace(temporary, self._note)

    def close(self) -> None:
        """Give the file its name. When this returns it is whole and durable."""
        if self._file.closed:
            return
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        os.replace(self._part, self._path)
        sync_folder(os.path.dirname(os.path.abspath(self._path)))
        with suppress(FileNotFoundError):
            os.unlink(self._note)

    def abort(self) -> None:
        """Stop; what counts stays for the next try."""
        if not self._file.closed:
            self._file.close()
