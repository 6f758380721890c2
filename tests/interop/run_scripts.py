"""Run scripts one after the other in this process, and write what each of them printed as JSON.

The scripts for TensorFlow are tiny and importing TensorFlow takes seconds, so that they share a
process. Each has a module namespace, a working directory, random seeds and NumPy's
way of printing of its own.
"""

from __future__ import annotations

import json
import os
import random
import runpy
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np


def run_all(folder: Path) -> None:
    """Run ``*.py`` of a folder, and write ``printed.json`` beside them."""
    printed = {path.stem: run(path) for path in sorted(folder.glob("*.py"))}
    (folder / "printed.json").write_text(json.dumps(printed))


def run(script: Path) -> dict[str, str]:
    """What a script printed, and the traceback if it failed."""
    working = script.with_suffix("")
    working.mkdir()
    os.chdir(working)
    _reset_seeds()
    error = ""
    output = working.with_suffix(".txt")
    with _standard_output(output), np.printoptions():
        try:
            runpy.run_path(str(script), run_name="__main__")
        except BaseException:
            error = traceback.format_exc()
    return {"output": output.read_text(), "error": error}


def _reset_seeds() -> None:
    import tensorflow as tf

    tf.random.set_seed(None)
    tf.config.run_functions_eagerly(False)
    np.random.seed(0)
    random.seed(0)


@contextmanager
def _standard_output(path: Path) -> Iterator[None]:
    """Lead file descriptor 1 into a file: TensorFlow's own printing does not know sys.stdout."""
    sys.stdout.flush()
    before = os.dup(1)
    with path.open("wb") as file:
        os.dup2(file.fileno(), 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(before, 1)
        os.close(before)


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    run_all(Path(sys.argv[1]))
