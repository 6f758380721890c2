"""The guide about keepset.tf lists what there is, and nothing else."""

from __future__ import annotations

import inspect
from types import ModuleType

import pytest
from tests.tf.covered import PAGE, modules, written


def test_the_guide_lists_what_is_covered() -> None:
    page = PAGE.read_text()
    assert written(page) == page, "run: python -m tests.tf.covered"


@pytest.mark.parametrize("name", modules())
def test_all_that_a_module_defines_is_public_or_private_by_name(name: str) -> None:
    module: ModuleType = modules()[name]
    own = {
        key
        for key, value in vars(module).items()
        if not key.startswith("_")
        and (inspect.isfunction(value) or inspect.isclass(value))
        and value.__module__ == module.__name__
    }
    assert own <= set(module.__all__)
