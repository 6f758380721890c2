"""Draft: a file that gets its name only when it is whole."""

from __future__ import annotations

import os
import weakref
from contextlib import suppress
from typing import IO


class Draft:
    """A file to write to, which ``commit`` puts in place at once.

    Until then it has no name at all where the system can do that, so that even a killed process
    leaves nothing behind; elsewhere it has a temporary one beside the final one.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self.file, self._name = _open(path)
        self._discard = weakref.finalize(self, _discard, self.file, self._name)
        _open_drafts.add(self)

    def leave(self) -> None:
        """Leave the file to the process that was forked; what is buffered is written there."""
        self._discard.detach()
        with suppress(OSError, ValueError), open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), self.file.fileno())

    def commit(self) -> None:
        """Put the file under its name, in place of one that is there."""
        self.file.flush()
        # Before it has a name: else a power cut could leave the name with half of the file.
        os.fsync(self.file.fileno())
        if self._name is None:
            _give_name(self.file.fileno(), self._path)
        else:
            os.replace(self._name, self._path)
        self._discard.detach()
        self.file.close()

    def discard(self) -> None:
        """Leave nothing behind. Harmless after ``commit``; dropping the draft does the same."""
        self._discard()


_open_drafts: weakref.WeakSet[Draft] = weakref.WeakSet()


def _leave_to_parent() -> None:
    for draft in list(_open_drafts):
        draft.leave()
    _open_drafts.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)


def _open(path: str) -> tuple[IO[bytes], str | None]:
    """A new file, and its name if it has to have one."""
    if hasattr(os, "O_TMPFILE"):
        # Whatever is the matter here, opening a file with a name says it better.
        with suppress(OSError):
            file = os.open(_folder(path), os.O_TMPFILE | os.O_RDWR, 0o666)
            if os.path.exists(f"/proc/self/fd/{file}"):
                return os.fdopen(file, "wb"), None
            os.close(file)
    name = _temporary_name(path)
    return open(name, "xb"), name


def _discard(file: IO[bytes], name: str | None) -> None:
    with suppress(OSError):
        file.close()
    if name is not None:
        _unlink(name)


def _give_name(file: int, path: str) -> None:
    """Put a file without a name under ``path``."""
    source = f"/proc/self/fd/{file}"
    # A folder must be passed, though it is not used: else Python does not follow the link.
    with suppress(OSError):
        os.link(source, path, src_dir_fd=file, follow_symlinks=True)
        return
    # Something is there already. A link cannot replace it, but a rename can.
    name = _temporary_name(path)
    try:
        try:
            os.link(source, name, src_dir_fd=file, follow_symlinks=True)
        except OSError:
            _copy(source, name)
        os.replace(name, path)
    except BaseException:
        _unlink(name)
        raise


def _copy(source: str, target: str) -> None:
    with open(source, "rb") as reader, open(target, "xb") as writer:
        while block := reader.read(1 << 20):
            writer.write(block)
        writer.flush()
        os.fsync(writer.fileno())


def _unlink(name: str) -> None:
    with suppress(OSError):
        os.unlink(name)


def _folder(path: str) -> str:
    return os.path.dirname(path) or "."


def _temporary_name(path: str) -> str:
    return os.path.join(_folder(path), f".{os.path.basename(path)}.{os.urandom(8).hex()}.tmp")
