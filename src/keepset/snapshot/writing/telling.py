"""The recipe of what is kept, beside it: plain data that says how it was made."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any, TypeAlias

from keepset.core.node import Node
from keepset.core.secrets import Mask
from keepset.errors import RecipeError, StorageError
from keepset.snapshot.identity.pipeline_identity import Looks
from keepset.snapshot.reading.recipes import FOLDER, recipe_name
from keepset.storage import Store

_log = logging.getLogger("keepset")

# Makes the recipe of a pipeline; given from above, because recipes know all stages.
Tell: TypeAlias = Callable[[Node, Looks], dict[str, Any]]


class Told:
    """The recipe of a pipeline as it is before it runs: functions may change what they hold.

    If it cannot be made or written, elements are stored all the same: the commit says why.
    """

    def __init__(self, node: Node, tell: Tell | None, looks: Looks | None = None) -> None:
        self._data, self._about = b"", dict[str, str]()
        if tell is None:
            return
        try:
            self._data = json.dumps(tell(node, looks or Looks()), ensure_ascii=False).encode()
        except RecipeError as error:
            self._about = {"no_recipe": Mask().text(str(error))}
            return
        # What the user's own objects do when they are looked at is theirs.
        except Exception as error:
            self._about = _unwritten(error)
            return
        name = recipe_name(self._data)
        self._about = {"recipe": name.removeprefix(FOLDER).removesuffix(".json")}

    def keep(self, store: Store) -> dict[str, str]:
        """Write it; what a commit says of it."""
        if self._data:
            try:
                # A run that goes on with another's work has the same one.
                store.create(recipe_name(self._data), self._data)
            except StorageError as error:
                self._about = _unwritten(error)
                _log.warning("%s gets no recipe: %s", store.url, self._about["no_recipe"])
        return self._about


def _unwritten(error: Exception) -> dict[str, str]:
    reason = f"it could not be written: {type(error).__name__}: {error}"
    return {"no_recipe": Mask().text(reason)}
