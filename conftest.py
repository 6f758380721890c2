"""What the examples in docstrings may use without importing it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import keepset as ks


@pytest.fixture(autouse=True)
def _names_of_examples(doctest_namespace: dict[str, Any]) -> None:
    doctest_namespace.update(np=np, Dataset=ks.Dataset)
