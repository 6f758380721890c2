"""ObjectStore: objects in a bucket of S3, Google Cloud, Azure or alike, or in memory."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Final, TypeVar
from urllib.parse import quote, unquote

from keepset.errors import InvalidArgumentError, StorageError
from keepset.storage.clients import client_of, is_kind, obstore
from keepset.storage.multipart_upload import MultipartUpload
from keepset.storage.object_errors import failed, missing_object
from keepset.storage.private_url import private_url, whole_url
from keepset.storage.ranges import MAX_GAP_BYTES, cut, merged
from keepset.storage.settle import UnclearAnswerError, create_settled
from keepset.storage.store import ObjectInfo, ObjectWriter, Store, check_name, check_prefix

T = TypeVar("T")

# Of one listing, before the next one is an error.
_MOST_BROKEN_ANSWERS: Final = 2


def open_objects(url: str, **options: Any) -> ObjectStore:
    """The store at a URL. All after ``scheme://bucket/`` is taken as it is, but for ``http``.

    Options are those of obstore for the kind of store; what they do not say is taken from the
    environment variables of that cloud.
    """
    scheme, _, rest = url.partition("://")
    scheme = scheme.lower()
    is_web = scheme in ("http", "https")
    # What stands behind a question mark belongs to every request, such as a signature.
    rest, mark, query = rest.partition("?") if is_web else (rest, "", "")
    bucket, _, path = rest.partition("/")
    if not bucket and scheme != "memory":
        raise InvalidArgumentError(
            f"{private_url(url)!r} names no bucket; write {scheme}://bucket/folder"
        )
    path = path.strip("/")
    prefix = check_name(unquote(path) if is_web else path) if path else ""
    base = private_url(f"{scheme}://{bucket}{mark}{query}")
    client = client_of(scheme, base, options)
    return ObjectStore(base, prefix, client, options, is_web=is_web)


class ObjectStore(Store):
    """A bucket, or a part of it, through the obstore package; made by ``open_store``.

    Requests that fail for a moment are repeated, as obstore does it by itself.
    """

    is_remote = True

    def __init__(
        self, base: str, prefix: str, client: Any, options: dict[str, Any], *, is_web: bool
    ) -> None:
        self._base, self._prefix, self._client, self._options = base, prefix, client, options
        self._is_web = is_web
        shown = quote(prefix) if is_web else prefix
        root = private_url(whole_url(base).partition("?")[0]) if is_web else base
        self.url = private_url(root + "/" + shown) if prefix else root

    def read(self, name: str) -> bytes:
        obs, key = obstore(), self._key(name)
        return bytes(self._read(name, lambda: obs.get(self._client, key).bytes()))

    def read_range(self, name: str, offset: int, length: int) -> memoryview | bytes:
        return self.read_ranges(name, [(offset, length)])[0]

    def read_ranges(self, name: str, ranges: Sequence[tuple[int, int]]) -> list[memoryview | bytes]:
        if any(offset < 0 or length < 0 for offset, length in ranges):
            raise InvalidArgumentError(f"{ranges!r} are not ranges: each is an offset and a length")
        wanted = [(offset, length) for offset, length in ranges if length]
        if not wanted:
            self.size(name)  # nothing is to be had, but not of an object that is missing
        pieces = self._fetch(name, wanted)
        parts: list[memoryview | bytes] = []
        for offset, length in ranges:
            part = cut(pieces, offset, length) if length else b""
            if len(part) != length:
                raise self.too_short(name, offset, length, len(part))
            parts.append(part)
        return parts

    def _fetch(self, name: str, ranges: Sequence[tuple[int, int]]) -> list[tuple[int, memoryview]]:
        obs, key = obstore(), self._key(name)
        if not ranges:
            return []
        # obstore would merge ranges too, but falls over if the object then ends before one of them.
        starts, lengths = zip(*merged(ranges, MAX_GAP_BYTES), strict=True)
        get = partial(obs.get_ranges, self._client, key, starts=starts, lengths=lengths, coalesce=0)
        try:
            found = [memoryview(part) for part in self._read(name, get)]
            return list(zip(starts, found, strict=True))
        except StorageError as error:
            # A range that begins after the end is refused in words that differ between stores.
            if "range" in str(error).lower():
                self._check_ends(name, ranges)
            raise

    def _check_ends(self, name: str, ranges: Sequence[tuple[int, int]]) -> None:
        size = self.size(name)
        for offset, length in ranges:
            if offset + length > size:
                raise self.too_short(name, offset, length, max(size - offset, 0))

    def view(self, name: str) -> None:
        check_name(name)

    def size(self, name: str) -> int:
        return self.info(name).size_bytes

    def info(self, name: str) -> ObjectInfo:
        obs, key = obstore(), self._key(name)
        meta = self._read(name, lambda: obs.head(self._client, key))
        return ObjectInfo(name, int(meta["size"]), meta["last_modified"].timestamp(), meta["e_tag"])

    def exists(self, name: str) -> bool:
        try:
            self.size(name)
        except FileNotFoundError:
            return False
        return True

    def list(self, prefix: str = "") -> Iterator[ObjectInfo]:
        folder = "/".join(filter(None, (self._prefix, check_prefix(prefix))))
        listing = partial(obstore().list, self._client, folder or None)
        metas = self._run(
            "list", self.object_url(prefix), lambda: _repeated(lambda: listing().collect())
        )
        skip = len(self._prefix) + 1 if self._prefix else 0
        infos = (
            ObjectInfo(
                meta["path"][skip:], meta["size"], meta["last_modified"].timestamp(), meta["e_tag"]
            )
            for meta in metas
        )
        # Consoles make empty objects that stand for folders: they have no name below the prefix.
        return iter(sorted((info for info in infos if info.name), key=lambda info: info.name))

    def object_url(self, name: str) -> str:
        return super().object_url(quote(name) if self._is_web else name)

    def create(self, name: str, data: bytes) -> bool:
        obs, url = obstore(), self.object_url(name)
        put = partial(obs.put, self._client, self._key(name), bytes(data), mode="create")

        def attempt() -> None:
            try:
                put()
            except Exception as error:
                # "It is there" may be the answer to our own request, sent for the second time; and
                # one that broke off may have arrived. All else is a clear no.
                if is_kind(
                    error, "AlreadyExists", "Precondition", "NotModified", "Generic", "Join"
                ):
                    raise UnclearAnswerError(failed("create", url, error)) from error
                raise failed("create", url, error) from error

        self._check_writable(url)
        return create_settled(self, name, data, attempt)

    def put(self, name: str, data: bytes) -> None:
        obs, url = obstore(), self.object_url(name)
        self._check_writable(url)
        # A store in memory holds on to what it is given. Bytes cannot change, and are not copied.
        self._run("write", url, partial(obs.put, self._client, self._key(name), bytes(data)))

    def writer(self, name: str) -> ObjectWriter:
        url = self.object_url(name)
        self._check_writable(url)
        return MultipartUpload(url, self._client, self._key(name))

    def delete(self, names: Iterable[str]) -> None:
        obs = obstore()
        self._check_writable(self.url)
        keys = [self._key(name) for name in names]
        try:
            if keys:
                self._run("delete from", self.url, lambda: obs.delete(self._client, keys))
        except StorageError as error:
            if not isinstance(error.__cause__, FileNotFoundError):
                raise
            # Some stores stop at one that is missing; then one by one.
            for key in keys:
                self._delete_one(key)

    def _delete_one(self, key: str) -> None:
        obs, url = obstore(), f"{self._base}/{key}"
        try:
            self._run("delete", url, lambda: obs.delete(self._client, key))
        except StorageError as error:
            if not isinstance(error.__cause__, FileNotFoundError):
                raise

    def sub(self, prefix: str) -> ObjectStore:
        below = self._key(prefix.removesuffix("/"))
        return ObjectStore(self._base, below, self._client, self._options, is_web=self._is_web)

    def patient(self) -> ObjectStore:
        scheme = self._base.partition("://")[0]
        client = client_of(scheme, self._base, self._options, patient=True)
        return ObjectStore(self._base, self._prefix, client, self._options, is_web=self._is_web)

    def _key(self, name: str) -> str:
        return f"{self._prefix}/{check_name(name)}" if self._prefix else check_name(name)

    def _check_writable(self, url: str) -> None:
        if self._is_web:
            raise StorageError(
                f"cannot write {url}: what is behind http can only be read; write to a folder or "
                "to a bucket",
                url=url,
                number=errno.EROFS,
            )

    def _read(self, name: str, request: Callable[[], T]) -> T:
        url = self.object_url(name)
        try:
            return self._run("read", url, request)
        except StorageError as error:
            # A variable for the cause would be a cycle with its frames, and hold all that they do.
            if isinstance(error.__cause__, FileNotFoundError):
                raise missing_object(url, error.__cause__) from error.__cause__
            raise

    def _run(self, action: str, url: str, request: Callable[[], T]) -> T:
        try:
            return request()
        except Exception as error:
            raise failed(action, url, error) from error

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (self._base, self._prefix, self._options)


def _repeated(listing: Callable[[], T]) -> T:
    """A listing, asked for again if its answer broke off: obstore repeats requests alone."""
    for _ in range(_MOST_BROKEN_ANSWERS):
        try:
            return listing()
        except Exception as error:
            reason = str(error).partition("\n")[0]
            if not is_kind(error, "Generic") or "list response" not in reason:
                raise
    return listing()


def _reopen(base: str, prefix: str, options: dict[str, Any]) -> ObjectStore:
    store = open_objects(base, **options)
    return store.sub(prefix) if prefix else store
