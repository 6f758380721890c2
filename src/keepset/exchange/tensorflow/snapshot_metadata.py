"""``snapshot.metadata``: what TensorFlow notes about a saved data set or a snapshot."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from keepset.exchange.tensorflow.wire import (
    BYTES,
    VARINT,
    bytes_field,
    fields,
    number_field,
    packed_varints,
    signed,
)

_FINALIZED: Final = 1000
_NEWEST_VERSION: Final = 2


class Metadata(NamedTuple):
    """One run of a writer: where its files are, and whether it came to its end."""

    run_id: str
    graph_hash: str
    version: int
    dtypes: tuple[int, ...]
    num_elements: int | None
    is_finalized: bool


class DistributedMetadata(NamedTuple):
    """What ``distributed_save`` notes, as text."""

    element_spec: bytes
    compression: str


def parse_metadata(data: bytes) -> Metadata:
    """Read the binary form.

    Raises:
        ValueError: It is damaged, or of a version that is not known.
    """
    run_id = graph_hash = ""
    version, num_elements, is_finalized = 0, None, False
    dtypes: list[int] = []
    for number, kind, value in fields(data):
        if number == 1 and kind == BYTES:
            graph_hash = value.decode()
        elif number == 2 and kind == BYTES:
            run_id = value.decode()
        elif number == 4 and kind == VARINT:
            version = value
        elif number == 5 and kind in (BYTES, VARINT):
            dtypes += packed_varints(value).tolist() if kind == BYTES else [value]
        elif number == 6 and kind == VARINT:
            num_elements = signed(value)
        elif number == _FINALIZED and kind == VARINT:
            is_finalized = bool(value)
    if version > _NEWEST_VERSION:
        raise ValueError(f"the files are of version {version}, and {_NEWEST_VERSION} is known")
    if run_id in (".", "..") or "/" in run_id or "\0" in run_id:
        raise ValueError(f"{run_id!r} cannot be the name of a run's folder")
    return Metadata(run_id, graph_hash, version, tuple(dtypes), num_elements, is_finalized)


def metadata_message(metadata: Metadata, created_us: int) -> bytes:
    """The binary form."""
    parts = [
        bytes_field(1, metadata.graph_hash.encode()) if metadata.graph_hash else b"",
        bytes_field(2, metadata.run_id.encode()),
        number_field(3, created_us),
        number_field(4, metadata.version),
        bytes_field(5, bytes(metadata.dtypes)) if metadata.dtypes else b"",
        number_field(6, metadata.num_elements) if metadata.num_elements else b"",
        number_field(_FINALIZED, 1) if metadata.is_finalized else b"",
    ]
    return b"".join(parts)


_TEXT_FIELD: Final = re.compile(rb'\s*(\w+)\s*:\s*("(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\')\s*')
_ESCAPE: Final = re.compile(rb"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|.)", re.DOTALL)
_SINGLE: Final = {
    b"n": b"\n",
    b"r": b"\r",
    b"t": b"\t",
    b"a": b"\a",
    b"b": b"\b",
    b"f": b"\f",
    b"v": b"\v",
}


def parse_distributed(data: bytes) -> DistributedMetadata | None:
    """Read the text form; None if these bytes are something else."""
    found: dict[str, bytes] = {}
    at = 0
    while at < len(data):
        match = _TEXT_FIELD.match(data, at)
        if match is None:
            return None
        name = match[1].decode()
        found[name] = found.get(name, b"") + _ESCAPE.sub(_unescaped, match[2][1:-1])
        at = match.end()
    if "element_spec" not in found:
        return None
    return DistributedMetadata(found["element_spec"], found.get("compression", b"").decode())


def _unescaped(match: re.Match[bytes]) -> bytes:
    text = match[1]
    if text[:1] == b"x" and len(text) > 1:
        return bytes([int(text[1:], 16)])
    if text[:1].isdigit():
        return bytes([int(text, 8) & 0xFF])
    return _SINGLE.get(text, text)
