"""The scripts for TensorFlow print the same with TensorFlow itself, by changing the import back."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = sorted((Path(__file__).parents[2] / "examples" / "from_tensorflow").glob("*.py"))

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]


def printed(source: str, folder: Path) -> str:
    path = folder / "script.py"
    path.write_text(source)
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(
        [sys.executable, path],
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=200,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: str(path.stem))
def test_a_script_prints_the_same_with_tensorflow(script: Path, tmp_path: Path) -> None:
    source = script.read_text()
    theirs, count = re.subn(
        "^import keepset.tf as tf$", "import tensorflow as tf", source, flags=re.M
    )
    assert count == 1
    assert printed(source, tmp_path) == printed(theirs, tmp_path)
