"""Plain values and containers: numbers, texts, lists, dicts, sets and what comes with Python."""

from __future__ import annotations

import logging
import re
import struct
import sys
from collections import OrderedDict
from types import MappingProxyType
from typing import Any

import xxhash

from keepset.core.fingerprint.facts import digest_of
from keepset.core.fingerprint.sketch import Part, Sketch, part, shortened

# Content above this size is hashed by xxh3, which keeps pace with memory.
LARGE_BYTES = 1 << 20

# Containers of more plain values than this are hashed in one go and not listed one by one.
_LISTED = 100

_NAN = struct.pack("<d", float("nan"))


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
    return None


def _float_bits(value: float) -> bytes:
    # All NaNs are one: their payload depends on the machine that made them.
    return struct.pack("<d", value) if value == value else _NAN


def plain_sketch(value: Any) -> Sketch | None:
    """The sketch of a plain value or a container; None for everything else."""
    own = token(value)
    if own is not None:
        return Sketch(type(value).__name__, _text(value), own)
    kind = type(value)
    if kind in (tuple, list):
        return _sequence(value)
    if kind in (dict, MappingProxyType):
        return _mapping(value)
    if kind is OrderedDict:
        pairs = [part(f"item {i}", pair) for i, pair in enumerate(value.items())]
        return Sketch("OrderedDict", f"OrderedDict of {_count(value)}", parts=pairs, ordered=True)
    if kind in (set, frozenset):
        return _set(value)
    if kind in (bytearray, memoryview):
        data = bytes(value)
        return Sketch(
            kind.__name__, f"{kind.__name__} of {len(data):,} bytes", content_digest(data)
        )
    return _named(value)


def _named(value: Any) -> Sketch | None:
    if isinstance(value, slice):
        bounds = ("start", value.start), ("stop", value.stop), ("step", value.step)
        return Sketch("slice", shortened(repr(value)), parts=[part(*bound) for bound in bounds])
    if isinstance(value, range):
        numbers = repr((value.start, value.stop, value.step) if value else ())
        return Sketch("range", repr(value), numbers.encode())
    if "pathlib" in sys.modules and isinstance(value, sys.modules["pathlib"].PurePath):
        text = value.as_posix()
        return Sketch("path", f"path {text}", text.encode("utf-8", "surrogatepass"))
    if type(value) is re.Pattern:
        parts = [part("pattern", value.pattern), part("flags", int(value.flags))]
        return Sketch("pattern", shortened(repr(value)), parts=parts)
    if isinstance(value, logging.Logger | logging.LoggerAdapter):
        # Loggers say things and change nothing.
        return Sketch("logger", f"logger {getattr(value, 'name', '')}".rstrip())
    return None


def _sequence(value: list[Any] | tuple[Any, ...]) -> Sketch:
    kind = type(value).__name__
    tokens = _tokens(value)
    if tokens is not None and len(value) > _LISTED:
        return Sketch(kind, f"{kind} of {_count(value)}", b"plain" + digest_of(*tokens))
    text = shortened(repr(value)) if tokens is not None else f"{kind} of {_count(value)}"
    items = [part(f"item {i}", item) for i, item in enumerate(value)]
    return Sketch(kind, text, parts=items, ordered=True)


def _mapping(value: Any) -> Sketch:
    keys, values = _tokens(value), None
    if keys is not None and len(value) > _LISTED:
        values = _tokens(value.values())
    if keys is not None and values is not None:
        pairs = sorted(zip(keys, values, strict=True))
        content = digest_of(*(item for pair in pairs for item in pair))
        return Sketch("dict", f"dict of {_count(value)}", b"plain" + content)
    parts = []
    for key, item in value.items():
        tag = token(key)
        if tag is not None:
            parts.append(Part(f"key {_text(key)}", item, b"key" + tag))
        else:
            # The key counts by its own digest, so the pair is a part of its own.
            parts.append(Part(f"key of type {type(key).__name__}", (key, item), b"pair"))
    parts.sort(key=lambda each: each.label)  # for people: what counts is sorted by the graph
    return Sketch("dict", f"dict of {_count(value)}", parts=parts)


def _set(value: set[Any] | frozenset[Any]) -> Sketch:
    kind = type(value).__name__
    tokens = _tokens(value)
    if tokens is None:
        items = [Part("an item", item, b"") for item in value]
        return Sketch(kind, f"{kind} of {_count(value)}", parts=items, listed=False)
    shown = ", ".join(sorted(map(_text, value))) if len(value) <= _LISTED else _count(value)
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
