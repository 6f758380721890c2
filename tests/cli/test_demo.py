"""demo: computes once, replays, and explains a change."""

from __future__ import annotations

import re
from pathlib import Path

from tests.cli.commands import answer, answer_json, complaint, process

import keepset as ks


def test_the_demo_shows_a_first_epoch_replays_and_a_change() -> None:
    done = process("demo")
    assert (done.returncode, done.stderr) == (0, "")
    text = done.stdout
    assert "BLURS = 2\n" in text
    assert re.search(r"^epoch 0, computed and kept +500 +\d+\.\d\d +[\d,]+$", text, re.MULTILINE)
    assert re.search(r"^epoch 2, replayed +500 .* \d+x as fast$", text, re.MULTILINE)
    assert "  map > function > global BLURS: 2 -> 3\n" in text


def test_the_files_of_the_demo_can_be_kept(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    found = answer_json("demo", "--folder", folder)
    assert [each["images"] for each in found["epochs"]] == [500, 500, 500]
    assert found["speed_up"] > 1
    assert [change["new"] for change in found["changes"]] == ["3"]
    assert len(ks.load(folder / "images")) == 500
    assert "BLURS: 2 -> 3" in answer(
        "explain", folder / "images", f"{folder}/pipeline.py:images", code=1
    )
    assert "is not empty" in complaint("demo", "--folder", folder)
