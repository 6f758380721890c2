"""Permissions: what code a recipe would run and where it would write, found before it does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from keepset.errors import UntrustedRecipeError
from keepset.recipe.imports import Trust, module_of


class Need(NamedTuple):
    """Code that a recipe names: in a module, or, if that is None, in itself. Or where it writes."""

    what: str
    module: str | None


def needs_of(told: Any) -> Iterator[Need]:
    """The code that a value needs, in the order in which it is told."""
    if isinstance(told, list):
        for item in told:
            yield from needs_of(item)
    if not isinstance(told, dict):
        return
    match told:
        case {"$function": str(path)} | {"$import": str(path)} | {"$object": {"class": str(path)}}:
            yield Need(f"imports {path}", module_of(path))
        case {"$module": str(name)}:
            yield Need(f"imports {name}", name)
        case {"$function": {"name": name}}:
            yield Need(f"holds the source of {name}", None)
        case {"$method": {"name": name}}:
            yield Need(f"calls the method {name}", None)
        # A file that someone else named may be one that a shell reads, however it is spelled.
        case {"stage": "cache", "filename": path} | {"stage": "snapshot", "path": path} if path:
            yield Need(f"writes to {path}", None)
    for item in told.values():
        yield from needs_of(item)


def check_trust(stages: list[dict[str, Any]], trust: Trust) -> None:
    """An error that lists everything which is needed and not allowed, stage by stage."""
    missing: list[str] = []
    modules: list[str] = []
    holds_source = False
    for number, stage in enumerate(stages):
        needs = [need for need in needs_of(stage) if not _is_allowed(need, trust)]
        if not needs:
            continue
        holds_source = holds_source or any(need.module is None for need in needs)
        modules += [need.module.partition(".")[0] for need in needs if need.module is not None]
        what = ", ".join(dict.fromkeys(need.what for need in needs))
        missing.append(f"stage {number}, {stage['stage']}, {what}")
    if not missing:
        return
    remedy = "read it, and pass trust=True (or --trust) if you trust who wrote it"
    if not holds_source:
        names = ", ".join(map(repr, dict.fromkeys(modules)))
        remedy = f"pass allowed_modules=[{names}] (or --allow), or trust=True, if you trust them"
    raise UntrustedRecipeError(
        f"the recipe needs trust: {'; '.join(missing)}. {remedy[0].upper()}{remedy[1:]}"
    )


def _is_allowed(need: Need, trust: Trust) -> bool:
    return trust.everything if need.module is None else trust.covers(need.module)
