"""The scripts for TensorFlow print the same with TensorFlow itself, by changing the import back."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]

SCRIPTS = sorted((Path(__file__).parents[2] / "examples" / "from_tensorflow").glob("*.py"))
RUNNER = Path(__file__).with_name("run_scripts.py")

# Runs the script, which must not have brought TensorFlow in.
WITHOUT_TENSORFLOW = """
import runpy, sys
runpy.run_path("script.py", run_name="__main__")
assert "tensorflow" not in sys.modules
"""


@pytest.fixture(scope="session")
def with_tensorflow(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, dict[str, str]]:
    """What the scripts that are to be tested print with TensorFlow, all in one process."""
    folder = tmp_path_factory.mktemp("with_tensorflow")
    for script in chosen(request):
        changed, count = re.subn(
            "^import keepset.tf as tf$", "import tensorflow as tf", script.read_text(), flags=re.M
        )
        assert count == 1, script
        (folder / script.name).write_text(changed)
    done = run([str(RUNNER), str(folder)], folder)
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, dict[str, str]] = json.loads((folder / "printed.json").read_text())
    return found


def chosen(request: pytest.FixtureRequest) -> set[Path]:
    """The scripts whose tests were selected."""
    calls = [getattr(item, "callspec", None) for item in request.session.items]
    return {call.params["script"] for call in calls if call and "script" in call.params}


def run(arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=500,
        env=environment,
        check=False,
    )


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_runs_with_tensorflow(
    script: Path, with_tensorflow: dict[str, dict[str, str]]
) -> None:
    assert with_tensorflow[script.stem]["error"] == ""


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_prints_the_same_with_tensorflow(
    script: Path, tmp_path: Path, with_tensorflow: dict[str, dict[str, str]]
) -> None:
    (tmp_path / "script.py").write_text(script.read_text())
    ours = run(["-W", "error", "-c", WITHOUT_TENSORFLOW], tmp_path)
    assert ours.returncode == 0, ours.stderr[-3000:]
    assert ours.stdout == with_tensorflow[script.stem]["output"]
