"""Commits: small JSON objects, created once each and never rewritten, that say what is kept."""

from __future__ import annotations

import json
import platform
import socket
from dataclasses import field
from typing import Any

from keepset.core.checksum import crc32c
from keepset.core.record import record
from keepset.core.version import __version__
from keepset.errors import CorruptSnapshotError, NewerFormatError
from keepset.format.version import FORMAT_VERSION

FOLDER = "commits/"
LARGEST_NUMBER = 99_999_999
KINDS = ("append", "complete", "reset", "replace", "repair", "fence")
# Those that say all there is to know: nothing before them is needed.
SELF_CONTAINED = ("complete", "reset", "replace", "repair")
# What a commit says of the pipeline that made the elements; one that takes its place says it again.
ABOUT_PIPELINE = (
    *("draws", "fingerprint", "facts", "aliases", "moved", "lineage", "recipe", "no_recipe"),
)
_LATEST_S = 253_402_300_800.0  # the year 10000, which no calendar here can show
_WRITER = {
    "keepset": __version__,
    "python": platform.python_version(),
    "host": socket.gethostname(),
}


@record
class Commit:
    """One entry of the log.

    ``run`` names the writer; a commit is told from another one in its place by it.
    """

    number: int
    kind: str
    run: str
    created_s: float
    body: dict[str, Any] = field(default_factory=dict)
    by: dict[str, Any] = field(default_factory=lambda: dict(_WRITER))

    @property
    def identity(self) -> tuple[Any, ...]:
        """What tells a commit from another one that is of the same number."""
        return self.number, self.kind, self.run, self.created_s

    def to_bytes(self) -> bytes:
        facts = {
            "format": FORMAT_VERSION,
            "number": self.number,
            "kind": self.kind,
            "run": self.run,
            "created": self.created_s,
            "by": self.by,
            **self.body,
        }
        return _sealed(facts)


def is_removal(commit: Commit) -> bool:
    """Whether a commit says that the snapshot was removed as a whole."""
    return commit.kind == "reset" and commit.body.get("removed") is True


def commit_name(number: int) -> str:
    return f"{FOLDER}{number:08d}.json"


def commit_number(name: str) -> int | None:
    """The number in an object's name; None if it is not the name of a commit."""
    digits = name.removeprefix(FOLDER).removesuffix(".json")
    if len(digits) != 8 or not (digits.isascii() and digits.isdecimal()):
        return None
    return int(digits)


def parse_commit(data: bytes, number: int, where: str) -> Commit:
    """Read a commit; an error if a bit of it is wrong or a newer library wrote it."""
    try:
        facts = json.loads(data)
        if not isinstance(facts, dict):
            raise ValueError("not an object")
        # Before anything is believed, the number of the format too.
        if not _is_sealed(data):
            raise ValueError("the checksum does not fit")
        version = facts.get("format")
        if type(version) is not int or version < 1:
            raise ValueError(f"its format is {version!r:.40}, which is no whole number from 1 up")
        if version > FORMAT_VERSION:
            raise NewerFormatError(
                f"{where} is of format {version}, and this version of keepset reads "
                f"formats up to {FORMAT_VERSION}; install a newer keepset"
            )
        commit = Commit(
            number=int(facts.pop("number")),
            kind=str(facts.pop("kind")),
            run=str(facts.pop("run")),
            created_s=float(facts.pop("created")),
            by=dict(facts.pop("by")),
            body={k: v for k, v in facts.items() if k not in ("format", "checksum")},
        )
        if commit.number != number or commit.kind not in KINDS:
            raise ValueError(f"it is commit {commit.number} of kind {commit.kind!r}")
        if not abs(commit.created_s) < _LATEST_S:
            raise ValueError(f"it was created at {commit.created_s} seconds")
    except NewerFormatError:
        raise
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise CorruptSnapshotError(
            f"{where} is damaged: {error}; what it says cannot be trusted, so nothing after it is "
            "used; restore the file from a copy, or drop it with `keepset verify --repair`",
            path=where,
        ) from error
    return commit


def _sealed(facts: dict[str, Any]) -> bytes:
    """Compact JSON, with the checksum of everything before it as the last entry."""
    text = json.dumps(facts, separators=(",", ":"), ensure_ascii=False)
    body = text.encode("utf-8", "surrogatepass")
    return body[:-1] + _seal(body)


def _is_sealed(data: bytes) -> bool:
    """Whether the checksum fits the bytes, which another program may have written in its way."""
    body = data[: -len(_seal(b""))] + b"}"
    return data == body[:-1] + _seal(body)


def _seal(body: bytes) -> bytes:
    return f',"checksum":"{crc32c(body):08x}"}}'.encode()
