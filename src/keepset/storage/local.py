"""LocalStore: objects as files in a folder, on a disk or a network file system."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress

from keepset.errors import InvalidArgumentError
from keepset.storage.durable import TemporaryFile, make_folder, name_if_free, sync_folder
from keepset.storage.failures import failed, missing, reading, writing
from keepset.storage.mapped_file import mapped_file
from keepset.storage.patience import patiently
from keepset.storage.regular_file import check_regular, kind_of, open_at_once, open_regular
from keepset.storage.settle import UnclearAnswerError, create_settled
from keepset.storage.steps import reached
from keepset.storage.store import (
    TEMPORARY,
    ObjectInfo,
    ObjectWriter,
    Store,
    check_name,
    check_prefix,
)

# After these the name may be taken, by us or by others. ENOENT is what a network file system says
# to a rename that it does for the second time.
_UNCLEAR = {errno.EEXIST, errno.EIO, errno.ESTALE, errno.ETIMEDOUT, errno.ENOENT}
_NOT_THERE = (FileNotFoundError, NotADirectoryError)


class LocalStore(Store):
    """A folder, which need not exist before something is written.

    No locks are used: creating is a hard link, which takes a free name or none. So it is correct
    between processes and between machines that share a network file system.
    """

    is_remote = False

    def __init__(self, path: str | os.PathLike[str]) -> None:
        text = os.fspath(path)
        if not text or "\0" in text:
            raise InvalidArgumentError(f"{text!r} is not a path; name a folder")
        if not os.path.isabs(text):
            text = os.path.join(os.getcwd(), text)  # which may change later
        # ".." is left alone, for it may follow a link.
        self.url = self._root = text.rstrip(os.sep) or os.sep
        self._ready: set[str] = set()

    def read(self, name: str) -> bytes:
        with reading(self.object_url(name)), open_regular(self._path(name)) as file:
            return file.read()

    def read_range(self, name: str, offset: int, length: int) -> bytes:
        if offset < 0 or length < 0:
            raise InvalidArgumentError(f"{length} bytes at byte {offset} are not a range")
        with reading(self.object_url(name)):
            descriptor = open_at_once(self._path(name), os.O_RDONLY)
            try:
                # The usual case is one call; a signal or a limit of the system may cut it short.
                data = os.pread(descriptor, length, offset)
                while len(data) < length:
                    more = os.pread(descriptor, length - len(data), offset + len(data))
                    if not more:
                        raise self.too_short(name, offset, length, len(data))
                    data += more
                return data
            finally:
                os.close(descriptor)

    def view(self, name: str) -> memoryview:
        with reading(self.object_url(name)), open_regular(self._path(name)) as file:
            if os.fstat(file.fileno()).st_size == 0:
                return memoryview(b"")  # which cannot be mapped
            return memoryview(mapped_file(file.fileno()))

    def size(self, name: str) -> int:
        return self.info(name).size_bytes

    def info(self, name: str) -> ObjectInfo:
        with reading(self.object_url(name), "look at"):
            facts = os.stat(self._path(name))
        if stat.S_ISDIR(facts.st_mode):
            raise missing(self.object_url(name))
        check_regular(facts, self.object_url(name))
        return ObjectInfo(name, facts.st_size, facts.st_mtime)

    def exists(self, name: str) -> bool:
        try:
            return not stat.S_ISDIR(os.stat(self._path(name)).st_mode)
        except _NOT_THERE:
            return False
        except OSError as error:
            raise failed("look at", self.object_url(name), error) from error

    def list(self, prefix: str = "") -> Iterator[ObjectInfo]:
        return self._infos(os.path.join(self._root, check_prefix(prefix)), prefix)

    def _infos(self, folder: str, prefix: str) -> Iterator[ObjectInfo]:
        for name, entry in _walk(folder, prefix, ()):
            if not entry.name.startswith(TEMPORARY):
                with writing(entry.path, "look at"):
                    try:
                        facts = entry.stat()
                    except FileNotFoundError:
                        continue  # deleted while we look
                    except OSError as error:
                        if error.errno != errno.ELOOP:
                            raise
                        # It is there: reading it says what is wrong. One entry must not keep the
                        # others from being listed.
                        facts = entry.stat(follow_symlinks=False)
                yield ObjectInfo(name, facts.st_size, facts.st_mtime)

    def names(self, prefix: str) -> Sequence[str]:
        folder = os.path.join(self._root, check_prefix(prefix))
        try:
            found = os.listdir(folder)
        except OSError as error:
            if _is_absent(folder, prefix, error):
                return []
            raise failed("list", folder, error) from error
        return [prefix + name for name in found if not name.startswith(TEMPORARY)]

    def obstacle(self, name: str) -> str | None:
        wanted = stat.S_ISDIR if name.endswith("/") else stat.S_ISREG
        path = self._path(name.removesuffix("/"))
        try:
            facts = os.stat(path)
        except OSError as error:
            if not os.path.islink(path):
                return None
            if error.errno == errno.ELOOP:
                return "a link that leads in a circle"
            return "a link to nothing" if isinstance(error, _NOT_THERE) else None
        return None if wanted(facts.st_mode) else kind_of(facts)

    def obstacles(self, prefix: str) -> dict[str, str]:
        folder = os.path.join(self._root, check_prefix(prefix))
        try:
            with os.scandir(folder) as entries:
                # The folder says what its files are: only links and what is odd are looked at.
                odd = [entry.name for entry in entries if not _is(entry.is_file)]
        except OSError as error:
            if _is_absent(folder, prefix, error):
                return {}
            raise failed("list", folder, error) from error
        names = (prefix + name for name in odd if not name.startswith(TEMPORARY))
        found = {name: self.obstacle(name) for name in names}
        return {name: what for name, what in found.items() if what is not None}

    def create(self, name: str, data: bytes) -> bool:
        return patiently(lambda: self._create(name, data))

    def _create(self, name: str, data: bytes) -> bool:
        final, url = self._path(name), self.object_url(name)
        with writing(url, "create"):
            file = self._temporary(name)
            try:
                file.write(data)
                reached("create:written")
                file.sync()
                reached("create:synced")
                is_ours = create_settled(self, name, data, lambda: _name(file.path, final))
                reached("create:linked")
            finally:
                file.discard()
            reached("create:unlinked")
            if is_ours:
                sync_folder(os.path.dirname(final))
                reached("create:folder-synced")
            return is_ours

    def put(self, name: str, data: bytes) -> None:
        patiently(lambda: self._put(name, data))

    def _put(self, name: str, data: bytes) -> None:
        final = self._path(name)
        with writing(self.object_url(name)):
            file = self._temporary(name)
            try:
                file.write(data)
                reached("put:written")
                file.sync()
                reached("put:synced")
                os.replace(file.path, final)
            except BaseException:
                file.discard()
                raise
            reached("put:replaced")
            sync_folder(os.path.dirname(final))
            reached("put:folder-synced")

    def writer(self, name: str) -> ObjectWriter:
        return patiently(lambda: self._writer(name))

    def _writer(self, name: str) -> ObjectWriter:
        final, url = self._path(name), self.object_url(name)
        with writing(url):
            return _LocalWriter(url, final, self._temporary(name))

    def delete(self, names: Iterable[str]) -> None:
        for name in names:
            with writing(self.object_url(name), "delete"), suppress(*_NOT_THERE):
                os.unlink(self._path(name))

    def sync(self, prefix: str) -> None:
        folder = os.path.join(self._root, check_prefix(prefix))
        with writing(folder, "sync"):
            try:
                sync_folder(folder)
            except OSError as error:
                if not _is_absent(folder, prefix, error):
                    raise

    def sub(self, prefix: str) -> LocalStore:
        return LocalStore(self._path(prefix.removesuffix("/")))

    def now_s(self) -> float | None:
        # It may be that of a server. Without a folder no file can be made to be stamped.
        try:
            file = TemporaryFile(self._root)
        except OSError:
            return None
        try:
            return os.stat(file.path).st_mtime
        except OSError:
            return None
        finally:
            file.discard()

    def unfinished(self, folders: tuple[str, ...] = ("",)) -> Iterator[ObjectInfo]:
        for name, entry in _walk(self._root, "", ()):
            if not entry.name.startswith(TEMPORARY):
                continue
            if "/" not in name or name.startswith(folders):
                with writing(entry.path, "look at"), suppress(FileNotFoundError):
                    facts = entry.stat(follow_symlinks=False)
                    yield ObjectInfo(name, facts.st_size, facts.st_mtime)

    def discard(self, unfinished: Iterable[str]) -> None:
        for name in unfinished:
            path = os.path.join(self._root, name)
            with writing(path, "delete"), suppress(*_NOT_THERE):
                os.unlink(path)

    def prune(self, folders: Iterable[str]) -> None:
        """Remove these folders, and the store's own, if they are there and empty."""
        for folder in (*folders, ""):
            with suppress(OSError):  # it is not empty, not there, or not ours to remove
                os.rmdir(os.path.join(self._root, folder))
        self._ready.clear()

    def _path(self, name: str) -> str:
        return os.path.join(self._root, check_name(name))

    def _temporary(self, name: str) -> TemporaryFile:
        """A new file beside the object, in a folder that is made if it is missing."""
        folder = os.path.dirname(self._path(name))
        if folder in self._ready:
            with suppress(FileNotFoundError):  # somebody removed the folder since
                return TemporaryFile(folder)
        above = name.split("/")[:-1]
        for depth in range(len(above) + 1):
            path = os.path.join(self._root, *above[:depth])
            # One above that was made before is there, or made again with the one below it.
            if path == folder or path not in self._ready:
                make_folder(path)
                self._ready.add(path)
        return TemporaryFile(folder)


