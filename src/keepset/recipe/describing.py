"""Describing: the recipe of a pipeline, with what its sources and functions are like now."""

from __future__ import annotations

import platform
from contextlib import suppress
from typing import Any, Final

from keepset.core.fingerprint import Moment
from keepset.core.node import Node
from keepset.core.version import __version__
from keepset.errors import FingerprintError
from keepset.recipe.stages import VERSION
from keepset.recipe.writing import RecipeWriter
from keepset.snapshot.identity.pipeline_identity import Looks, facts_of_stage, identify
from keepset.storage.file_hashes import FileHashes
from keepset.storage.files import MODIFIED, SIZE, Listing

# Files of more bytes are not read unless that is asked for.
_MOST_HASHED_BYTES: Final = 1 << 30


def document_of(
    node: Node, *, content: bool | None = None, looks: Looks | None = None
) -> dict[str, Any]:
    """The recipe of a pipeline, as plain data.

    With ``content`` the files that it names are read, so that a change is noticed by content; by
    default, if they are not larger than a gigabyte together. ``looks`` is what is known of them.
    """
    with Moment.current():
        return _described(node, content, looks or Looks())


def _described(node: Node, content: bool | None, looks: Looks) -> dict[str, Any]:
    writer = RecipeWriter.of(node)
    for stage, each in zip(writer.stages, writer.nodes, strict=True):
        digest = digest_of_stage(each)
        if digest is not None:
            stage["digest"] = digest
        with suppress(FingerprintError):  # one is gone: whoever runs the recipe will be told
            listing = looks.files_of(each)
            if listing is not None:
                stage["files"] = _files(listing, content)
    document: dict[str, Any] = {
        "keepset_recipe": VERSION,
        "made_by": {"keepset": __version__, "python": platform.python_version()},
    }
    with suppress(FingerprintError):  # it has none; the stages tell all the same
        document["fingerprint"] = identify(node, looks=looks).fingerprint
    document["stages"] = writer.stages
    return document


def digest_of_stage(node: Node) -> str | None:
    """What a stage's own parameters count as; None if they cannot be compared, or need not be."""
    if node.is_passed_over or node.file_names is not None:
        return None
    try:
        return facts_of_stage(node).digest
    except FingerprintError:
        return None


def _files(listing: Listing, content: bool | None) -> dict[str, Any]:
    told: dict[str, Any] = {
        "bytes": listing.facts[:, SIZE].tolist(),
        "modified_ns": listing.facts[:, MODIFIED].tolist(),
    }
    wanted = listing.size_bytes <= _MOST_HASHED_BYTES if content is None else content
    if wanted:
        told["hashes"] = hashes_of(listing, list(range(len(listing))))
    return told


def hashes_of(listing: Listing, numbers: list[int]) -> list[str]:
    """The hashes of some files, in hex; empty for what cannot be read."""
    found = FileHashes(len(listing), listing.path)
    found.compute(numbers)
    return [
        found.hashes[number].tobytes().hex() if found.known[number] else "" for number in numbers
    ]
