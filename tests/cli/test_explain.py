"""explain: hit or miss, and what is different, for a pipeline or for what is kept."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.cli.commands import answer, answer_json, complaint, keepset, numbers

import keepset as ks

SCRIPT = """
import keepset as ks
from neighbour import OFFSET

SCALE = 2
SHUFFLED = None

def scaled(x):
    return x * SCALE + OFFSET

def numbers():
    return ks.Dataset.range(10).map(scaled)

def training():
    return numbers().snapshot({kept!r}).shuffle(10, seed=1).batch(3)

dataset = numbers()
not_one = 5

if __name__ == "__main__":
    for _ in numbers().snapshot({kept!r}):
        pass
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """A training program that has run once."""
    (tmp_path / "neighbour.py").write_text("OFFSET = 1\n")
    path = tmp_path / "train.py"
    path.write_text(SCRIPT.format(kept=str(tmp_path / "kept")))
    subprocess.run([sys.executable, path], check=True)
    return path


def edit(script: Path, old: str, new: str) -> None:
    text = script.read_text()
    assert old in text
    script.write_text(text.replace(old, new))


@pytest.mark.parametrize("name", ["numbers", "dataset", "training"])
def test_a_pipeline_that_is_kept_is_a_hit(script: Path, name: str) -> None:
    kept = script.parent / "kept"
    assert answer("explain", kept, f"{script}:{name}") == (
        f"hit: 10 elements are kept in {kept}; the pipeline is replayed\n"
    )
    found = answer_json("explain", kept, f"{script}:{name}")
    assert (found["hit"], found["kept_elements"], found["changes"]) == (True, 10, [])


@pytest.mark.parametrize("name", ["numbers", "training"])
def test_a_changed_value_is_a_miss(script: Path, name: str) -> None:
    edit(script, "SCALE = 2", "SCALE = 3")
    kept = script.parent / "kept"
    first, second, *changes = answer("explain", kept, f"{script}:{name}", code=1).splitlines()
    assert first == f"miss: {kept} keeps no snapshot of this pipeline"
    assert second.startswith("the nearest, ")
    assert changes == ["  map > function > global SCALE: 2 -> 3"]
    found = answer_json("explain", kept, f"{script}:{name}", code=1)
    [change] = found["changes"]
    assert (change["path"], change["old"], change["new"]) == (
        "map > function > global SCALE", "2", "3",
    )  # fmt: skip
    assert found["nearest"] == next(kept.iterdir()).name


def test_changed_code_is_shown_line_by_line(script: Path) -> None:
    edit(script, "return x * SCALE + OFFSET", "return x * SCALE - OFFSET")
    text = answer("explain", script.parent / "kept", f"{script}:numbers", code=1)
    assert "    -    return x * SCALE + OFFSET\n    +    return x * SCALE - OFFSET\n" in text


