"""The page about keepset.tf lists what there is, and nothing else."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import keepset.tf as tf
from keepset.core.dtypes import StringType

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "keepset-tf.md"
ROWS = dict(re.findall(r"^\| `(tf[\w.]*)` \| (.+) \|$", PAGE.read_text(), re.MULTILINE))


def module_of(name: str) -> ModuleType:
    found: Any = tf
    for part in name.split(".")[1:]:
        found = getattr(found, part)
    assert isinstance(found, ModuleType)
    return found


def listed(name: str) -> set[str]:
    texts = re.findall(r"`([^`]+)`", ROWS[name])
    return {word.partition(".")[0] for text in texts for word in text.split()}


def there(name: str) -> set[str]:
    """The public names of a module, without dtypes and what it imports for itself."""
    module = module_of(name)
    names = set(getattr(module, "__all__", ()))
    for key, value in vars(module).items():
        if not key.startswith("_") and getattr(value, "__module__", None) == module.__name__:
            names.add(key)
    return {
        key
        for key in names
        if not inspect.ismodule(getattr(module, key))
        and not isinstance(getattr(module, key), np.dtype | StringType | tf.DType)
    }


@pytest.mark.parametrize("name", ROWS)
def test_a_module_has_what_the_page_says_and_no_more(name: str) -> None:
    module = module_of(name)
    for key in listed(name):
        assert getattr(module, key, key) is not key, f"{name}.{key} is on the page only"
    hidden = {"Transformation", "INFINITE_CARDINALITY", "UNKNOWN_CARDINALITY", "experimental"}
    missing = there(name) - listed(name) - hidden
    assert not missing, f"not on the page: {', '.join(sorted(missing))}"


def test_all_modules_are_on_the_page() -> None:
    modules = {f"tf.{key}" for key, value in vars(tf).items() if inspect.ismodule(value)}
    private = {"tf.tensor", "tf.not_covered", "tf.arrays", "tf.gfile", "tf.np"} | {
        "tf.shapes",
        "tf.dtype",
    }
    assert modules - private <= set(ROWS)
