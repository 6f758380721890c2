"""What a terminal shows while something is saved."""

from __future__ import annotations

import builtins
import os
import pty
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import keepset as ks
from keepset.core.size_text import size_text
from keepset.snapshot import beginning
from keepset.snapshot.writing import progress
from keepset.snapshot.writing.progress import time_text

SAVE = textwrap.dedent(
    """
    import sys, time
    import numpy as np
    import keepset as ks
    from keepset.snapshot.writing import progress

    progress._INTERVAL_S = 0.01

    def slow(x):
        time.sleep(0.002)
        return np.full(4096, x)

    settings = eval(sys.argv[2])
    ds = ks.Dataset.range(200).map(slow)
    if settings.pop("counted", True) is False:
        ds = ds.filter(lambda x: True)
    action = settings.pop("action", "save")
    settings = {"chunk_bytes": 65536, "segment_bytes": 262144, **settings}
    if action == "save":
        ds.save(sys.argv[1], **settings)
    else:
        from keepset.snapshot import beginning

        beginning._SHOWN_AFTER_S = settings.pop("after_s", 0.05)
        count = settings.pop("count", 200)
        assert len(list(ds.snapshot(sys.argv[1], fingerprint="f", **settings).take(count))) == count
    """
)


def on_a_terminal(path: Path | str, settings: str, columns: int = 100) -> str:
    """What a terminal of so many columns gets."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", SAVE, str(path), settings],
        stderr=follower,
        env={**os.environ, "COLUMNS": str(columns)},
    )
    os.close(follower)
    shown = b""
    while True:
        try:
            piece = os.read(leader, 4096)
        except OSError:  # how a terminal says that nobody is left
            break
        if not piece:
            break
        shown += piece
    os.close(leader)
    assert process.wait() == 0
    return shown.decode()


def lines_of(shown: str) -> list[str]:
    return [line for line in re.split(r"[\r\n]+", shown.replace("\x1b[K", "")) if line]


def test_a_terminal_shows_a_bar_with_durable_bytes_rate_and_time_left(tmp_path: Path) -> None:
    *lines, last = lines_of(on_a_terminal(tmp_path / "kept", "{}"))
    pattern = r".*: [█░]+ +(\d+)%, [\d,]+ elements, (\S+ \S+) written, \S+ \S+/s, .* left"
    found = [re.fullmatch(pattern, line) for line in lines]
    assert len(found) > 3
    assert all(found), lines
    shares = [int(each[1]) for each in found if each]
    assert shares == sorted(shares)
    assert len({each[2] for each in found if each}) > 1, "bytes were never counted"
    assert re.fullmatch(r".*: done, 200 elements, 6\.\d MB in \S+ s", last)
    stored = sum(f.stat().st_size for f in (tmp_path / "kept" / "segments").iterdir())
    told = re.search(r"elements, (\S+ MB)", last)
    assert told
    assert told[1] == size_text(stored)


def test_without_a_known_number_elements_are_counted(tmp_path: Path) -> None:
    *lines, last = lines_of(on_a_terminal(tmp_path / "kept", "{'counted': False}"))
    assert lines
    assert all(re.fullmatch(r".*: [\d,]+ elements, .* written, .*/s", line) for line in lines), (
        lines
    )
    assert "done, 200 elements" in last


def test_bytes_move_while_one_segment_is_written(tmp_path: Path) -> None:
    lines = lines_of(on_a_terminal(tmp_path / "kept", "{'segment_bytes': 1 << 30}"))
    assert len(set(re.findall(r"\S+ \S+ written", "\n".join(lines)))) > 3


def test_bytes_move_on_their_way_to_an_object_store(s3_url: str) -> None:
    *lines, last = lines_of(on_a_terminal(s3_url, "{'segment_bytes': 1 << 30}"))
    assert len(set(re.findall(r"\S+ \S+ written", "\n".join(lines)))) > 3
    assert re.search(r"done, 200 elements, 6\.\d MB", last)


def test_a_first_pass_shows_the_same_and_a_replay_nothing(tmp_path: Path) -> None:
    stopped = lines_of(on_a_terminal(tmp_path, "{'action': 'snapshot', 'count': 120}"))
    assert re.search(r"storing in .*: stopped, \d+ elements", stopped[-1])
    *lines, last = lines_of(on_a_terminal(tmp_path, "{'action': 'snapshot'}"))
    shares = [int(share) for share in re.findall(r"(\d+)%", "\n".join(lines))]
    assert shares == sorted(shares)
    assert shares[0] >= 60, "it goes on where it stopped"
    assert re.fullmatch(r".*storing in .*: done, 200 elements, .* in \S+ s", last)
    assert on_a_terminal(tmp_path, "{'action': 'snapshot'}") == ""


def test_a_short_first_pass_shows_nothing(tmp_path: Path) -> None:
    assert on_a_terminal(tmp_path, "{'action': 'snapshot', 'count': 3, 'after_s': 60}") == ""


def test_the_environment_and_notebooks_decide(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class ZMQInteractiveShell:
        """Stands for the shell of a notebook, which IPython offers everywhere."""

    ds = ks.Dataset.range(3)
    monkeypatch.setattr(builtins, "get_ipython", ZMQInteractiveShell, raising=False)
    ds.save(tmp_path / "notebook")
    assert "done, 3 elements" in capsys.readouterr().err
    monkeypatch.setenv("KEEPSET_PROGRESS", "0")
    ds.save(tmp_path / "off")
    assert capsys.readouterr().err == ""
    monkeypatch.delattr(builtins, "get_ipython")
    monkeypatch.setenv("KEEPSET_PROGRESS", "1")
    ds.save(tmp_path / "on")
    assert "done, 3 elements" in capsys.readouterr().err


def test_shells_that_are_made_of_a_notebooks_are_notebooks_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class ZMQInteractiveShell:
        """As IPython's own."""

    class Shell(ZMQInteractiveShell):
        """As Colab's."""

    monkeypatch.setattr(beginning, "_SHOWN_AFTER_S", 0.0)
    monkeypatch.setattr(builtins, "get_ipython", Shell, raising=False)
    ds = ks.Dataset.range(3)
    ds.save(tmp_path / "saved")
    assert "done, 3 elements" in capsys.readouterr().err
    list(ds.snapshot(tmp_path / "stored"))
    assert "done, 3 elements" in capsys.readouterr().err


