"""Text: recipes as JSON and YAML, and where in a text each of their parts stands."""

from __future__ import annotations

import json
import re
from typing import Any, Final, TypeAlias

import yaml

from keepset.errors import RecipeError
from keepset.recipe.yaml_loader import MOST_LEVELS, RecipeLoader, events

Path: TypeAlias = tuple[Any, ...]
_WIDTH: Final = 100
_MOST_IN_A_LINE: Final = 60


def to_json(document: Any) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def to_yaml(document: Any) -> str:
    """YAML for people: the source of functions as it is, short lists in one line."""
    text: str = yaml.dump(
        document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_WIDTH
    )
    return text


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    style = "|" if "\n" in text and not re.search(r"[^\S\n]$", text, re.MULTILINE) else None
    if not text.replace("\n", "").isprintable():
        style = '"'  # with escapes: YAML knows more ends of lines than one
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _represent_list(dumper: yaml.SafeDumper, items: list[Any]) -> yaml.Node:
    is_plain = all(item is None or isinstance(item, bool | int | float | str) for item in items)
    is_short = is_plain and len(repr(items)) <= _MOST_IN_A_LINE
    # Numbers fill lines.
    flow = is_short or all(isinstance(item, bool | int | float) for item in items)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", items, flow_style=flow)


def _represent_dict(dumper: yaml.SafeDumper, items: dict[Any, Any]) -> yaml.Node:
    is_tagged = len(items) == 1 and next(iter(items)).startswith("$")
    is_plain = is_tagged and isinstance(next(iter(items.values())), bool | int | float | str)
    flow = is_plain and len(repr(items)) <= _MOST_IN_A_LINE and "\\n" not in repr(items)
    return dumper.represent_mapping("tag:yaml.org,2002:map", items.items(), flow_style=flow)


_Dumper.add_representer(str, _represent_text)
_Dumper.add_representer(dict, _represent_dict)
_Dumper.add_representer(list, _represent_list)


class Parsed:
    """A document, and the line of each of its parts, if that is known."""

    def __init__(self, text: str, where: str) -> None:
        self._where = where
        self._lines: dict[Path, int] = {}
        if text.lstrip().startswith("{"):
            self.data = self._json(text)
        else:
            self.data = self._yaml(text)

    @classmethod
    def of(cls, data: Any, where: str) -> Parsed:
        """A document that was not read from a text, and has no lines."""
        found = cls.__new__(cls)
        found._where, found._lines, found.data = where, {}, data
        return found

    def _json(self, text: str) -> Any:
        try:
            data = json.loads(text)
        except ValueError as error:
            line = getattr(error, "lineno", None)
            raise RecipeError(f"{self._where}, line {line}: {error}", line=line) from error
        except RecursionError as error:
            raise self._too_deep() from error
        if _levels(data) > MOST_LEVELS:
            raise self._too_deep()
        # JSON is YAML, but for oddities; then lines are unknown and nothing else.
        try:
            self._note(yaml.compose(text, Loader=RecipeLoader), ())
        except (yaml.YAMLError, RecursionError):
            self._lines = {}
        return data

    def _yaml(self, text: str) -> Any:
        try:
            for event, level in events(text):
                line = event.start_mark.line + 1 if event.start_mark is not None else None
                if isinstance(event, yaml.AliasEvent):
                    raise RecipeError(
                        f"{self._where}, line {line}: a recipe has no anchors and aliases (& and "
                        "*); write out what they stand for",
                        line=line,
                    )
                if level > MOST_LEVELS:
                    raise self._too_deep(line)
            self._note(yaml.compose(text, Loader=RecipeLoader), ())
            return yaml.load(text, Loader=RecipeLoader)
        except RecursionError as error:
            raise self._too_deep() from error
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            line = None if mark is None else mark.line + 1
            what = getattr(error, "problem", None) or error
            raise RecipeError(f"{self._where}, line {line}: {what}", line=line) from error

    def _too_deep(self, line: int | None = None) -> RecipeError:
        where = self._where if line is None else f"{self._where}, line {line}"
        return RecipeError(
            f"{where} is nested too deep to be a recipe, which has at most {MOST_LEVELS} levels; "
            "write it with fewer",
            line=line,
        )

    def _note(self, node: Any, path: Path) -> None:
        if node is None:
            return
        self._lines[path] = node.start_mark.line + 1
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                if not isinstance(key, yaml.ScalarNode):
                    continue  # which is an error later
                self._note(value, (*path, key.value))
                # The line of the key says more than that of what it holds.
                self._lines[(*path, key.value)] = key.start_mark.line + 1
        elif isinstance(node, yaml.SequenceNode):
            for number, item in enumerate(node.value):
                self._note(item, (*path, number))

    def line(self, path: Path) -> int | None:
        """The line of a part, or of what is around it."""
        while path not in self._lines and path:
            path = path[:-1]
        return self._lines.get(path)

    def place(self, path: Path) -> str:
        """Where a part is, for a message."""
        line = self.line(path)
        return self._where if line is None else f"{self._where}, line {line}"


def _levels(data: Any) -> int:
    """How deep lists and dicts are nested; without calls into each level."""
    levels, around = 0, [data]
    while around := [item for item in around if isinstance(item, dict | list)]:
        levels += 1
        around = [
            inner
            for item in around
            for inner in (item.values() if isinstance(item, dict) else item)
        ]
    return levels
