"""Running: objects without content, that stand for what runs, waits or is connected."""

from __future__ import annotations

import threading
from typing import Any

from keepset.core.fingerprint.class_attributes import has_class_attribute
from keepset.core.fingerprint.origin import is_library_class, library_of

_FAMILIAR = {
    "_thread.lock": "threading.Lock",
    "_thread.RLock": "threading.RLock",
    "_thread._local": "threading.local",
    "_io.TextIOWrapper": "open file",
    "_io.BufferedReader": "open file",
    "_io.BufferedWriter": "open file",
    "_io.FileIO": "open file",
    "builtins.generator": "generator",
    "builtins.coroutine": "coroutine",
    "builtins.async_generator": "async generator",
}
# Whose iterators move on when they are asked.
_MOVING = ("builtins",)
_RUNNING = {
    "_queue",
    "_socket",
    "_thread",
    "asyncio",
    "concurrent",
    "multiprocessing",
    "queue",
    "selectors",
    "socket",
    "ssl",
    "subprocess",
    "threading",
    "weakref",
}


def is_running(value: Any) -> bool:
    """Whether a value has no content that could be compared, judged by its type."""
    kind = type(value)
    if issubclass(kind, threading.Thread):
        return True
    if issubclass(kind, type) or not is_library_class(kind):
        return False
    moves = has_class_attribute(kind, "__next__") and kind.__module__ in _MOVING
    is_file = _FAMILIAR.get(f"{kind.__module__}.{kind.__qualname__}") == "open file"
    return moves or is_file or library_of(kind) in _RUNNING


def type_name(value: Any) -> str:
    """What to call the type of a value in a message."""
    kind = type(value)
    full = f"{kind.__module__}.{kind.__qualname__}"
    return _FAMILIAR.get(full, full.removeprefix("builtins."))