def test_no_line_is_longer_than_the_terminal(tmp_path: Path) -> None:
    for columns in (20, 48, 80):
        path = tmp_path / ("long" * 20) / str(columns)
        lines = lines_of(on_a_terminal(path, "{}", columns))
        assert lines
        assert all(len(line) < columns for line in lines), lines


def test_it_is_silent_where_nobody_looks_or_wants_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert on_a_terminal(tmp_path / "unwanted", "{'progress': False}") == ""
    ds = ks.Dataset.range(3)
    ds.save(tmp_path / "no-terminal")
    assert capsys.readouterr() == ("", "")
    ks.save(ds, tmp_path / "wanted", progress=True)
    assert "done, 3 elements" in capsys.readouterr().err


def test_a_save_that_fails_says_stopped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def fail(x: np.int64) -> np.int64:
        raise OSError("no such thing")

    with pytest.raises(OSError, match="no such thing"):
        ks.Dataset.range(3).map(fail).save(tmp_path, progress=True)
    assert "stopped, 0 elements" in capsys.readouterr().err


@given(st.text("ab/", max_size=80), st.floats(0, 1) | st.none(), st.integers(1, 200))
def test_any_line_fits(title: str, share: float | None, columns: int) -> None:
    line = progress._line(title, "12%, 3.4 MB kept", share, columns)
    assert len(line) <= columns
    if columns > 30:
        assert line.endswith("12%, 3.4 MB kept")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0.0 s"), (9.94, "9.9 s"), (42.4, "42 s"), (200, "3 min 20 s"), (7500, "2 h 5 min")],
)
def test_durations_for_people(seconds: float, text: str) -> None:
    assert time_text(seconds) == text


def test_a_terminal_that_is_gone_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Gone:
        def isatty(self) -> bool:
            return True

        def write(self, text: str) -> None:
            raise OSError(5, "gone")

    closed = open(tmp_path / "log", "w")  # noqa: SIM115
    closed.close()
    for number, stream in enumerate((None, closed, Gone())):
        monkeypatch.setattr(sys, "stderr", stream)
        ks.Dataset.range(3).save(tmp_path / str(number), progress=True if number else None)
        assert len(list(ks.Dataset.range(9).snapshot(tmp_path / f"s{number}"))) == 9
