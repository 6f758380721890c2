"""Writes folders with ``datasets.Dataset.save_to_disk``. Run once, where ``datasets`` is installed:

    python -m tests.golden.huggingface.make

What is there already is left as it is. See README.md.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import numpy as np
from datasets import Array2D, Array3D, ClassLabel, Dataset, DatasetDict, Features, List, Value
from PIL import Image

FOLDER = Path(__file__).parent


def plain() -> Dataset:
    rows = [
        {"text": "one", "label": 0, "score": 0.5, "when": 1, "tags": ["a"], "in": {"n": 1}},
        {"text": "", "label": 1, "score": None, "when": None, "tags": [], "in": {"n": 2}},
        {"text": "three", "label": -1, "score": 1.5, "when": 3, "tags": ["b", "ä"], "in": {"n": 3}},
    ]
    features = Features(
        {
            "text": Value("string"),
            "label": ClassLabel(names=["odd", "even"]),
            "score": Value("float32"),
            "when": Value("timestamp[s]"),
            "tags": List(Value("string")),
            "in": {"n": Value("int16")},
        }
    )
    return Dataset.from_list(rows, features=features)


def arrays() -> Dataset:
    rows = [
        {
            "fixed": np.full((2, 3), i, np.float32),
            "growing": np.full((i, 1, 2), i, np.uint8),
            "list": [i] * i,
            "three": [i, i + 1, i + 2],
            "many": [np.full((1, 2), j, np.int8) for j in range(i)],
            "lists": [[i], [], [i, i]],
        }
        for i in range(4)
    ]
    features = Features(
        {
            "fixed": Array2D((2, 3), "float32"),
            "growing": Array3D((None, 1, 2), "uint8"),
            "list": List(Value("int64")),
            "three": List(Value("int64"), length=3),
            "many": List(Array2D((1, 2), "int8")),
            "lists": List(List(Value("int32"))),
        }
    )
    return Dataset.from_list(rows, features=features)


def pictures() -> Dataset:
    rows = [
        {
            "image": Image.fromarray(np.full((2, 3 + i, 3), 50 * i, np.uint8)),
            "gray": {"image": Image.fromarray(np.full((2, 2), i, np.uint8))},
            "several": [Image.fromarray(np.full((1, 1), i, np.uint8))] * i,
        }
        for i in range(3)
    ]
    features = Features(
        {
            "image": datasets.Image(),
            "gray": {"image": datasets.Image(mode="L")},
            "several": List(datasets.Image()),
        }
    )
    return Dataset.from_list(rows, features=features)


def sounds() -> Dataset:
    rows = [{"audio": {"bytes": b"RIFF" + bytes([i]), "path": f"{i}.wav"}} for i in range(2)]
    storage = datasets.Dataset.from_list(rows)
    return storage.cast(Features({"audio": datasets.Audio()}))


def translations() -> Dataset:
    rows = [
        {"pair": {"en": "good", "fr": "bon"}, "many": {"en": "a", "fr": ["b", "c"]}},
        {"pair": {"en": "bad", "fr": "mal"}, "many": {"en": "d", "fr": "e"}},
    ]
    languages = ["en", "fr"]
    features = Features(
        {
            "pair": datasets.Translation(languages),
            "many": datasets.TranslationVariableLanguages(languages),
        }
    )
    return Dataset.from_list(rows, features=features)


def splits() -> DatasetDict:
    numbers = {"train": range(5), "test": range(100, 102), "none": range(0)}
    features = Features({"x": Value("int64")})
    return DatasetDict(
        {
            name: Dataset.from_dict({"x": list(each)}, features=features)
            for name, each in numbers.items()
        }
    )


FOLDERS: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
    "plain": (plain, {}),
    "arrays": (arrays, {"num_shards": 2}),
    "pictures": (pictures, {}),
    "sounds": (sounds, {}),
    "translations": (translations, {}),
    "splits": (splits, {"num_shards": {"train": 2, "test": 1, "none": 1}}),
}


def main() -> None:
    datasets.disable_progress_bars()
    for name, (make, how) in FOLDERS.items():
        if not (FOLDER / name).exists():
            make().save_to_disk(str(FOLDER / name), **how)
    versions = FOLDER / "versions.json"
    if not versions.exists():
        made_by = {"datasets": datasets.__version__, "pyarrow": datasets.config.PYARROW_VERSION}
        versions.write_text(json.dumps(made_by, default=str) + "\n")


if __name__ == "__main__":
    main()
