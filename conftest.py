"""What the examples in docstrings may use without importing it, and where they leave files."""

from __future__ import annotations

import re
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keepset as ks

# Adapters import their framework, so that they can be looked at only where it is installed; so do
# the scripts that made files with it.
_ADAPTERS = {
    "huggingface": "datasets",
    **{name: name for name in ("jax", "keras", "tensorflow", "torch")},
}
collect_ignore_glob = [
    f"{folder}/{name}*"
    for folder in ("src/keepset/adapters", "tests/golden")
    for name, framework in _ADAPTERS.items()
    if find_spec(framework) is None
]

# Examples that need a framework run with the tests that do.
_FRAMEWORK = re.compile(
    r"\b(import|from) (torch|jax|keras|tensorflow|datasets)\b"
    r"|\.to_(torch|jax|keras|tf|hf)\(|\bfrom_(tf|hf)\("
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        examples = getattr(getattr(item, "dtest", None), "examples", [])
        if any(_FRAMEWORK.search(example.source) for example in examples):
            item.add_marker(pytest.mark.interop)


@pytest.fixture(autouse=True)
def _around_examples(
    doctest_namespace: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    doctest_namespace.update(np=np, Dataset=ks.Dataset)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
