"""Files that are not ours: their names, sizes and times, as they stood when somebody looked."""

from __future__ import annotations

import os
import stat
import time
from array import array
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

import numpy as np

from keepset.core.cached import cached_property
from keepset.core.dtypes import Array
from keepset.core.fingerprint.facts import digest_of
from keepset.errors import FingerprintError

# The columns of the facts of a file.
SIZE, MODIFIED, CHANGED = range(3)
# The size of a folder, and of everything else whose content cannot be read to its end.
NO_SIZE: Final = -1

# Changes that follow each other closer than this may get one and the same time. Linux counts in
# ticks of up to 10 ms; file systems that know whole seconds only count in one or two of them.
_FINE_NS, _COARSE_NS, _SECOND_NS = 20_000_000, 2_000_000_000, 1_000_000_000
_SMALLEST, _LARGEST = -(1 << 63), (1 << 63) - 1


class Listing:
    """Files in an order, with what was found out about them without opening one.

    Attributes:
        root: What all paths begin with, up to a separator: ``root + name`` opens a file.
        folder: The same place by a name that no link is part of.
        names: The rest of each path.
        facts: A row for each file: its size, when it was modified, and when anything about it was
            changed, both in nanoseconds. The last one cannot be set back.
    """

    def __init__(self, root: str, folder: str, names: tuple[str, ...], facts: Array) -> None:
        self.root, self.folder, self.names, self.facts = root, folder, names, facts

    def __len__(self) -> int:
        return len(self.names)

    @property
    def size_bytes(self) -> int:
        sizes = self.facts[:, SIZE]
        return int(sizes[sizes > 0].sum())

    def path(self, number: int) -> str:
        return self.root + self.names[number]

    def _names(self) -> bytes:
        return b"\0".join(map(os.fsencode, self.names))

    @cached_property
    def outline(self) -> str:
        """A digest of the names and sizes: what cannot change if the content does not."""
        return digest_of(self._names(), _bytes(self.facts[:, SIZE])).hex()

    @cached_property
    def times(self) -> str:
        """A digest of when the files were modified."""
        return digest_of(_bytes(self.facts[:, MODIFIED])).hex()

    @cached_property
    def stamp(self) -> str:
        """A digest of everything: as long as it is the same, the files are."""
        return digest_of(os.fsencode(self.folder), self._names(), _bytes(self.facts)).hex()

    def alike(self, other: Listing) -> Array:
        """Which files stand as those of another listing with the same names, in the same place."""
        alike: Array = (self.facts == other.facts).all(axis=1)
        return alike if self.folder == other.folder else np.zeros(len(self), bool)

    def unchanged(self) -> Array:
        """Look again: which files stand as they did."""
        paths = map(self.path, range(len(self)))
        same: Array = (_facts_of(paths, missing_ok=True) == self.facts).all(axis=1)
        return same

    def describe(self, number: int) -> str:
        """A file for people: ``10,233 bytes of 2026-01-02 03:04:05``."""
        size, modified_ns, _ = self.facts[number].tolist()
        what = "a folder" if size == NO_SIZE else f"{size:,} byte{'' if size == 1 else 's'}"
        return f"{what} of {datetime.fromtimestamp(modified_ns // _SECOND_NS)}"

    def __str__(self) -> str:
        many = "" if len(self) == 1 else "s"
        return f"{len(self):,} file{many} of {self.size_bytes:,} bytes"


def look_at(names: Sequence[bytes]) -> Listing:
    """Find out how files stand, without opening one.

    A file that was changed a moment ago could be changed again without getting a new time, so
    that moment is waited for: 20 milliseconds on most file systems.

    Raises:
        FingerprintError: A file is gone, or must not be looked at.
    """
    texts = [os.fsdecode(name) for name in names]
    if not all(map(os.path.isabs, texts)):
        here = os.getcwd()
        texts = [os.path.join(here, text) for text in texts]
    facts = _facts_of(texts)
    if (rest_s := _until_settled_s(facts)) > 0:
        time.sleep(rest_s)
        facts = _facts_of(texts)
    # All begin with what the first and the last one in the order of the alphabet begin with; cut
    # behind a separator, that is a folder.
    shared = os.path.commonprefix([min(texts, default=""), max(texts, default="")])  # noqa: RUF071
    root = shared[: shared.rfind(os.sep) + 1]
    return Listing(root, os.path.realpath(root), tuple(text[len(root) :] for text in texts), facts)


def _facts_of(paths: Iterable[str], missing_ok: bool = False) -> Array:
    facts = array("q")
    for path in paths:
        try:
            found = os.stat(path)
        except (OSError, ValueError) as error:
            if not missing_ok:
                raise _cannot_look(path, error) from error
            facts.extend((NO_SIZE, 0, 0))
            continue
        size = found.st_size if stat.S_ISREG(found.st_mode) else NO_SIZE
        facts.extend((size, _bounded(found.st_mtime_ns), _bounded(found.st_ctime_ns)))
    return np.array(facts, np.int64).reshape(-1, 3)


def _bounded(time_ns: int) -> int:
    """A time that fits its column: broken clocks set files to the year 2446."""
    return max(_SMALLEST, min(time_ns, _LARGEST))


def _cannot_look(path: str, error: Exception) -> FingerprintError:
    reason = getattr(error, "strerror", None) or error
    return FingerprintError(
        f"list_files gave {path!r}, which cannot be looked at now ({reason}); list the files "
        'again, or pass fingerprint="..." with a text that you change whenever the files do',
        path=path,
    )


def _until_settled_s(facts: Array) -> float:
    """How long it takes until another change of any file would get a time of its own."""
    changed = facts[:, CHANGED]
    grain = np.where(changed % _SECOND_NS == 0, _COARSE_NS, _FINE_NS)
    age = time.time_ns() - changed
    # A file from the future is one of another clock, which there is no waiting for.
    rest = np.where(np.abs(age) < grain, grain - age, 0)
    return float(rest.max(initial=0)) / _SECOND_NS


def _bytes(facts: Array) -> bytes:
    return facts.astype("<i8").tobytes()
