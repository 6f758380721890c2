"""Changes: what differs between a recipe and what its files and functions are now."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from keepset.core.node import Node
from keepset.errors import FingerprintError
from keepset.recipe.describing import digest_of_stage, hashes_of
from keepset.recipe.document import Recipe
from keepset.storage.files import MODIFIED, SIZE, look_at

_MOST_NAMED: Final = 3


def changes_since(recipe: Recipe, nodes: Sequence[Node]) -> list[str]:
    """A line for each stage that is not what it was when the recipe was written."""
    return [
        f"stage {number}, {stage['stage']}: {what}"
        for number, (stage, node) in enumerate(zip(recipe.stages, nodes, strict=True))
        for what in _changes(stage, node)
    ]


def _changes(stage: dict[str, Any], node: Node) -> Iterator[str]:
    if "files" in stage and node.file_names is not None:
        yield from _changed_files(stage["files"], node.file_names)
    elif stage.get("digest") is not None and digest_of_stage(node) != stage["digest"]:
        names = [
            key for key, value in stage.items() if isinstance(value, dict) and _names_code(value)
        ]
        what = f"the code of {', '.join(names)}" if names else "a parameter"
        yield f"{what} is not what it was when the recipe was written"


def _names_code(value: dict[str, Any]) -> bool:
    return any(key in value for key in ("$function", "$import", "$partial", "$object", "$keepset"))


def _changed_files(told: dict[str, Any], names: list[bytes]) -> Iterator[str]:
    try:
        listing = look_at(names)
    except FingerprintError as error:
        yield f"a file is missing: {error.path or error}"
        return
    sizes, times = listing.facts[:, SIZE].tolist(), listing.facts[:, MODIFIED].tolist()
    if any(len(facts) != len(sizes) for facts in told.values()):
        yield f"the recipe does not tell of all of the {len(sizes)} files that it names"
        return
    grown = [i for i, size in enumerate(sizes) if size != told["bytes"][i]]
    touched = [
        i for i, time in enumerate(times) if time != told["modified_ns"][i] and i not in grown
    ]
    changed = list(grown)
    if "hashes" in told:
        now = hashes_of(listing, touched)
        changed += [i for i, found in zip(touched, now, strict=True) if found != told["hashes"][i]]
        touched = []
    for numbers, what in ((changed, "changed"), (touched, "modified, but not in size,")):
        if numbers:
            named = ", ".join(listing.path(i) for i in sorted(numbers)[:_MOST_NAMED])
            more = len(numbers) - _MOST_NAMED
            yield f"{named}{f' and {more:,} more' if more > 0 else ''} {what} since it was written"
