"""Training loops: every framework sees the same batches, and a killed one goes on where it was."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keepset as ks

pytestmark = pytest.mark.interop

HERE = Path(__file__).parent
WAYS = ["torch", "jax", "keras torch", "keras jax", "keras tensorflow"]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the first framework keeps what the others read."""
    return tmp_path_factory.mktemp("kept")


def train(way: str, kept: Path) -> Any:
    framework, _, backend = way.partition(" ")
    environment = {
        **os.environ,
        "KERAS_BACKEND": backend or "torch",
        "JAX_PLATFORMS": "cpu",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "CUDA_VISIBLE_DEVICES": "",
    }
    script = [sys.executable, str(HERE / "train_alike.py"), framework, str(kept)]
    text = subprocess.check_output(script, env=environment, text=True, timeout=110)
    return json.loads(text.splitlines()[-1])


def test_every_framework_sees_the_same_batches(kept: Path) -> None:
    found = {way: train(way, kept) for way in WAYS}
    first = found["torch"]
    assert len(first["seen"]) == 3 * 7
    assert len(set(first["seen"])) == 3 * 7  # each epoch has an order of its own
    for way, facts in found.items():
        assert facts["seen"] == first["seen"], way
        assert np.allclose(facts["weights"], first["weights"], atol=1e-5), way
    assert ks.Snapshot(kept).is_complete


@pytest.mark.parametrize("workers", [(0, 2, 1), (2, 0, 2)], ids=str)
def test_a_killed_training_goes_on_where_it_was(tmp_path: Path, workers: tuple[int, ...]) -> None:
    *broken, last = workers
    for steps, count in zip((7, 31), broken, strict=True):
        _train_and_kill(tmp_path, count, steps)
    _start(tmp_path, last).communicate(timeout=100)
    facts = _checkpoint(tmp_path)
    for elements in facts["used"]:
        assert sorted(elements) == list(range(120))
    assert facts["used"][0] != facts["used"][1]
    # Nothing but the order has decided about the weights.
    assert np.allclose(facts["weights"], _weights(facts["used"]), atol=1e-5)


def _start(folder: Path, workers: int) -> subprocess.Popen[str]:
    script = [sys.executable, str(HERE / "train_resumed.py"), str(folder), str(workers)]
    return subprocess.Popen(script, stdout=subprocess.PIPE, text=True)


def _train_and_kill(folder: Path, workers: int, steps: int) -> None:
    """Kill it when it has done so many steps, wherever it is then."""
    before = _steps(folder)
    with _start(folder, workers) as process:
        assert process.stdout is not None
        for _ in range(steps):
            assert process.stdout.readline() == "step\n"
        os.kill(process.pid, signal.SIGKILL)
    assert before + steps <= _steps(folder) < 60


def _checkpoint(folder: Path) -> Any:
    return json.loads((folder / "checkpoint.json").read_text())


def _steps(folder: Path) -> int:
    if not (folder / "checkpoint.json").exists():
        return 0
    return sum(map(len, _checkpoint(folder)["used"])) // 4


def _weights(epochs: list[list[int]]) -> Any:
    """What the elements in this order come to."""
    weights = np.zeros(3, np.float32)
    for elements in epochs:
        for start in range(0, len(elements), 4):
            xs = np.array(elements[start : start + 4], np.float32)[:, None]
            rows = np.cos(np.arange(3, dtype=np.float32) * (xs + 1))
            error = (rows @ weights - 1)[:, None]
            weights = weights - np.float32(0.1) * (error * rows).mean(0)
    return weights
