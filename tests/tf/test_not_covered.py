"""Names that are not covered say what to use."""

from __future__ import annotations

import copy
import inspect
from typing import Any

import pytest
from tests.tf.covered import modules

import keepset.tf as tf
from keepset.errors import NotCoveredError


@pytest.mark.parametrize(
    ("module", "name", "hint"),
    [
        (tf, "GradientTape", "compute gradients"),
        (tf, "ceil", r"use tf\.math\.ceil"),
        (tf, "reduce_std", r"use tf\.math\.reduce_std"),
        (tf, "matmull", r"use tf\.matmul"),
        (tf.math, "reduce_summ", r"use tf\.math\.reduce_sum"),
        (tf.math, "matmul", r"use tf\.matmul or tf\.linalg\.matmul"),
        (tf.nn, "batch_normalization", "build models"),
        (tf, "xla", "use NumPy"),
    ],
)
def test_hints_name_the_nearest_thing(module: Any, name: str, hint: str) -> None:
    with pytest.raises(NotCoveredError, match=hint):
        getattr(module, name)


def test_names_can_be_asked_for() -> None:
    assert not hasattr(tf, "GradientTape")
    assert getattr(tf, "xla", None) is None


@pytest.mark.parametrize("name", modules())
def test_modules_can_be_inspected(name: str) -> None:
    module = modules()[name]
    assert not hasattr(module, "__wrapped__")  # as doctest and inspect ask
    assert inspect.getmembers(module)
    assert copy.copy(vars(module))
    for public in module.__all__:
        assert getattr(module, public, None) is not None or public == "newaxis"
    assert len(set(module.__all__)) == len(module.__all__)
