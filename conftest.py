"""What the examples in docstrings may use without importing it, and where they leave files."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keepset as ks


@pytest.fixture(autouse=True)
def _around_examples(
    doctest_namespace: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    doctest_namespace.update(np=np, Dataset=ks.Dataset)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