def test_a_module_is_imported_by_its_name(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(script.parent)
    done = subprocess.run(
        [sys.executable, "-m", "keepset", "explain", "kept", "train:numbers"],
        capture_output=True,
        text=True,
    )
    assert done.stdout.startswith("hit: 10 elements"), done.stderr


def test_the_same_file_twice_is_read_twice(script: Path) -> None:
    assert keepset("explain", script.parent / "kept", f"{script}:numbers").exit_code == 0
    before = os.stat(script)
    edit(script, "SCALE = 2", "SCALE = 3")
    os.utime(script, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert keepset("explain", script.parent / "kept", f"{script}:numbers").exit_code == 1


@pytest.mark.parametrize(
    ("reference", "words", "code"),
    [
        ("train.py", "'train.py' is not of the form file.py:name", 2),
        ("gone.py:x", "gone.py does not exist", 2),
        ("train.py:x", "train.py has no 'x'; there is scaled, numbers, training, dataset", 2),
        ("train.py:not_one", "is of type int; name a Dataset", 2),
        ("train.py:scaled", "scaled() of train.py failed with TypeError", 3),
        ("broken.py:x", "broken.py failed with ZeroDivisionError: division by zero", 3),
        ("no_such_module:x", "failed with ModuleNotFoundError", 3),
    ],
)
def test_a_pipeline_that_is_not_there(
    script: Path, monkeypatch: pytest.MonkeyPatch, reference: str, words: str, code: int
) -> None:
    (script.parent / "broken.py").write_text("1 / 0")
    monkeypatch.chdir(script.parent)
    text = complaint("explain", "kept", reference, code=code)
    assert words in text
    assert "Traceback" not in text


def test_an_error_in_the_users_file_can_be_followed(script: Path) -> None:
    (script.parent / "broken.py").write_text("x = 1\n1 / 0\n")
    text = complaint("explain", script.parent, f"{script.parent}/broken.py:x", "--traceback")
    assert 'broken.py", line 2' in text


def test_nothing_kept_yet_is_a_miss(script: Path) -> None:
    text = answer("explain", script.parent / "other", f"{script}:numbers", code=1)
    place = script.parent / "other"
    assert text == (
        f"miss: nothing is kept in {place}, which does not exist yet; the first pass of "
        "snapshot() makes it\n"
    )
    assert answer_json("explain", place, f"{script}:numbers", code=1)["is_missing"]
    place.mkdir()
    text = answer("explain", place, f"{script}:numbers", code=1)
    assert text == f"miss: nothing is kept in {place} yet\n"


def test_a_part_of_the_elements_is_no_hit(script: Path) -> None:
    place = script.parent / "part"
    script.write_text(script.read_text().replace("range(10)", "range(1000)"))
    program = f"import train; it = iter(train.numbers().snapshot({str(place)!r}, chunk_bytes=8));"
    program += "[next(it) for _ in range(300)]; it.close()"
    subprocess.run([sys.executable, "-c", program], check=True, cwd=script.parent)
    stored = ks.Snapshot(str(place)).num_elements
    assert 0 < stored < 1000
    assert answer("explain", place, f"{script}:numbers", code=1) == (
        f"resume: {stored} of 1,000 elements are kept in {place}; a pass computes only the others\n"
    )
    found = answer_json("explain", place, f"{script}:numbers", code=1)
    assert (found["hit"], found["resumes"], found["kept_elements"]) == (False, True, stored)


def test_a_file_is_no_place_to_look_for_a_snapshot(script: Path) -> None:
    text = complaint("explain", script, f"{script}:numbers")
    assert "train.py is a file; name the folder" in text
    with pytest.raises(ks.SnapshotMissingError, match="is a file"):
        ks.explain(ks.Dataset.range(3), script)


def test_a_saved_dataset_is_named_as_such(script: Path) -> None:
    place = script.parent / "saved"
    ks.Dataset.range(10).save(place)
    text = answer("explain", place, f"{script}:numbers", code=1)
    assert text.startswith(f"miss: {place} holds a saved dataset and no snapshot of this pipeline;")
    assert "`keepset ls` shows it and ks.load() reads it" in text
    why = ks.explain(ks.Dataset.range(10), place)
    assert (why.hit, why.is_saved, why.below) == (False, True, [])


def test_the_fingerprint_is_that_of_the_pipeline(script: Path) -> None:
    arguments: list[Any] = ["explain", script.parent / "kept", f"{script}:numbers", "-f", "ab"]
    assert "--fingerprint is of no use with PIPELINE" in complaint(*arguments, code=2)


def keep(path: Path, **changes: int) -> str:
    """Keep a pipeline with these settings; its fingerprint."""
    settings = {"count": 10, "size": 2, "scale": 1} | changes
    scale = settings["scale"]
    ds = ks.Dataset.range(settings["count"]).map(lambda x: x * scale).batch(settings["size"])
    list(ds.snapshot(path))
    return ks.explain(ds, path).fingerprint


def test_the_newest_is_compared_with_the_nearest_older_one(tmp_path: Path) -> None:
    near = keep(tmp_path, scale=5)
    keep(tmp_path, scale=7, count=11, size=3)
    newest = keep(tmp_path, scale=6)
    assert answer("explain", tmp_path).splitlines() == [
        f"the newest in {tmp_path} is {newest}",
        f"it was computed because the nearest older one, {near}, differs in",
        "  batch > map > function > captured scale: 5 -> 6",
    ]
    found = answer_json("explain", tmp_path)
    assert (found["fingerprint"], found["older"]) == (newest, near)
    assert [change["old"] for change in found["changes"]] == ["5"]


def test_another_one_than_the_newest_can_be_asked_for(tmp_path: Path) -> None:
    first = keep(tmp_path)
    second = keep(tmp_path, count=11)
    keep(tmp_path, size=4)
    assert answer("explain", tmp_path, "-f", second).startswith("what was asked for in ")
    found = answer_json("explain", tmp_path, "--fingerprint", second[:8])
    assert (found["fingerprint"], found["older"]) == (second, first)
    assert "keeps nothing of the fingerprint 'zz'" in complaint("explain", tmp_path, "-f", "zz")


def test_one_that_is_alone_shows_what_it_was_found_from(tmp_path: Path) -> None:
    keep(tmp_path / "elsewhere")
    newest = keep(tmp_path / "here", size=3)
    text = answer("explain", tmp_path)
    assert text.startswith(f"the newest in {tmp_path} is here/{newest}\n")
    assert "there is nothing older beside it" in text
    assert "── range(0, 10)" in text


def test_what_was_saved_has_nothing_to_explain(tmp_path: Path) -> None:
    numbers(3).save(tmp_path)
    assert "it was saved, or named by hand" in answer("explain", tmp_path)


def test_why_it_was_started_over_is_told(tmp_path: Path) -> None:
    list(numbers(3).snapshot(tmp_path))
    with pytest.warns(UserWarning, match="starts over"):
        list(numbers(3).snapshot(tmp_path, mode="write"))
    assert "it was started over: " in answer("explain", tmp_path)
    assert len(answer_json("explain", tmp_path)["restarts"]) == 1


def test_a_folder_of_other_places_names_them(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import keepset as ks\nimages = ks.Dataset.range(3)\n")
    list(numbers(4).snapshot(tmp_path / "kept" / "one"))
    numbers(5).save(tmp_path / "kept" / "two")
    text = answer("explain", tmp_path / "kept", f"{tmp_path}/train.py:images", code=1)
    assert " ".join(text.split()).endswith(
        "keeps no snapshot of this pipeline; below it are one, two: name the one that was given to "
        "snapshot()"
    )
    text = answer("explain", tmp_path / "empty", f"{tmp_path}/train.py:images", code=1)
    assert "nothing is kept in" in text


def test_a_save_says_what_can_be_compared(tmp_path: Path) -> None:
    numbers(5).save(tmp_path / "kept")
    assert "keepset diff compares its elements" in " ".join(
        answer("explain", tmp_path / "kept").split()
    )


@pytest.mark.parametrize(
    ("ending", "code"),
    [
        ("sys.exit(0)", "0"),
        ("sys.exit('done')", "'done'"),
        ("argparse.ArgumentParser().parse_args(['--more'])", "2"),
    ],
)
def test_a_file_that_ends_the_program_is_no_answer(script: Path, ending: str, code: str) -> None:
    script.write_text(f"import argparse, sys\n{script.read_text()}\n{ending}\n")
    said = complaint("explain", script.parent / "kept", f"{script}:dataset").splitlines()[-1]
    assert said.startswith(f"error: {script} ended itself with sys.exit({code}); put what only")
    assert said.endswith('under if __name__ == "__main__"')
