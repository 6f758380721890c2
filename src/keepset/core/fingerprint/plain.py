"""Plain values and containers: numbers, texts, lists, dicts, sets and what comes with Python.

The order of a mapping counts, as a part of its own: columns, labels and vocabularies are written
as dicts. The order of a set does not.
"""

from __future__ import annotations

import enum
import gc
import logging
import re
import struct
import sys
from collections import Counter, OrderedDict
from collections.abc import Iterable
from types import MappingProxyType
from typing import Any

import xxhash

from keepset.core.fingerprint.facts import digest_of
from keepset.core.fingerprint.origin import is_library_class
from keepset.core.fingerprint.sketch import Part, Sketch, part, shortened

# Content above this size is hashed by xxh3, which keeps pace with memory.
LARGE_BYTES = 1 << 20

# Containers of more plain values than this are hashed in one go and not listed one by one.
_LISTED = 100

_NAN = struct.pack("<d", float("nan"))


# What differences call the order of a mapping.
ORDER = "order"


class Order:
    """The order of keys, members or fields, apart from what they hold.

    ``token`` is None where one of them is not plain.
    """

    __slots__ = ("keys", "token")

    def __init__(self, keys: Iterable[Any], tokens: list[bytes] | None = None) -> None:
        self.keys = tuple(keys)
        tokens = _tokens(self.keys) if tokens is None else tokens
        # Made once: there may be a million keys, and the token is asked for several times.
        self.token = None if tokens is None else b"o" + digest_of(*tokens)


def order_of(keys: Iterable[Any], tokens: list[bytes] | None = None) -> list[Part]:
    """The part for the order of some keys; none for fewer than two, which have no order."""
    keys = tuple(keys)
    return [Part(ORDER, Order(keys, tokens), b"order")] if len(keys) > 1 else []


def content_digest(data: Any) -> bytes:
    """128 bits of anything with contiguous bytes."""
    view = memoryview(data).cast("B")
    if len(view) < LARGE_BYTES:
        return digest_of(view)  # type: ignore[arg-type]
    return b"xxh3" + xxhash.xxh3_128_digest(view)


def token(value: Any) -> bytes | None:
    """The bytes of a plain value, different for different ones; None if it is not plain."""
    kind = type(value)
    if kind is str:
        return b"s" + bytes(value.encode("utf-8", "surrogatepass"))
    if kind is bool or value is None or value is Ellipsis or value is NotImplemented:
        return b"c" + repr(value).encode()
    if kind is int:
        size = value.bit_length() // 8 + 1
        return b"i" + int.to_bytes(value, size, "little", signed=True)
    if kind is float:
        return b"f" + _float_bits(value)
    if kind is complex:
        return b"j" + _float_bits(value.real) + _float_bits(value.imag)
    if kind is bytes:
        return b"b" + value if len(value) < LARGE_BYTES else b"B" + content_digest(value)
    return value.token if kind is Order else None


def _float_bits(value: float) -> bytes:
    # All NaNs are one: their payload depends on the machine that made them.
    return struct.pack("<d", value) if value == value else _NAN


def plain_sketch(value: Any) -> Sketch | None:
    """The sketch of a plain value or a container; None for everything else."""
    own = token(value)
    kind = type(value)
    if kind is Order:
        return _order(value, own)
    if own is not None:
        return Sketch(kind.__name__, _text(value), own)
    if kind in (tuple, list):
        return _sequence(value)
    if kind is MappingProxyType:
        # Only the collector of garbage says what is behind it: perhaps an object of another class.
        [behind] = gc.get_referents(value) or [{}]
        if type(behind) is not dict:
            return Sketch("mapping proxy", "read-only mapping", parts=[part("mapping", behind)])
    if kind in (dict, MappingProxyType):
        return None if is_namespace(value) else _mapping(value, "dict")
    if kind in (OrderedDict, Counter):
        return _mapping(value, kind.__name__)
    if kind in (set, frozenset):
        return _set(value)
    if kind is bytearray:
        return Sketch("bytearray", f"bytearray of {len(value):,} bytes", content_digest(value))
    if kind is memoryview:
        own = repr((value.format, value.shape)).encode()
        flat = value if value.c_contiguous and value.nbytes else value.tobytes()
        text = f"memoryview of {value.nbytes:,} bytes"
        return Sketch("memoryview", text, own + content_digest(flat))
    return _named(value)


def is_namespace(value: Any) -> bool:
    """Whether this is the ``__dict__`` of a module, which holds more than its user wrote."""
    return type(value) is dict and "__builtins__" in value and "__name__" in value


