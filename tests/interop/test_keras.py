"""``ds.to_keras()`` with each backend of Keras, which a process has only one of."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

SCRIPT = Path(__file__).parent / "keras_cases.py"
CASES = [
    node.name
    for node in ast.parse(SCRIPT.read_text()).body
    if isinstance(node, ast.FunctionDef) and node.decorator_list
]


@cache
def results(backend: str) -> Any:
    environment = {
        **os.environ,
        "KERAS_BACKEND": backend,
        "JAX_PLATFORMS": "cpu",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "CUDA_VISIBLE_DEVICES": "",
    }
    script = [sys.executable, str(SCRIPT)]
    text = subprocess.check_output(script, env=environment, text=True, timeout=280)
    return json.loads(text.splitlines()[-1])


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("backend", ["torch", "jax", "tensorflow"])
def test_fact(backend: str, name: str) -> None:
    error = results(backend)[name]
    assert error is None, error
