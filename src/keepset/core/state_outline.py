"""StateOutline: what a state says of the pipeline that it was taken of, beside the position.

A position means an element only within the same stages, batches and length. What the functions
compute is compared by the stages that store elements, which have a fingerprint.
"""

from __future__ import annotations

import os
import zlib
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final
from weakref import WeakKeyDictionary

from keepset.core.node import Node
from keepset.errors import StateError

_LONGEST_KINDS: Final = 500
_LONGEST_WORKERS: Final = 100
_MOST_LISTS: Final = 100
# How many files a stage lists, and which; listed once for a stage.
_listed: WeakKeyDictionary[Node, list[int]] = WeakKeyDictionary()


def outline_of(root: Node) -> dict[str, Any]:
    """The stages, batch sizes and length of a pipeline, as a few bytes of JSON."""
    nodes = list(root.walk())
    sizes = [getattr(node, "batch_size", None) for node in nodes]
    buffers = [getattr(node, "buffer_size", None) for node in nodes if node.randomness is not None]
    kinds = ",".join(node.kind for node in nodes)
    workers = "".join(_workers(node) for node in nodes if hasattr(node, "parallelism"))
    return {
        "stages": zlib.crc32(kinds.encode()),
        # For the message of an error: thousands of joined data sets would make each state large.
        "kinds": kinds if len(kinds) <= _LONGEST_KINDS else "",
        "batch_sizes": [size for size in sizes if isinstance(size, int)],
        "buffer_sizes": [size for size in buffers if isinstance(size, int)],
        "length": root.cardinality(),
        "files": [_files(node) for node in nodes if node.file_names is not None][:_MOST_LISTS],
        "workers": workers if len(workers) <= _LONGEST_WORKERS else "",
    }


def _files(node: Node) -> list[int]:
    """The number of files that a stage lists, and a checksum of their names below one folder."""
    if node not in _listed:
        names = [os.fsencode(name) for name in node.file_names or ()]
        _listed[node] = [len(names), zlib.crc32(b"\0".join(_below_one_folder(names)))]
    return _listed[node]


def _below_one_folder(names: Sequence[bytes]) -> list[bytes]:
    """The names without the folder that all are in: the data may have moved as a whole."""
    if not names:
        return []
    # What the first and the last in order have in common, all have.
    first, last = (name.split(b"/")[:-1] for name in (min(names), max(names)))
    start = 0
    for one, other in zip(first, last, strict=False):
        if one != other:
            break
        start += len(one) + 1
    return [name[start:] for name in names]


def _workers(node: Any) -> str:
    """What kind of state a stage has by its workers: 0 without any, 2 where they order freely."""
    if node.parallelism is None:
        return "0"
    return "2" if getattr(node.parallelism, "deterministic", None) is False else "1"


def check_outline(root: Node, stored: Any) -> None:
    """Refuse the state of another pipeline.

    Raises:
        StateError: The stages, the batch sizes or the lengths differ.
    """
    if not isinstance(stored, dict):
        raise StateError("this is not a state of an iterator or a loader; pass what it gave out")
    now = outline_of(root)
    if stored.get("stages") != now["stages"]:
        raise StateError(
            "this state belongs to another pipeline: the stages are not the same"
            f"{_changed_kinds(stored.get('kinds'), now['kinds'])}; "
            "build the dataset as it was when the state was taken"
        )
    if stored.get("batch_sizes") != now["batch_sizes"]:
        raise StateError(
            f"this state was taken with batches of {_sizes(stored.get('batch_sizes'))}, and the "
            f"pipeline now has batches of {_sizes(now['batch_sizes'])}: a position counts other "
            "elements; build the dataset as it was when the state was taken"
        )
    if stored.get("buffer_sizes") != now["buffer_sizes"]:
        raise StateError(
            f"this state was taken with shuffle buffers of {_sizes(stored.get('buffer_sizes'))}, "
            f"and the pipeline now has some of {_sizes(now['buffer_sizes'])}: the order is another "
            "one; build the dataset as it was when the state was taken"
        )
    files = stored.get("files", now["files"])  # states of older versions do not say
    if files != now["files"]:
        raise StateError(
            f"this state was taken of a list of {_counts(files)} files, and list_files now finds "
            f"{_counts(now['files'])}{_same_number(files, now['files'])}: a position is another "
            "file; list those that were there when the state was taken, or begin anew"
        )
    # A length that is unknown says nothing: it may be known by now.
    lengths = stored.get("length"), now["length"]
    if all(isinstance(length, int) and length >= 0 for length in lengths) and len({*lengths}) > 1:
        raise StateError(
            f"this state was taken of {lengths[0]:,} elements, and the pipeline now has "
            f"{lengths[1]:,}; build the dataset as it was when the state was taken, or begin anew"
        )


def has_other_workers(outline: dict[str, Any], stored: dict[str, Any]) -> bool:
    """Whether stages have got workers, or lost them, since a state was taken.

    Only errors ask: a stage behind a snapshot or a batch may have a place that holds for both.
    """
    now, before = outline["workers"], stored.get("workers")
    return bool(before and now and before != now)  # states of older versions do not say


def _changed_kinds(old: Any, new: str) -> str:
    """Which stages came or went, as far as a state says it."""
    if not (old and isinstance(old, str) and new):
        return ""
    before, now = Counter(old.split(",")), Counter(new.split(","))
    gone, added = (", ".join(each.elements()) for each in (before - now, now - before))
    found = [f"{added} added"] * bool(added) + [f"{gone} removed"] * bool(gone)
    return f" (since it was taken: {'; '.join(found) or 'in another order'})"


def other_workers(error: Exception | None = None) -> StateError:
    """The error of a state that was taken with workers by a stage that has none, or the reverse.

    Args:
        error: What showed that, which a damaged state raises as well.
    """
    seen = "" if error is None else f" ({type(error).__name__}: {error!s:.200})"
    return StateError(
        "this state was taken with workers and this stage has none, or the reverse, or one of them "
        "with deterministic=False; any number of workers goes on where another number stopped, so "
        "pass num_parallel_calls (1 is enough) where it was passed when the state was taken, and "
        f"leave it out where it was not{seen}"
    )


def _counts(files: Any) -> str:
    known = [each[0] for each in files if _is_count(each)] if isinstance(files, list) else []
    return ", ".join(f"{each:,}" for each in known) or "no"


def _is_count(files: Any) -> bool:
    """Whether a damaged state still says a number of files there."""
    return isinstance(files, list) and bool(files) and isinstance(files[0], int)


def _same_number(old: Any, new: Any) -> str:
    return " with other names" if _counts(old) == _counts(new) else ""


def _sizes(sizes: Any) -> str:
    return ", ".join(map(str, sizes)) if isinstance(sizes, list) and sizes else "no size"
