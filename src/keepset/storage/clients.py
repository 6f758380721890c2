"""Clients: how the obstore package reaches a bucket, and what its errors mean."""

from __future__ import annotations

import errno
import os
import threading
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from keepset.core.secrets import Mask
from keepset.errors import InvalidArgumentError, KeepsetError, StorageError

if TYPE_CHECKING:
    from obstore.store import MemoryStore

SCHEMES = ("s3", "gs", "az", "memory", "http", "https")

_OF_THE_CONNECTION = (
    *("allow_http", "allow_invalid_certificates", "connect_timeout", "http1_only", "http2_only"),
    *("pool_idle_timeout", "proxy_ca_certificate", "proxy_excludes", "proxy_url"),
    *("randomize_addresses", "read_timeout", "root_certificate", "timeout", "user_agent"),
)

_PATIENCE = timedelta(seconds=60)
# A person who waits hears after some tries. A pass that writes in the background uses up the time.
_MOST_RETRIES = {False: 10, True: 1000}

_in_memory: dict[str, MemoryStore] = {}
_in_memory_lock = threading.Lock()
_user: int | None = None  # the process that made the first request


def obstore() -> Any:
    """The obstore package. Only those who use a bucket wait for its import."""
    import obstore

    global _user
    _user = _user or os.getpid()
    if _user != os.getpid():
        # Its threads stayed behind, and a request would wait for them for ever.
        raise StorageError(
            "buckets cannot be used in a process that was forked from one that used them; start "
            'worker processes with "spawn" or "forkserver", or fork before the first use'
        )
    return obstore


def is_kind(error: Exception, *kinds: str) -> bool:
    """Whether an error of obstore is one of these, such as ``AlreadyExists``."""
    exceptions = obstore().exceptions
    return isinstance(error, tuple(getattr(exceptions, f"{kind}Error") for kind in kinds))


def _reason(error: Exception) -> str:
    """The first line of what obstore said, which may name the URL with all that is in it."""
    return Mask().text(str(error).partition("\n")[0])


def failed(action: str, url: str, error: Exception) -> KeepsetError:
    """The error to raise for what obstore said."""
    reason = _reason(error).rstrip(". ")
    if isinstance(error, FileNotFoundError):
        number, hint = errno.ENOENT, "check that the bucket exists"
    elif is_kind(error, "PermissionDenied", "Unauthenticated"):
        number, hint = errno.EACCES, "check the credentials and what they allow"
    elif is_kind(error, "NotSupported") or isinstance(error, NotImplementedError):
        number, hint = errno.ENOTSUP, "use a store, and options, that allow this"
    elif isinstance(error, ValueError) and "parse path" in str(error):
        return InvalidArgumentError(f"{url!r} cannot name an object: {reason}; use another name")
    else:
        number, hint = errno.EIO, "check the network, the options and the credentials; run again"
    return StorageError(f"cannot {action} {url}: {reason}; {hint}", url=url, number=number)


def _sorted_out(options: dict[str, Any]) -> dict[str, Any]:
    """With what is about the connection where obstore wants it; elsewhere it makes it panic."""
    connection = {key: options[key] for key in _OF_THE_CONNECTION if key in options}
    if not connection:
        return options
    others = {key: value for key, value in options.items() if key not in connection}
    return {**others, "client_options": {**options.get("client_options", {}), **connection}}


def client_of(scheme: str, base: str, options: dict[str, Any], *, patient: bool = False) -> Any:
    """What obstore needs to reach a bucket; the same store for the same name in memory.

    Args:
        scheme: One of ``SCHEMES``.
        base: The URL of the bucket.
        options: Those of obstore for the kind of store.
        patient: Whether to repeat requests until a minute has gone by, and not only some times.
    """
    from obstore.store import HTTPStore, MemoryStore, from_url

    if scheme == "memory":
        if options:
            raise InvalidArgumentError(f"memory:// takes no options, but got {sorted(options)}")
        with _in_memory_lock:
            return _in_memory.setdefault(base, MemoryStore())
    options = _sorted_out(options)
    try:
        if scheme in ("http", "https"):
            web = {"client_options": {"allow_http": scheme == "http"}, **options}
            return HTTPStore.from_url(base, **web)
        if scheme == "s3" and not {"conditional_put", "aws_conditional_put"} & options.keys():
            # What create() stands on, so the environment shall not switch it off.
            options = {"conditional_put": "etag", **options}
        # A network that is down for longer is an error, and not a program that hangs.
        retry = {"retry_timeout": _PATIENCE, "max_retries": _MOST_RETRIES[patient]}
        return from_url(base, **{"retry_config": retry, **options})
    except Exception as error:
        raise InvalidArgumentError(
            f"cannot open {base} with {sorted(options)}: {_reason(error)}"
        ) from error
