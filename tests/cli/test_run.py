"""run: a recipe becomes data that is kept, if its code may run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.commands import answer, answer_json, complaint, keepset

import keepset as ks

OWN = "tests.cli.test_run"


def tripled(x: Any) -> Any:
    return {"x": x, "y": np.full(3, 3 * x)}


def slow(x: Any) -> Any:
    time.sleep(0.01)
    return x


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    path = tmp_path / "tripled.yaml"
    ks.Dataset.range(200).map(tripled).to_recipe().save(path)
    return path


def test_a_recipe_is_run_once_and_found_ever_after(recipe: Path, tmp_path: Path) -> None:
    given = ("run", recipe, "--to", tmp_path / "kept", "--allow", OWN)
    assert answer(*given).startswith("200 elements kept in ")
    assert "has all 200 elements already" in answer(*given)
    ks.assert_equal(ks.load(tmp_path / "kept"), ks.Dataset.range(200).map(tripled))
    found = answer_json(*given)
    assert (found["elements"], found["computed"]) == (200, 0)
    assert ks.load(tmp_path / "kept").recipe == ks.Recipe.read(recipe)


def test_a_few_elements_can_be_had_first(recipe: Path, tmp_path: Path) -> None:
    answer("run", recipe, "--to", tmp_path / "some", "--limit", 7, "--trust")
    assert len(ks.load(tmp_path / "some")) == 7


def test_code_runs_only_if_one_says_so(recipe: Path, tmp_path: Path) -> None:
    said = complaint("run", recipe, "--to", tmp_path / "kept")
    assert f"stage 1, map, imports {OWN}:tripled" in said
    assert "--allow" in said
    complaint("run", recipe, "--to", tmp_path / "kept", "--allow", "numpy")
    assert not (tmp_path / "kept").exists()
    result = keepset("run", recipe, "--dry-run")
    assert result.exit_code == 1
    assert f"stage 1, map, imports {OWN}:tripled" in result.stdout


def test_a_dry_run_shows_everything_and_runs_nothing(recipe: Path) -> None:
    said = answer("run", recipe, "--dry-run", "--trust")
    assert said.splitlines()[:3] == ["map(tripled)", "range(0, 200)", "200 elements"]
    found = answer_json("run", recipe, "--dry-run", "--trust")
    assert found["stages"] == ["range", "map"]
    assert found["problem"] is None


def test_what_changed_is_said_before_it_runs(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("one")
    path = tmp_path / "files.json"
    ks.Dataset.list_files(str(file)).map(len).to_recipe().save(path)
    file.write_text("three")
    given = ("run", path, "--to", tmp_path / "kept", "--trust")
    result = keepset(*given, "--on-change", "error")
    assert result.exit_code == 3
    assert not (tmp_path / "kept").exists()
    result = keepset(*given)
    assert result.exit_code == 0
    assert "changed: stage 0, list_files" in result.stderr
    assert "a.txt" in result.stderr


def test_mistakes_are_explained(recipe: Path, tmp_path: Path) -> None:
    assert "--to PATH" in keepset("run", recipe).stderr
    assert keepset("run", tmp_path / "missing.yaml").exit_code == 2
    text = recipe.read_text().replace("stop: 200", "stopp: 200")
    recipe.write_text(text)
    assert f"{recipe}, line" in complaint("run", recipe, "--to", tmp_path / "kept", "--trust")


def test_a_killed_run_goes_on_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "slow.yaml"
    ks.Dataset.range(400).map(slow).to_recipe().save(path)
    kept = tmp_path / "kept"
    command = [sys.executable, "-m", "keepset", "run", str(path), "--to", str(kept), "--trust"]
    running = subprocess.Popen(command, cwd=Path(__file__).parents[2])
    deadline = time.monotonic() + 60
    while not list(kept.glob("*/commits/[0-9]*")) and time.monotonic() < deadline:
        time.sleep(0.02)
    running.send_signal(signal.SIGKILL)
    assert running.wait() == -signal.SIGKILL
    before = ks.Snapshot(kept).num_elements
    assert 0 < before < 400
    found = answer_json("run", path, "--to", kept, "--trust")
    assert found["elements"] == 400
    assert [int(x) for x in ks.load(kept)] == list(range(400))


def test_the_recipe_of_what_is_kept_is_printed(recipe: Path, tmp_path: Path) -> None:
    answer("run", recipe, "--to", tmp_path / "kept", "--trust")
    text = answer("inspect", tmp_path / "kept", "--recipe")
    assert ks.Recipe.parse(text) == ks.Recipe.read(recipe)
    assert answer_json("inspect", tmp_path / "kept", "--recipe") == ks.Recipe.read(recipe).to_dict()
    ks.Dataset.range(3).map(lambda x: (x, os.getpid())).save(tmp_path / "plain")
    assert answer("inspect", tmp_path / "plain", "--recipe").startswith("keepset_recipe: 1")


def test_what_has_no_recipe_says_why(tmp_path: Path) -> None:
    class Local:
        def __reduce__(self) -> tuple[Any, ...]:
            return Local, ()

    odd = Local()
    ks.Dataset.range(3).map(lambda x: (x, odd is None)[0]).save(tmp_path / "odd")
    said = complaint("inspect", tmp_path / "odd", "--recipe")
    assert "has no recipe" in said
    assert "Local" in said


def test_files_that_moved_and_arrays_that_are_only_named(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    ks.Dataset.from_tensor_slices(["a", "b"]).write_text(tmp_path / "old" / "f.txt")
    array = np.arange(20_000)
    lines = ks.read_text(tmp_path / "old" / "f.txt")
    ks.Dataset.zip(lines, ks.Dataset.from_tensor_slices(array)).to_recipe().save(
        tmp_path / "r.yaml"
    )
    (tmp_path / "old").rename(tmp_path / "new")
    np.save(tmp_path / "x.npy", array)
    arguments = ["run", tmp_path / "r.yaml", "--to", tmp_path / "kept"]
    where = ["--moved", f"{tmp_path}/old={tmp_path}/new"]
    assert "does not hold it" in complaint(*arguments, *where)
    said = complaint(*arguments, *where, "--data", f"2.tensors={tmp_path}/r.yaml")
    assert "is no .npy file" in said
    answer(*arguments, *where, "--data", f"2.tensors={tmp_path}/x.npy")
    assert [(bytes(text), int(x)) for text, x in ks.load(tmp_path / "kept")] == [
        (b"a", 0),
        (b"b", 1),
    ]
    assert "OLD=NEW" in keepset(*arguments, "--moved", "nothing").stderr


def test_a_program_is_no_recipe(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import keepset as ks\n")
    said = complaint("run", tmp_path / "train.py")
    assert f"{tmp_path}/train.py is a program and no recipe; write one with" in said