class _LocalWriter(ObjectWriter):
    def __init__(self, url: str, final: str, file: TemporaryFile) -> None:
        super().__init__(url)
        self._final, self._file = final, file

    def _write(self, view: memoryview) -> None:
        with writing(self.url):
            self._file.write(view)
            reached("writer:written")

    def _finish(self) -> None:
        with writing(self.url):
            self._file.sync()
            reached("writer:synced")
            os.replace(self._file.path, self._final)
            reached("writer:replaced")
            sync_folder(os.path.dirname(self._final))
            reached("writer:folder-synced")

    def _discard(self) -> None:
        self._file.discard()


def _name(path: str, final: str) -> None:
    try:
        name_if_free(path, final)
    except OSError as error:
        if error.errno in _UNCLEAR:
            raise UnclearAnswerError(error) from error
        raise


def _is(kind: Callable[[], bool]) -> bool:
    """The answer of an entry to ``is_dir`` or ``is_file``."""
    try:
        return kind()
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        return False  # a link that leads in a circle is neither, and those beside it are listed


def _is_absent(folder: str, prefix: str, error: OSError) -> bool:
    """Whether an error says that a folder of a store is not there, or something else in its place.

    So is a link that leads in a circle: there is nothing below it. The store itself has no prefix.
    """
    is_circle = error.errno == errno.ELOOP and bool(prefix) and os.path.islink(folder)
    return is_circle or isinstance(error, _NOT_THERE)


def _walk(
    folder: str, prefix: str, above: tuple[tuple[int, int], ...]
) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """The files below a folder with their names, in the order of the names."""
    try:
        with os.scandir(folder) as found:
            entries = [(entry.name + "/" * _is(entry.is_dir), entry) for entry in found]
        facts = os.stat(folder)
    except OSError as error:
        if _is_absent(folder, prefix, error):
            return
        raise failed("list", folder, error) from error
    here = (facts.st_dev, facts.st_ino)
    if here in above:
        return  # a link back to a folder that we are in
    # With its "/" a folder sorts among the files as the names below it do.
    for name, entry in sorted(entries, key=lambda pair: pair[0]):
        if not name.endswith("/"):
            yield prefix + name, entry
        elif not name.startswith(TEMPORARY):
            yield from _walk(entry.path, prefix + name, (*above, here))
