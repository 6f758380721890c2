"""The guide to the command line: its commands print what it says, in the order of the page."""

from __future__ import annotations

import doctest
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from glob import glob
from pathlib import Path
from types import ModuleType

import pytest
from tests.cli.commands import keepset
from tests.test_documentation import FENCED, Block, run_block

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "command-line.md"
COMMAND = re.compile(r"^\$ (?P<command>.*)\n(?P<output>(?:(?!\$ ).*\n)*)", re.MULTILINE)


def test_the_guide_shows_what_the_commands_print(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = GUIDE.read_text()
    checker = doctest.OutputChecker()
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    main = ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", main)
    for block in FENCED.finditer(text):
        if block["language"] == "python":
            if Path("train.py").exists():
                run_block(Block(1, block["body"], None), GUIDE, main)
            else:
                Path("train.py").write_text(block["body"])
                run("python train.py")
        elif block["language"] == "console":
            for command, expected in commands(block["body"]):
                printed = run(command)
                assert checker.check_output(expected, printed, options), f"{command}\n{printed}"


def commands(text: str) -> Iterator[tuple[str, str]]:
    """The commands of a block, each with what it prints."""
    for match in COMMAND.finditer(text):
        yield match["command"], match["output"]


def run(command: str) -> str:
    name, *arguments = shlex.split(command)
    if name == "keepset":
        expanded = [path for text in arguments for path in (sorted(glob(text)) or [text])[:1]]
        return keepset(*expanded, columns=80).output
    program = sys.executable if name == "python" else name
    return subprocess.run([program, *arguments], check=True, text=True, stdout=-1).stdout


def test_every_command_is_in_the_guide() -> None:
    text = GUIDE.read_text()
    for name in ("ls", "inspect", "cat", "diff", "explain", "verify", "gc", "rm", "demo"):
        assert f"keepset {name}" in text, name
