"""Recipe: a pipeline as a document, to read, keep and run again."""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping
from typing import Any

from keepset.core.node import Node
from keepset.errors import RecipeError
from keepset.recipe.describing import document_of
from keepset.recipe.schema import validate
from keepset.recipe.text import Parsed, to_json, to_yaml
from keepset.storage import local_path
from keepset.storage.failures import reading, writing
from keepset.storage.regular_file import file_to_replace, open_regular_text


class Recipe:
    """The stages of a pipeline with their parameters, sources and functions. Print it to read it.

    Example:
        >>> from keepset import Dataset
        >>> print(Dataset.range(9).batch(2).to_recipe())
        keepset_recipe: 1
        ...
        stages:
        - stage: range
          start: 0
          stop: 9
          dtype: {$dtype: int64}
          digest: ...
        - stage: batch
          batch_size: 2
          digest: ...
        <BLANKLINE>
    """

    def __init__(self, document: Mapping[str, Any], where: str = "the recipe") -> None:
        self._document: dict[str, Any] = copy.deepcopy(dict(document))
        self._parsed = Parsed.of(self._document, where)
        validate(self._parsed)

    @classmethod
    def of(cls, node: Node, *, content: bool | None = None) -> Recipe:
        """The recipe of a pipeline."""
        return cls(document_of(node, content=content))

    @classmethod
    def parse(cls, text: str, where: str = "the recipe") -> Recipe:
        """Read JSON or YAML; an error names the line."""
        parsed = Parsed(text, where)
        validate(parsed)
        found = cls.__new__(cls)
        found._document, found._parsed = parsed.data, parsed
        return found

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Recipe:
        """Read a file of JSON or YAML."""
        name = local_path(path, "a recipe")
        with reading(name), open_regular_text(name) as file:
            try:
                text = file.read()
            except UnicodeDecodeError as error:
                raise RecipeError(f"{name} is not a recipe: it is no text in UTF-8") from error
        return cls.parse(text, name)

    @property
    def stages(self) -> list[dict[str, Any]]:
        """The stages, each behind those that it gets its elements from."""
        stages: list[dict[str, Any]] = self._document["stages"]
        return stages

    @property
    def fingerprint(self) -> str | None:
        """That of the pipeline when the recipe was written."""
        return self._document.get("fingerprint")

    def place_of(self, stage: int) -> str:
        """Where a stage stands, for messages."""
        return self._parsed.place(("stages", stage))

    def line_of(self, stage: int) -> int | None:
        return self._parsed.line(("stages", stage))

    def to_dict(self) -> dict[str, Any]:
        return copy.deepcopy(self._document)

    def to_json(self) -> str:
        return to_json(self._document)

    def to_yaml(self) -> str:
        return to_yaml(self._document)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file: JSON if the name ends in ``.json``, else YAML."""
        name = local_path(path, "a recipe")
        text = self.to_json() if name.endswith(".json") else self.to_yaml()
        with writing(name):
            final = file_to_replace(name)
            unfinished = f"{final}.unfinished"
            with open(unfinished, "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(unfinished, final)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Recipe) and self._document == other._document

    def __hash__(self) -> int:
        return hash(self.to_json())

    def __str__(self) -> str:
        return self.to_yaml()

    def __repr__(self) -> str:
        names = " > ".join(stage["stage"] for stage in self.stages)
        return f"<Recipe {names}>"
