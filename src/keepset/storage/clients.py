"""Clients: how the obstore package reaches a bucket."""

from __future__ import annotations

import os
import re
import threading
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from keepset.core.secrets import Mask
from keepset.errors import InvalidArgumentError, StorageError
from keepset.storage.unknown_option import CONNECTION, unknown_options

if TYPE_CHECKING:
    from obstore.store import MemoryStore

SCHEMES = ("s3", "gs", "az", "memory", "http", "https")

_ENDPOINTS = ("AWS_ENDPOINT", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3")
_PATIENCE = timedelta(seconds=60)

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


def _sorted_out(options: dict[str, Any]) -> dict[str, Any]:
    """With what is about the connection where obstore wants it; elsewhere it makes it panic."""
    connection = {key: options[key] for key in CONNECTION if key in options}
    if not connection:
        return options
    others = {key: value for key, value in options.items() if key not in connection}
    return {**others, "client_options": {**options.get("client_options", {}), **connection}}


def client_of(scheme: str, base: str, options: dict[str, Any]) -> Any:
    """What obstore needs to reach a bucket; the same store for the same name in memory."""
    from obstore.store import HTTPStore, MemoryStore, from_url

    if scheme == "memory":
        if options:
            raise unknown_options(options, "memory:// takes no options")
        with _in_memory_lock:
            return _in_memory.setdefault(base, MemoryStore())
    _check_endpoints(scheme, options)
    options = _sorted_out(options)
    try:
        if scheme in ("http", "https"):
            web = {"client_options": {"allow_http": scheme == "http"}, **options}
            return HTTPStore.from_url(base, **web)
        if scheme == "s3" and not {"conditional_put", "aws_conditional_put"} & options.keys():
            # What create() stands on, so the environment shall not switch it off.
            options = {"conditional_put": "etag", **options}
        # A network that is down for longer is an error, and not a program that hangs.
        return from_url(base, **{"retry_config": {"retry_timeout": _PATIENCE}, **options})
    except Exception as error:
        reason = Mask().text(str(error).partition("\n")[0])
        if is_kind(error, "UnknownConfigurationKey"):
            unknown = [name for name in options if f"'{name}'" in reason]
            raise unknown_options(unknown, f"{base} has no such option", [scheme]) from error
        raise InvalidArgumentError(
            f"cannot open {base} with {sorted(options)}: {reason}"
        ) from error


def _check_endpoints(scheme: str, options: dict[str, Any]) -> None:
    """Refuse what is not a url, such as ``localhost:9000``, which makes obstore panic."""
    variables = {} if scheme != "s3" else {name: os.environ.get(name) for name in _ENDPOINTS}
    for name, value in {**variables, **options}.items():
        if not isinstance(value, str) or not value or "endpoint" not in name.lower():
            continue
        if not re.match(r"https?://[^/\s]", value):
            shown = Mask().text(value)
            raise InvalidArgumentError(
                f"{name}={shown!r} is not a url; write http:// or https:// before it"
            )
