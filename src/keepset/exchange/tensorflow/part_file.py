"""PartFile: a file that is written piece by piece, and gone on with after an interruption."""

from __future__ import annotations

import glob
import json
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from typing import Any, NamedTuple

from keepset.snapshot.writing.lease import hold, holder_of, let_go, this_holder
from keepset.snapshot.writing.run_id import new_run_id
from keepset.storage.durable import sync_folder
from keepset.storage.failures import writing
from keepset.storage.regular_file import file_to_replace, open_regular


class PartFile:
    """Writes beside a file until it is whole, and notes now and then how far that is.

    What was written up to the last note counts: if its writer is dead, a later one for the same
    ``source`` goes on there. Every writer has a part of its own, so that several do not disturb
    each other; the last one to finish gives the file its content.

    Attributes:
        elements: How many elements the part holds that is there already.
    """

    def __init__(self, path: str, source: str) -> None:
        self._run, self._since = new_run_id(), time.time()
        with writing(path):
            path = file_to_replace(path)
        self._path, self._part = path, f"{path}.part-{self._run}"
        self._note, self._source = f"{self._part}.json", source
        with writing(path):
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
            hold(self._run, self)
            self.elements, self._size = self._take_over()
            mode = "r+b" if self._size else "wb"
            self._file = open(self._part, mode)  # noqa: SIM115  # see close
        try:
            with writing(path):
                self._file.truncate(self._size)
                self._file.seek(self._size)
            self.note(self.elements)
        except BaseException:
            self.abort()
            raise

    def _take_over(self) -> tuple[int, int]:
        """Make what a dead writer left our own: how many elements and bytes of it count.

        Only writers of this machine are known to be dead. What they left of another source is
        removed, for the file is written anew now.
        """
        taken = 0, 0
        for left in _left_behind(self._path):
            with suppress(FileNotFoundError):  # another one was faster
                if left.source == self._source and left.size_bytes and not taken[1]:
                    os.rename(left.part, self._part)
                    taken = left.elements, left.size_bytes
                else:
                    os.unlink(left.part)
                os.unlink(f"{left.part}.json")
        return taken

    def write(self, data: Any) -> int:
        with writing(self._path):
            self._file.write(data)
        self._size += len(data)
        return len(data)

    def tell(self) -> int:
        return self._size

    def note(self, elements: int) -> None:
        """Make what was written count, durably; it holds so many elements."""
        facts = {
            "source": self._source,
            "elements": elements,
            "bytes": self._size,
            "writer": asdict(this_holder(self._run, self._since)),
        }
        temporary = f"{self._part}.tmp"
        with writing(self._path):
            self._file.flush()
            os.fsync(self._file.fileno())
            try:
                with open(temporary, "w") as note:
                    json.dump(facts, note)
                    note.flush()
                    os.fsync(note.fileno())
                os.replace(temporary, self._note)
            except OSError:
                with suppress(OSError):
                    os.unlink(temporary)
                raise

    def close(self) -> None:
        """Give the file its name. When this returns it is whole and durable."""
        if self._file.closed:
            return
        with writing(self._path):
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            os.replace(self._part, self._path)
            sync_folder(os.path.dirname(os.path.abspath(self._path)))
        with suppress(FileNotFoundError):
            os.unlink(self._note)
        let_go(self._run)

    def abort(self) -> None:
        """Stop; what counts stays for the next try."""
        if not self._file.closed:
            with suppress(OSError):  # of what is left to write, for which there may be no room
                self._file.close()
            let_go(self._run)


class _Left(NamedTuple):
    """A part whose writer is dead."""

    part: str
    source: str
    elements: int
    size_bytes: int


def _left_behind(path: str) -> Iterator[_Left]:
    for name in sorted(glob.glob(f"{glob.escape(path)}.part-*.json")):
        part = name.removesuffix(".json")
        try:
            with open_regular(name) as note:
                facts = json.load(note)
            writer = holder_of(facts["writer"])
            left = _Left(part, str(facts["source"]), int(facts["elements"]), int(facts["bytes"]))
            is_whole = 0 <= left.size_bytes <= os.path.getsize(part) and left.elements >= 0
        except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
            continue  # it is gone, or tells nothing
        if is_whole and writer is not None and writer.is_here and not writer.is_alive(0):
            yield left
