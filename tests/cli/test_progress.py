"""Progress of commands at a terminal: one line that moves, and nothing left of it afterwards."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import IO

import numpy as np
import pytest
from tests.cli.commands import process

import keepset as ks
from keepset.core.size_text import size_text

# The command line, with sources and comparisons that take their time.
SLOW = """
import time
from keepset.cli import cat, diff
from keepset.cli.main import main
from keepset.dataset import converting
from keepset.snapshot import beginning
from keepset.snapshot.writing import progress
from keepset.testing import comparison

beginning._SHOWN_AFTER_S = cat._SHOWN_AFTER_S = 0.05
progress._INTERVAL_S = 0.02

def slowly(function):
    def slow(*arguments):
        time.sleep(0.005)
        return function(*arguments)
    return slow

comparison.element_differences = slowly(comparison.element_differences)
cat.element_json = slowly(cat.element_json)
opened = converting._opened
converting._opened = lambda *arguments: opened(*arguments).map(slowly(lambda x: x))
main(prog_name="keepset")
"""


def shown(
    *arguments: object,
    stdout: IO[bytes] | int | None = None,
    interrupt_at: str | None = None,
    **variables: str,
) -> tuple[int, str]:
    """The exit code of a command, and all that its terminal gets, without colours."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100", "NO_COLOR": "1", **variables}
    command = [sys.executable, "-c", SLOW, *map(str, arguments)]
    out = theirs if stdout is None else stdout
    with subprocess.Popen(
        command, stdin=theirs, stdout=out, stderr=theirs, env=environment
    ) as running:
        os.close(theirs)
        text, is_told = b"", False
        while piece := _read(ours):
            text += piece
            if interrupt_at is not None and not is_told and interrupt_at.encode() in text:
                running.send_signal(signal.SIGINT)
                is_told = True
    os.close(ours)
    return running.returncode, text.decode()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:
        return b""  # as Linux says that the other end was closed


def screen(text: str) -> list[str]:
    """The lines that are left on a terminal, as far as progress moves its cursor."""
    lines, row = [""], 0
    for part in re.findall(r"\r|\n|\x1b\[[0-9;?]*[A-Za-z]|[^\r\n\x1b]+", text):
        if part == "\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif part == "\x1b[1A":
            row -= 1
        elif part in ("\x1b[2K", "\r"):
            lines[row] = ""  # what returns to the start of a line writes over all of it
        elif not part.startswith("\x1b"):
            lines[row] += part
    return [line for line in lines if line]


def screen_of_lines(text: str) -> list[str]:
    """As ``screen``, where a line ends with a return before the next one begins."""
    return screen(text.replace("\r\n", "\n"))


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stored")
    images = ks.Dataset.range(200).map(lambda x: np.full(4096, x))
    for name in ("a", "b"):
        images.save(folder / name, chunk_bytes=1 << 16)
    return folder


def test_verify_shows_bytes_rate_and_time_left_and_wipes_them_out(stored: Path) -> None:
    code, text = shown("verify", stored / "a")
    assert code == 0
    assert re.search(r"checking .*/6.6 MB .*-:--:--", text)
    name, row = screen_of_lines(text)
    assert (name.split()[0], row.split()[:3]) == ("name", [".", "sound", "200"])


def test_diff_shows_elements_rate_and_time_left_and_wipes_them_out(stored: Path) -> None:
    code, text = shown("diff", stored / "a", stored / "b")
    assert code == 0
    counts = [int(count) for count in re.findall(r"(\d+) of 200 elements", text)]
    assert len(set(counts)) > 2
    assert re.search(r"elements \d+/s 0:00:0\d", text)
    assert screen_of_lines(text) == ["equal: 200 elements"]


def test_an_interrupted_diff_leaves_one_word(stored: Path) -> None:
    code, text = shown("diff", stored / "a", stored / "b", interrupt_at="/s ")
    assert code == 130
    assert screen_of_lines(text) == ["interrupted"]


def test_convert_shows_bytes_while_a_segment_is_written(stored: Path, tmp_path: Path) -> None:
    # Chunks of 1 MB, of which the one segment has seven.
    code, text = shown("convert", stored / "a", tmp_path / "c", "--to", "keepset")
    assert code == 0
    assert len(set(re.findall(r"\d+ elements, (\S+ \S+) written, [^\r]* left", text))) > 1
    last, answer = screen_of_lines(text)
    assert re.fullmatch(r"storing in .*: done, 200 elements, 6\.\d MB in \S+ s", last)
    assert answer == f"200 elements written to {tmp_path / 'c'}"


@pytest.mark.parametrize("name", ["tensorflow", "tfrecord"])
@pytest.mark.parametrize("compression", ["none", "zlib"])
def test_convert_shows_bytes_while_a_file_is_written(
    stored: Path, tmp_path: Path, name: str, compression: str
) -> None:
    target = tmp_path / f"c.{name}"
    how = ["--to", name, "--compression", compression]
    code, text = shown("convert", stored / "a", target, *how)
    assert code == 0, text
    assert len(set(re.findall(r"\d+ elements, (\S+ \S+) written, [^\r]* left", text))) > 1
    size = sum(
        each.stat().st_size for each in [target, *target.rglob("*.snapshot")] if each.is_file()
    )
    said = re.search(r"done, 200 elements, (\S+ \S+) in", text)
    assert said is not None
    assert said[1] == size_text(size)


def test_an_interrupted_conversion_ends_its_line(stored: Path, tmp_path: Path) -> None:
    code, text = shown("convert", stored / "a", tmp_path, "--to", "keepset", interrupt_at=" left")
    assert code == 130
    stopped, last = screen_of_lines(text)
    assert re.search(r": stopped, \d+ elements, ", stopped)
    assert last == "interrupted"


def test_cat_to_a_file_shows_how_far_it_is(stored: Path, tmp_path: Path) -> None:
    with open(tmp_path / "out", "wb") as file:
        code, text = shown("cat", stored / "a", "--limit", 0, "--json", stdout=file)
    assert code == 0
    assert re.search(r"%, \d+ elements, \S+ \S+ written, [^\r]* left", text)
    size = (tmp_path / "out").stat().st_size
    assert f"printing: done, 200 elements, {size / 1e6:.1f} MB in " in text
    assert shown("cat", stored / "a", "--limit", 0, "--json", stdout=subprocess.DEVNULL)[1] == ""


def others_of(name: str, stored: Path, target: Path) -> list[object]:
    """The arguments of a command behind the first dataset."""
    if name == "diff":
        return [stored / "b"]
    return [target / "c", "--to", "keepset"] if name == "convert" else []


@pytest.mark.parametrize("name", ["verify", "diff", "convert"])
def test_the_environment_switches_it_off(stored: Path, tmp_path: Path, name: str) -> None:
    others = others_of(name, stored, tmp_path)
    code, text = shown(name, stored / "a", *others, KEEPSET_PROGRESS="0")
    assert code == 0
    assert "checking" not in text
    assert "comparing" not in text
    assert "\r" not in text.replace("\r\n", "\n")


@pytest.mark.parametrize("name", ["verify", "diff", "convert"])
def test_there_is_none_without_a_terminal(stored: Path, tmp_path: Path, name: str) -> None:
    others = others_of(name, stored, tmp_path)
    done = process(name, stored / "a", *others)
    assert (done.returncode, done.stderr) == (0, "")
