"""Recipes in YAML and JSON: wrong types of parameters, nesting, tags that would run code."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any, Final

import numpy as np
import yaml
from tests.faults.bad_input import json_mutations, text_mutations
from tests.faults.bad_input.kind import Kind, in_files

import keepset as ks

# A recipe with larger numbers may be right and take for ever; it is only built.
_LARGEST_TO_RUN: Final = 10_000
_FIRST_ELEMENTS: Final = 5
_ODD_LINES: Final = (
    *("- &a [1]", "x: *a", "!!python/object/apply:os.abort []", "x: !!python/name:os.abort"),
    *("x: !!binary '*'", "x: !!set {a}", "? [1]\n: 2", "%YAML 9.9", "---", "...", "x: 0o9", "\t"),
    *("x: 1:60:60:60", "x: 9999-99-99", "x: 2026-01-01", "<<: {a: 1}", "<<: 1", "x: .nan", "=: 1"),
    *("x: !!timestamp x", "x: !!float x", "x: !!int x", "x: " + "9" * 5000, "x: 0x" + "f" * 5000),
)


def pipelines() -> dict[str, ks.Dataset]:
    """Pipelines with stages of every sort that needs no function."""
    numbers = ks.Dataset.range(9)
    pairs = ks.Dataset.from_tensor_slices({"a": np.arange(6.0), "b": [b"x"] * 6})
    return {
        "batches": numbers.batch(2).shuffle(3, seed=1).repeat(2),
        "zipped": ks.Dataset.zip(numbers, numbers.skip(1)).take(3).shard(2, 1),
        "slices": pairs.padded_batch(2).unbatch().enumerate(),
        "options": numbers.with_options(ks.Options(threads=1)).prefetch(2).cache(),
        "sampled": ks.Dataset.sample_from_datasets([numbers, numbers], seed=3).ragged_batch(2),
        "windows": numbers.window(3, 1, 1, True),
        "chosen": ks.Dataset.choose_from_datasets([numbers, numbers], numbers.take(2)),
        "joined": numbers.concatenate(numbers).unique().ignore_errors().batch(3).rebatch(2),
        "counted": ks.Dataset.counter().take(4).assert_cardinality(4),
        "random": ks.Dataset.random(seed=1).take(3),
        "text": ks.read_text(str(Path(__file__))).take(2),
    }


def _written(ending: str) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        for name, ds in pipelines().items():
            (folder / name).mkdir(parents=True)
            recipe = ds.to_recipe()
            for stage in recipe.stages:
                stage.pop("digest", None)
                stage.pop("files", None)
            recipe.save(folder / name / f"recipe{ending}")

    return make


def _read(folder: Path) -> None:
    [path] = folder.iterdir()
    ds = ks.from_recipe(path, on_change="ignore")
    repr(ds)
    repr(ks.Recipe.read(path))
    if _largest(ks.Recipe.read(path).to_dict()) <= _LARGEST_TO_RUN:
        list(islice(ds, _FIRST_ELEMENTS))
        repr(ds.element_spec)
        ds.cardinality()


def _largest(document: Any) -> float:
    """The largest number in a document."""
    if isinstance(document, dict | list):
        inner = document.values() if isinstance(document, dict) else document
        return max(map(_largest, inner), default=0)
    is_number = isinstance(document, int | float) and document == document
    return abs(document) if is_number else 0


def _in_yaml(data: bytes, choose: random.Random) -> bytes:
    document = json_mutations.mutate_value(yaml.safe_load(data), choose)
    try:
        return yaml.safe_dump(document, sort_keys=False).encode("utf-8", "surrogatepass")
    except RecursionError:
        return data


def _odd_line(data: bytes, choose: random.Random) -> bytes:
    """Put a line between others that YAML or a reader of it may stumble over."""
    lines = data.decode().split("\n")
    place = choose.randrange(len(lines))
    indent = len(lines[place]) - len(lines[place].lstrip(" "))
    lines.insert(place, " " * indent + choose.choice(_ODD_LINES))
    return "\n".join(lines).encode()


def _in_json(data: bytes, choose: random.Random) -> bytes:
    return json_mutations.mutated(json.dumps(json.loads(data)).encode(), choose)


KINDS: Final[dict[str, Kind]] = {
    "recipe, yaml": Kind(
        _written(".yaml"),
        _read,
        in_files(_in_yaml, _in_yaml, _odd_line, text_mutations.lines),
        raw_share=0.15,
        names_files=True,
    ),
    "recipe, json": Kind(
        _written(".json"), _read, in_files(_in_json), raw_share=0.1, names_files=True
    ),
}
