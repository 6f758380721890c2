"""Opening a store: which kind of store a path or a URL means.

What only stores far away need is imported when the first of them is opened.
"""

from __future__ import annotations

import os
import re
from typing import Any

from keepset.errors import InvalidArgumentError
from keepset.storage.clients import SCHEMES
from keepset.storage.local import LocalStore
from keepset.storage.private_url import private_url
from keepset.storage.store import Store
from keepset.storage.unknown_option import unknown_options
from keepset.storage.user_path import local_path, path_text

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)


def open_store(
    url_or_path: str | os.PathLike[str],
    *,
    cache_dir: str | os.PathLike[str] | None = None,
    cache_bytes: int | None = None,
    **options: Any,
) -> Store:
    """Open the store at a path or a URL. Nothing is made or asked for until it is used.

    A path is taken as it stands, whatever characters it has; only a leading ``~`` or ``~user``
    means a home folder. In ``file://`` URLs, ``%20`` and the like are decoded.

    Args:
        url_or_path: A path, or a URL that begins with ``file://``, ``s3://``, ``gs://``, ``az://``,
            ``memory://``, or, to read only, ``http://`` or ``https://``.
        cache_dir: A local folder for a cache of what is read from a bucket.
        cache_bytes: How much that cache may take; 10 GiB if it is not said.
        options: Settings of the obstore package for a bucket, such as ``region`` or ``endpoint``.

    Example:
        >>> from keepset.storage import open_store
        >>> store = open_store("memory://example")
        >>> store.create("greeting", b"hello"), store.create("greeting", b"good bye")
        (True, False)
        >>> store.read("greeting")
        b'hello'
    """
    store = _open(url_or_path, options)
    if cache_dir is None and cache_bytes is None:
        return store
    return _cached(store, cache_dir, cache_bytes)


def _open(url_or_path: str | os.PathLike[str], options: dict[str, Any]) -> Store:
    text = path_text(url_or_path)
    url = _URL.fullmatch(text) if isinstance(url_or_path, str) else None
    if url is None:
        return _local(text, options)
    scheme, rest = url[1].lower(), url[2]
    if scheme == "file":
        return _local(_path_of_file_url(text, rest), options)
    if scheme not in SCHEMES:
        known = ", ".join(f"{scheme}://" for scheme in ("file", *SCHEMES))
        shown = private_url(text)
        raise InvalidArgumentError(
            f"{shown!r} has an unknown scheme; choose one of {known}, or write ./{shown} if it is "
            "a path"
        )
    from keepset.storage.objects import open_objects

    return open_objects(text, **options)


def _local(path: str, options: dict[str, Any]) -> LocalStore:
    if options:
        raise unknown_options(options, f"{path!r} is a local path, which takes no options")
    return LocalStore(path)


def _cached(
    store: Store, cache_dir: str | os.PathLike[str] | None, cache_bytes: int | None
) -> Store:
    from keepset.storage.disk_cache import CACHE_BYTES, CachedStore

    if cache_dir is None:
        raise InvalidArgumentError(
            f"cache_bytes={cache_bytes} is given without cache_dir; name a local folder for the "
            "cache"
        )
    folder = local_path(cache_dir, "cache_dir")
    if not store.is_remote:
        raise InvalidArgumentError(
            f"{store.url!r} is a local path, which needs no cache; leave out cache_dir={folder!r}"
        )
    if os.path.exists(folder) and not os.path.isdir(folder):
        raise InvalidArgumentError(f"cache_dir={folder!r} is not a local folder")
    return CachedStore(store, folder, CACHE_BYTES if cache_bytes is None else cache_bytes)


def _path_of_file_url(url: str, rest: str) -> str:
    host, slash, path = rest.partition("/")
    if host not in ("", "localhost") or not slash:
        raise InvalidArgumentError(
            f"{private_url(url)!r} does not name a local file; write file:/// and the whole path"
        )
    from urllib.parse import unquote

    return unquote("/" + path)
