"""Methods that tell of a pipeline as a recipe."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any

from keepset.core.node import Node
from keepset.dataset.base import BaseDataset

if TYPE_CHECKING:
    from keepset.recipe.document import Recipe
    from keepset.snapshot.identity.pipeline_identity import Looks


def recipes() -> ModuleType:
    """The module that does the work; those who write no recipes need not wait for it."""
    import keepset.recipe.document as module

    return module


def tell(node: Node, looks: Looks) -> dict[str, Any]:
    """The recipe of what is about to be kept. Its files are hashed while they are read."""
    from keepset.recipe.describing import document_of

    return document_of(node, content=False, looks=looks)


class Telling(BaseDataset):
    """Recipes."""

    __slots__ = ()

    def to_recipe(self, *, content: bool | None = None) -> Recipe:
        """This pipeline as plain data: stages, parameters, sources and functions.

        Save it next to the data, and make the pipeline again with :func:`keepset.from_recipe`. A
        function that others can import is told by its name, ``package.module:name``; any other by
        its source, with the values that it uses. Large arrays are only named, and so are secrets:
        texts by the name of a key, a token or a password, or that look like one.

        Args:
            content: Whether to read the files that the pipeline names, so that a later change is
                noticed by content; by default if they take a gigabyte together, or less.

        Raises:
            RecipeError: Something cannot be told; the message says what and where.

        Example:
            >>> from keepset import Dataset
            >>> recipe = Dataset.range(6).filter(lambda x: x % 2 == 0).to_recipe()
            >>> recipe.stages[1]["predicate"]["$function"]["source"]
            'lambda x: x % 2 == 0'
        """
        recipe: Recipe = recipes().Recipe.of(self._node, content=content)
        return recipe

    @property
    def recipe(self) -> Recipe | None:
        """For a data set that ``load`` gave, the recipe by which it was made, if there is one.

        Example:
            >>> import tempfile
            >>> from keepset import Dataset, load
            >>> path = tempfile.mkdtemp()
            >>> Dataset.range(9).batch(2).save(path)
            >>> load(path).recipe
            <Recipe range > batch>
        """
        for node in self._node.walk():
            if node.kind == "replay":
                text: str | None = node.location.recipe()  # type: ignore[attr-defined]
                return None if text is None else recipes().Recipe.parse(text, "the kept recipe")
        return None
