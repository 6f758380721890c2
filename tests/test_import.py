"""What ``import keepset`` costs, and what it offers."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import keepset

# Packages that only those who use them should wait for.
FRAMEWORKS = (
    *("tensorflow", "torch", "jax", "pandas", "polars", "ray"),
    *("PIL", "datasets", "grain", "h5py", "obstore"),
)


def test_import_pulls_in_no_framework(tmp_path: Path) -> None:
    # An empty stand-in for each, so that an import is seen even where the package is not installed.
    for name in FRAMEWORKS:
        (tmp_path / f"{name}.py").touch()
    program = "import json, keepset, sys; print(json.dumps([*sys.modules]))"
    modules = json.loads(run(program, PYTHONPATH=str(tmp_path)))
    assert "keepset" in modules
    assert [name for name in FRAMEWORKS if name in modules] == []


def test_import_adds_under_a_tenth_of_a_second_to_its_dependencies() -> None:
    program = (
        "import numpy, pyarrow, time; start = time.process_time(); import keepset; "
        "print(time.process_time() - start)"
    )
    # Processor time and the best of five: the first may compile, and others share the machine.
    assert min(float(run(program)) for _ in range(5)) < 0.1


def test_a_snapshot_that_is_there_is_read_without_what_writes(tmp_path: Path) -> None:
    (tmp_path / "pipeline.py").write_text(
        "import keepset as ks\n\ndef twice(x):\n    return 2 * x\n\n"
        f"ds = ks.Dataset.range(5).map(twice).snapshot({str(tmp_path / 'kept')!r})\n"
    )
    list_modules = "; import json, sys; print(json.dumps([*sys.modules]))"
    variables = {"PYTHONPATH": str(tmp_path)}
    first = json.loads(run("import pipeline; [*pipeline.ds]" + list_modules, **variables))
    later = json.loads(run("import pipeline; [*pipeline.ds]" + list_modules, **variables))
    slow = [
        *("keepset.snapshot.beginning", "keepset.snapshot.explaining", "keepset.workers.processes"),
        *("difflib", "numpy.ma", "numpy.random", "pathlib", "shutil", "subprocess"),
    ]
    assert "keepset.snapshot.beginning" in first
    assert [name for name in slow if name in later] == []


def test_public_names_exist_and_are_listed_once() -> None:
    assert len(keepset.__all__) == len(set(keepset.__all__))
    assert [name for name in keepset.__all__ if not hasattr(keepset, name)] == []


def test_names_of_other_libraries_lead_to_ours() -> None:
    for name, place in keepset._ELSEWHERE.items():
        with pytest.raises(AttributeError, match=f"no attribute '{name}'; use keepset.{place}$"):
            getattr(keepset, name)
        assert eval(f"keepset.{place}")
    with pytest.raises(AttributeError, match=r"use keepset.Dataset.from_generator$"):
        _ = keepset.from_generator
    with pytest.raises(AttributeError, match=r"has no attribute 'nothing'$"):
        _ = keepset.nothing


def run(program: str, **variables: str) -> str:
    """Run a program in a new interpreter and return what it prints."""
    # An empty value lets Python keep the bytecode, as it does for users.
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", **variables}
    return subprocess.check_output([sys.executable, "-c", program], env=environment, text=True)
