"""Tests that fork come first: JAX and TensorFlow start threads, which a fork does not copy."""

from __future__ import annotations

import pytest

# A program of its own, which imports Keras with the backend that it is told.
collect_ignore = ["keras_cases.py"]

FORKING = {"test_torch_data.py", "test_torch_identity.py", "test_torch_loader.py"}


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.name not in FORKING)
