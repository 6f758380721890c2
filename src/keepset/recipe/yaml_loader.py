"""RecipeLoader: YAML of plain data, such as JSON can hold, and no deeper than a recipe can be."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import yaml

# Reading goes into every level with calls of its own, and Python has about a thousand of those.
MOST_LEVELS: Final = 200
_PLAIN: Final = ("null", "bool", "int", "float", "str", "seq", "map")
_TAG: Final = "tag:yaml.org,2002:"


class RecipeLoader(yaml.SafeLoader):
    """Reads plain data only, and ``1e-5`` as a number, which YAML 1.1 takes for a text.

    Dates stay texts. Other types of YAML, such as sets and bytes, are errors.
    """

    yaml_constructors = {  # noqa: RUF012  # as the base class has it
        tag: make
        for tag, make in yaml.SafeLoader.yaml_constructors.items()
        if tag is None or tag.removeprefix(_TAG) in _PLAIN
    }
    yaml_implicit_resolvers = {  # noqa: RUF012  # as the base class has it
        first: [(tag, form) for tag, form in known if tag.removeprefix(_TAG) in _PLAIN]
        for first, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_object(self, node: Any, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)
        except yaml.YAMLError:
            raise
        except (ValueError, TypeError, AttributeError, LookupError, OverflowError) as error:
            # A scalar with a tag that it does not fit, or a number of too many digits.
            raise yaml.constructor.ConstructorError(
                None, None, f"{node.value!r:.60} cannot be read ({error})", node.start_mark
            ) from error

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            if key.tag != f"{_TAG}str":
                raise yaml.constructor.ConstructorError(
                    None, None, "a key of a recipe must be a text; put it in quotes", key.start_mark
                )
        return super().construct_mapping(node, deep)


RecipeLoader.add_implicit_resolver(
    f"{_TAG}float",
    re.compile(r"^[-+]?(?:\d+\.?\d*|\.\d+)[eE][-+]?\d+$"),
    list("-+0123456789."),
)


def events(text: str) -> Iterator[tuple[yaml.Event, int]]:
    """The events of a text, each with the number of lists and mappings that it is in."""
    level = 0
    for event in yaml.parse(text, Loader=RecipeLoader):
        level += isinstance(event, yaml.CollectionStartEvent)
        level -= isinstance(event, yaml.CollectionEndEvent)
        yield event, level
