"""Store: a folder or a bucket prefix that holds objects, which are named byte strings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from types import TracebackType
from typing import Self, TypeAlias

from keepset.core.record import record
from keepset.errors import InvalidArgumentError, StorageError
from keepset.storage.private_url import PrivateUrl

BytesLike: TypeAlias = bytes | bytearray | memoryview

# What a name of ours begins with until the object under it is whole. No object is called so.
TEMPORARY = ".tmp-"


@record
class ObjectInfo:
    """What a listing tells of an object; ``version`` is its ETag, where the store has one."""

    name: str
    size_bytes: int
    modified_s: float
    version: str | None = None


class Store(ABC):
    """Bytes in and out, by name.

    Names are relative and their parts are separated by ``/``: ``segments/ab12-0.arrow``. Objects
    are whole or not there: nobody sees one half written. Stores may be used by several threads.

    All methods raise ``ObjectMissingError`` for an object that is not there, and ``StorageError``
    for everything that a disk, a network or a missing permission can do.

    ``open_store(store.url)``, with the options that were given, opens the same place again.
    """

    url: str
    is_remote: bool

    @abstractmethod
    def read(self, name: str) -> bytes:
        """The whole object."""

    @abstractmethod
    def read_range(self, name: str, offset: int, length: int) -> memoryview | bytes:
        """Exactly ``length`` bytes from ``offset``; an error if the object is too short."""

    def read_ranges(self, name: str, ranges: Sequence[tuple[int, int]]) -> list[memoryview | bytes]:
        """Several ranges, each an offset and a length; at once where the store can do that."""
        return [self.read_range(name, offset, length) for offset, length in ranges]

    @abstractmethod
    def view(self, name: str) -> memoryview | None:
        """The whole object without a copy, or None where only copies can be had.

        It stays valid as long as the view, or anything made of it, lives; even if the object is
        deleted.
        """

    @abstractmethod
    def size(self, name: str) -> int:
        """How many bytes the object has."""

    def info(self, name: str) -> ObjectInfo:
        """What the store says of an object."""
        return ObjectInfo(name, self.size(name), 0.0)

    @abstractmethod
    def exists(self, name: str) -> bool:
        """Whether there is such an object."""

    @abstractmethod
    def list(self, prefix: str = "") -> Iterator[ObjectInfo]:
        """All objects below ``prefix``, which is empty or ends with ``/``, sorted by name.

        It may pass over what others have created in the last moments, unless the caller has itself
        created an object in that folder since.
        """

    def names(self, prefix: str) -> Sequence[str]:
        """The names right below ``prefix`` that no object can be created under, in any order.

        Those of objects, and on a file system those of anything else, as a folder or a link.
        """
        names = (info.name for info in self.list(prefix))
        return [name for name in names if "/" not in name[len(prefix) :]]

    def obstacle(self, name: str) -> str | None:
        """What is in the place of an object and is none, in words; None if there is no such thing.

        With a ``/`` at the end of the name, what is in the place of a folder.
        """
        return None

    def obstacles(self, prefix: str) -> dict[str, str]:
        """What is right below ``prefix`` and is no object, in words, by name.

        Object stores hold nothing but objects, and are not asked.
        """
        return {}

    @abstractmethod
    def create(self, name: str, data: bytes) -> bool:
        """Create an object if there is none, durably; False if another one was there first.

        An unclear answer is settled by reading what is there: bytes equal to ``data`` are ours. So
        ``data`` has to hold something that nobody else writes. After a ``StorageError`` the object
        may be there or not, but if it is, it is whole.
        """

    @abstractmethod
    def put(self, name: str, data: bytes) -> None:
        """Create or replace an object; readers see the old bytes or the new ones."""

    @abstractmethod
    def writer(self, name: str) -> ObjectWriter:
        """Write an object piece by piece. It takes its name when the writer is closed."""

    @abstractmethod
    def delete(self, names: Iterable[str]) -> None:
        """Remove objects; those that are not there are fine."""

    def sync(self, prefix: str) -> None:
        """Make deletions durable: of objects in the folder ``prefix``, which ends with ``/``.

        For those that must not come back after a power cut. Object stores delete durably at once.
        """

    def now_s(self) -> float | None:
        """The time by the clock that stamps objects; None where it cannot be asked for that."""
        return None

    def unfinished(self, folders: tuple[str, ...] = ("",)) -> Iterator[ObjectInfo]:
        """Files of writers, living or killed, that have not got the names of their objects yet.

        Those of the store's own folder are listed, and those below ``folders``. Object stores have
        none.
        """
        return iter(())

    def discard(self, unfinished: Iterable[str]) -> None:
        """Remove files that ``unfinished`` has listed."""

    @abstractmethod
    def sub(self, prefix: str) -> Store:
        """The store of a folder below this one."""

    def object_url(self, name: str) -> str:
        """Where an object is, for people to read."""
        url = f"/{name}" if self.url == "/" else self.url + "/" + name
        return PrivateUrl(url) if isinstance(self.url, PrivateUrl) else url

    def too_short(self, name: str, offset: int, wanted: int, got: int) -> StorageError:
        """The error for an object that ends within a range that was asked for."""
        url = self.object_url(name)
        return StorageError(
            f"{url} is too short: {wanted} bytes were wanted at byte {offset}, and there are "
            f"{got}; it was cut or replaced after it was written: restore it from a copy, or "
            "write it again",
            url=url,
        )

    def patient(self) -> Store:
        """The same place, for a writer in the background, which waits for a network."""
        return self

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"


class ObjectWriter(ABC):
    """Takes the bytes of one object. As a context manager it aborts if there was an error."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._position = 0
        self._state = "open"

    def write(self, data: BytesLike) -> int:
        """Add bytes, which may be changed afterwards; how many there were."""
        self._check_open()
        view = memoryview(data)
        if view.nbytes:
            try:
                self._write(view.cast("B"))
            except BaseException:
                # How much has arrived is unknown: closing would make an object with a hole.
                self.abort()
                raise
        self._position += view.nbytes
        return view.nbytes

    def tell(self) -> int:
        """How many bytes were written so far."""
        return self._position

    def close(self) -> None:
        """Give the object its name. When this returns it is whole and durable."""
        if self._state == "closed":
            return
        self._check_open()
        try:
            self._finish()
        except BaseException:
            self.abort()
            raise
        self._state = "closed"

    def abort(self) -> None:
        """Forget what was written; after ``close`` it is too late, and nothing happens."""
        if self._state == "open":
            self._state = "aborted"
            self._discard()

    @abstractmethod
    def _write(self, view: memoryview) -> None: ...

    @abstractmethod
    def _finish(self) -> None: ...

    @abstractmethod
    def _discard(self) -> None: ...

    def _check_open(self) -> None:
        if self._state != "open":
            raise InvalidArgumentError(
                f"the writer of {self.url} is {self._state} and takes nothing more; open a new one"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is not None:
            self.abort()
        elif self._state == "open":
            self.close()


def check_name(name: str) -> str:
    """The name itself, if it can be one of an object in any store."""
    parts = name.split("/")
    if "\0" in name or any(part in ("", ".", "..") or part.startswith(TEMPORARY) for part in parts):
        raise InvalidArgumentError(
            f"{name!r} cannot name an object; use relative names such as 'folder/file' without "
            f"'.', '..', empty parts and parts that begin with {TEMPORARY!r}"
        )
    return name


def check_prefix(prefix: str) -> str:
    """The prefix without its last ``/``, or nothing, if it can be one of a listing."""
    if prefix and not prefix.endswith("/"):
        raise InvalidArgumentError(f"the prefix {prefix!r} of a listing must end with '/'")
    return check_name(prefix[:-1]) if prefix else ""
