"""The JSON Schema of recipes, made from the stages that there are."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import fastjsonschema

from keepset.errors import RecipeError
from keepset.recipe.stages import (
    NAMING_FILES,
    STAGES,
    VERSION,
    input_fields,
    parameter_fields,
    stage_class,
)
from keepset.recipe.text import Parsed


def schema() -> dict[str, Any]:
    """The schema as it is published in ``docs/format/recipe-1.schema.json``."""
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "A recipe of Keepset, version 1",
        "type": "object",
        "required": ["keepset_recipe", "stages"],
        "properties": {
            "keepset_recipe": {"const": VERSION},
            "made_by": {"type": "object", "additionalProperties": {"type": "string"}},
            "fingerprint": {"type": "string"},
            "stages": {"type": "array", "minItems": 1, "items": {"$ref": "#/definitions/stage"}},
        },
        "additionalProperties": False,
        "definitions": {
            "stage": {
                "type": "object",
                "required": ["stage"],
                "properties": {
                    "stage": {"enum": sorted(STAGES)},
                    "name": {"type": ["string", "null"]},
                    "inputs": {"type": "array", "items": {"type": "integer", "minimum": 0}},
                    "digest": {"type": "string"},
                    "files": {"$ref": "#/definitions/files"},
                },
                "allOf": [_branch(name) for name in sorted(STAGES)],
            },
            "files": {
                "type": "object",
                "required": ["bytes", "modified_ns"],
                "properties": {
                    "bytes": {"type": "array", "items": {"type": "integer"}},
                    "modified_ns": {"type": "array", "items": {"type": "integer"}},
                    "hashes": {"type": "array", "items": {"type": "string"}},
                },
                "additionalProperties": False,
            },
            "function": {
                "type": ["object", "string"],
                "required": ["name", "source"],
                "properties": {
                    "name": {"type": "string"},
                    "source": {"type": "string"},
                    "secrets": {"type": "object", "additionalProperties": {"type": "string"}},
                    "id": {"type": "integer"},
                    "futures": {"type": "array", "items": {"type": "string"}},
                    "captured": {"type": "object"},
                    "uses": {"type": "object"},
                    "defaults": {"type": "array"},
                    "keyword_defaults": {"type": "object"},
                    "attributes": {"type": "object"},
                },
                "additionalProperties": False,
            },
        },
    }


def _branch(name: str) -> dict[str, Any]:
    """What a stage of this name may have."""
    kind = stage_class(name)
    parameters: dict[str, Any] = {field.name: True for field in parameter_fields(kind)}
    if name in NAMING_FILES:
        del parameters["tensors"]
        parameters["names"] = {"type": "array", "items": {"type": ["string", "object"]}}
    always = ["stage", "name", "digest", "files"] + (["inputs"] if input_fields(kind) else [])
    return {
        "if": {"properties": {"stage": {"const": name}}},
        "then": {
            "properties": parameters | dict.fromkeys(always, True),
            "additionalProperties": False,
        },
    }


@cache
def _validator() -> Any:
    return fastjsonschema.compile(schema(), use_default=False)


def validate(parsed: Parsed) -> None:
    """An error with its line if a document is no recipe of this version."""
    data = parsed.data
    version = data.get("keepset_recipe") if isinstance(data, dict) else None
    if version is None:
        raise RecipeError(f"{parsed.place(())} is not a recipe; one begins with keepset_recipe: 1")
    if version != VERSION:
        raise RecipeError(
            f"{parsed.place(('keepset_recipe',))}: version {version!r} of recipes is not known; "
            "install a newer keepset"
        )
    try:
        _validator()(data)
    except fastjsonschema.JsonSchemaValueException as error:
        path = tuple(int(p) if p.isascii() and p.isdigit() else p for p in map(str, error.path[1:]))
        line = parsed.line(path)
        text = error.message.replace("data.", "").replace("data ", "the document ")
        raise RecipeError(f"{parsed.place(path)}: {_shortened(text)}", line=line) from error


def _shortened(text: str) -> str:
    return text if len(text) <= 300 else f"{text[:300]}..."


if __name__ == "__main__":
    print(json.dumps(schema(), indent=1))
