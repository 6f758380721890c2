"""The recipe by which something kept was made."""

from __future__ import annotations

from typing import Any, Final

from keepset.core.fingerprint.facts import digest_of
from keepset.errors import ObjectMissingError, RecipeError
from keepset.storage import Store

FOLDER: Final = "recipes/"


def recipe_name(data: bytes) -> str:
    """The name of a recipe follows from what is in it."""
    return f"{FOLDER}{digest_of(data).hex()}.json"


def read_recipe(store: Store, body: dict[str, Any]) -> str | None:
    """The recipe that a commit speaks of, as text; None if there is none."""
    digest = body.get("recipe")
    if not isinstance(digest, str):
        return None
    name = f"{FOLDER}{digest}.json"
    try:
        data = store.read(name)
    except ObjectMissingError:
        return None  # a repair has dropped it
    try:
        if recipe_name(data) == name:
            return data.decode()
    except UnicodeDecodeError:
        pass  # its name fits, and yet no version of this library has written it
    raise RecipeError(
        f"{store.object_url(name)} is damaged; drop it with `keepset verify --repair`"
    )
