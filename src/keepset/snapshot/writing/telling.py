"""The recipe of what is kept, beside it: plain data that says how it was made."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeAlias

from keepset.core.node import Node
from keepset.errors import RecipeError
from keepset.snapshot.reading.recipes import FOLDER, recipe_name
from keepset.storage import Store

# Makes the recipe of a pipeline; given from above, because recipes know all stages.
Tell: TypeAlias = Callable[[Node], dict[str, Any]]


def keep_recipe(store: Store, node: Node, tell: Tell | None) -> dict[str, str]:
    """Write the recipe of a pipeline; what a commit says of it.

    If it cannot be told, the commit says why: that is no reason not to keep elements.
    """
    if tell is None:
        return {}
    try:
        data = json.dumps(tell(node), ensure_ascii=False).encode()
    except RecipeError as error:
        return {"no_recipe": str(error)}
    name = recipe_name(data)
    store.create(name, data)  # a run that goes on with another's work has the same one
    return {"recipe": name.removeprefix(FOLDER).removesuffix(".json")}