def _named(value: Any) -> Sketch | None:
    if isinstance(value, slice):
        bounds = ("start", value.start), ("stop", value.stop), ("step", value.step)
        return Sketch("slice", shortened(repr(value)), parts=[part(*bound) for bound in bounds])
    if isinstance(value, range):
        numbers = repr((value.start, value.stop, value.step) if value else ())
        return Sketch("range", repr(value), numbers.encode())
    if type(value) is re.Pattern:
        parts = [part("pattern", value.pattern), part("flags", int(value.flags))]
        return Sketch("pattern", shortened(repr(value)), parts=parts)
    # What the user derived from these has a class and attributes that count.
    if not is_library_class(type(value)):
        return None
    if "pathlib" in sys.modules and isinstance(value, sys.modules["pathlib"].PurePath):
        text = value.as_posix()
        flavour = b"windows" if isinstance(value, sys.modules["pathlib"].PureWindowsPath) else b""
        own = flavour + text.encode("utf-8", "surrogatepass")
        return Sketch("path", f"path {text}", own)
    if isinstance(value, logging.Logger):
        # Loggers say things and change nothing.
        return Sketch("logger", f"logger {value.name}")
    if isinstance(value, logging.LoggerAdapter):
        return Sketch("logger", "logger adapter", parts=[part("extra", value.extra)])
    return None


def _sequence(value: list[Any] | tuple[Any, ...]) -> Sketch:
    kind = type(value).__name__
    value = value if kind == "tuple" else list(value)  # another thread may write it
    tokens = _tokens(value)
    if tokens is not None and len(value) > _LISTED:
        return Sketch(kind, f"{kind} of {_count(value)}", b"plain" + digest_of(*tokens))
    text = shortened(repr(value)) if tokens is not None else f"{kind} of {_count(value)}"
    items = [part(f"item {i}", item) for i, item in enumerate(value)]
    return Sketch(kind, text, parts=items, ordered=True)


def _mapping(value: Any, kind: str) -> Sketch:
    # Read once: another thread may write it in the meantime.
    items = list(value.items())
    names = [key for key, _ in items]
    keys, values = _tokens(names), None
    text = f"{kind} of {_count(items)}"
    order = order_of(names, keys)
    if keys is not None and len(items) > _LISTED:
        values = _tokens(item for _, item in items)
    if keys is not None and values is not None:
        pairs = sorted(zip(keys, values, strict=True))
        content = digest_of(*(item for pair in pairs for item in pair))
        return Sketch(kind, text, b"plain" + content, order)
    parts = []
    for key, item in items:
        tag = token(key)
        if tag is not None:
            parts.append(Part(f"key {_text(key)}", item, b"key" + tag))
        else:
            # The key counts by its own digest, so the pair is a part of its own.
            parts.append(Part(_key_label(key), (key, item), b"pair"))
    parts.sort(key=lambda each: each.label)  # for people: what counts is sorted by the graph
    return Sketch(kind, text, parts=[*parts, *order])


def _key_label(key: Any) -> str:
    if type(key) is tuple and _tokens(key) is not None:
        return f"key {_text(key)}"
    if isinstance(key, enum.Enum):
        return f"key {type(key).__name__}.{key.name}"
    return f"key of type {type(key).__name__}"


def _order(value: Order, own: bytes | None) -> Sketch:
    if own is not None:
        return Sketch("order", shortened(", ".join(map(_text, value.keys[:_LISTED]))), own)
    items = [part(f"item {i}", key) for i, key in enumerate(value.keys)]
    text = f"{len(value.keys):,} keys in their order"
    return Sketch("order", text, parts=items, ordered=True, listed=False)


def _set(value: set[Any] | frozenset[Any]) -> Sketch:
    kind, items = type(value).__name__, list(value)
    tokens = _tokens(items)
    if tokens is None:
        parts = [Part("an item", item, b"") for item in items]
        return Sketch(kind, f"{kind} of {_count(items)}", parts=parts, listed=False)
    shown = ", ".join(sorted(map(_text, items))) if len(items) <= _LISTED else _count(items)
    return Sketch(kind, shortened(f"{kind} {{{shown}}}"), b"plain" + digest_of(*sorted(tokens)))


def _tokens(values: Any) -> list[bytes] | None:
    """The tokens of all values, or None if one of them is not plain."""
    tokens = []
    for value in values:
        plain = token(value)
        if plain is None:
            return None
        tokens.append(plain)
    return tokens


def _count(value: Any) -> str:
    return f"{len(value):,} item{'' if len(value) == 1 else 's'}"


def _text(value: Any) -> str:
    if isinstance(value, str | bytes) and len(value) > 200:
        return (
            f"{value[:60]!r}... ({len(value):,} {'bytes' if type(value) is bytes else 'letters'})"
        )
    if type(value) is int and value.bit_length() > 256:
        return f"an int of {value.bit_length():,} bits"
    return shortened(repr(value))
