"""Running commands: in this process, or in one of its own as a shell would."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from click.testing import CliRunner, Result

import keepset as ks
from keepset.cli.main import main


def keepset(*arguments: Any, columns: int | None = None) -> Result:
    """Run a command; its streams and its exit code."""
    width = None if columns is None else str(columns)
    return CliRunner(env={"COLUMNS": width}).invoke(
        main, [str(each) for each in arguments], prog_name="keepset"
    )


def answer(*arguments: Any, code: int = 0) -> str:
    """What a command prints that ends with this code, and complains of nothing."""
    result = keepset(*arguments)
    assert result.exit_code == code, result.output
    return result.stdout


def answer_json(*arguments: Any, code: int = 0) -> Any:
    return json.loads(answer(*arguments, "--json", code=code))


def complaint(*arguments: Any, code: int = 3) -> str:
    """What a command that fails says of it; it must not answer anything."""
    result = keepset(*arguments)
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    return result.stderr


def process(*arguments: Any, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own."""
    command = [sys.executable, "-m", "keepset", *map(str, arguments)]
    environment = {key: value for key, value in os.environ.items() if key != "COLUMNS"}
    return subprocess.run(
        command, capture_output=True, text=True, timeout=60, env=environment, **options
    )


def numbers(count: int = 100, scale: int = 1) -> ks.Dataset:
    return ks.Dataset.range(count).map(
        lambda x: {"x": x * scale, "v": np.full(7, x * scale, np.float32)}
    )


def keep_a_part(path: Path) -> int:
    """Begin a first pass and stop it in the middle; how many elements are kept."""
    with iter(numbers(100_000).snapshot(path)) as iterator:
        for _ in range(50):
            next(iterator)
    kept = ks.Snapshot(path).num_elements
    assert 50 <= kept < 100_000
    return kept


def damage(path: Path, byte: int | None = None) -> Path:
    """Flip a byte in the one segment below a path; by default in the middle of it."""
    [segment] = path.rglob("segments/*")
    data = bytearray(segment.read_bytes())
    data[len(data) // 2 if byte is None else byte] ^= 0xFF
    segment.write_bytes(data)
    return segment
