"""The group of commands: help that teaches, exit codes, and errors without a traceback."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import click
import pytest
from tests.cli.commands import answer, answer_json, complaint, keepset, numbers, process

import keepset as ks
from keepset.cli import ls
from keepset.cli.main import COMMANDS, main
from keepset.core.version import __version__


def test_the_help_lists_all_commands_and_the_exit_codes() -> None:
    text = answer("--help")
    for name, summary in COMMANDS.items():
        assert re.search(rf"^  {name} +{re.escape(summary)}$", text, re.MULTILINE), name
    for code in ("0", "1", "2", "3", "130", "141"):
        assert re.search(rf"^    {code} +\w", text, re.MULTILINE), code
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_says_the_same_and_has_examples(name: str) -> None:
    text = answer(name, "--help")
    assert COMMANDS[name] in text
    assert f"\n    keepset {name}" in text
    assert "--json" in text
    assert max(map(len, text.splitlines())) <= 80


def test_there_is_a_command_for_every_file_that_has_one() -> None:
    files = Path(main.get_command.__code__.co_filename).parent.glob("*.py")
    assert {f.stem for f in files if "@click.command(" in f.read_text()} == set(COMMANDS)


def test_the_version() -> None:
    assert answer("--version") == f"keepset {__version__}\n"


def test_help_waits_for_no_table_and_no_object_store() -> None:
    program = (
        "import sys, json; sys.argv[1:] = ['--help']\n"
        "from keepset.cli.main import main\n"
        "try: main()\n"
        "finally: print(json.dumps([*sys.modules]), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    modules = json.loads(done.stderr)
    assert done.stdout.startswith("Usage: ")
    assert [name for name in ("rich", "obstore", "keepset.cli.ls") if name in modules] == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["lss"], "No such command 'lss'"),
        (["ls"], "Missing argument 'PATH'"),
        (["cat", "x", "--limit", "-1"], "-1 is not in the range"),
        (["ls", "x", "-o", "region"], "'region' is not of the form KEY=VALUE"),
        (["ls", "x", "-o", "client_options={"], "looks like JSON but is not"),
        (["ls", "ftp://x"], "unknown scheme"),
        (["gc", "x", "--max-bytes", "lots"], "'lots' is not a size; write it as in 500MB"),
        (["gc", "x", "--grace", "1y"], "'1y' is not a duration; write it as in 30s"),
    ],
)
def test_a_wrong_command_line_ends_with_2(arguments: list[str], words: str) -> None:
    assert words in complaint(*arguments, code=2)


def test_a_local_path_takes_no_options(tmp_path: Path) -> None:
    assert "takes no options" in complaint("ls", tmp_path, "-o", "region=x", code=2)


@pytest.mark.parametrize("name", ["ls", "inspect", "cat", "verify", "gc", "rm", "explain"])
def test_a_path_that_is_missing_ends_with_3(tmp_path: Path, name: str) -> None:
    text = complaint(name, tmp_path / "gone")
    assert text == (
        f"error: {tmp_path}/gone does not exist; name the folder that was given to save() or "
        "snapshot()\n"
    )
    (tmp_path / "file").touch()
    assert "is a file;" in complaint(name, tmp_path / "file")


@pytest.mark.parametrize("name", ["inspect", "cat", "verify", "rm", "explain"])
def test_a_path_without_snapshots_ends_with_3(tmp_path: Path, name: str) -> None:
    (tmp_path / "commits").mkdir()
    (tmp_path / "commits" / "notes.txt").write_text("not ours")
    assert complaint(name, tmp_path).startswith(f"error: nothing is kept at {tmp_path}")


def test_a_log_that_cannot_be_read_ends_with_3(tmp_path: Path) -> None:
    numbers().save(tmp_path)
    (tmp_path / "commits" / "00000000.json").write_text("{}")
    text = complaint("inspect", tmp_path)
    assert text.startswith("error: ")
    assert "is damaged" in text
    assert "Traceback" not in text


@pytest.mark.parametrize("before", [True, False])
def test_a_traceback_is_shown_on_request(tmp_path: Path, before: bool) -> None:
    rest = ["inspect", str(tmp_path)]
    text = complaint(*(["--traceback", *rest] if before else [*rest, "--traceback"]))
    assert "Traceback (most recent call last)" in text
    assert "SnapshotMissingError: nothing is kept" in text


def test_several_snapshots_are_told_apart_by_their_first_digits(tmp_path: Path) -> None:
    for scale in (1, 2):
        list(numbers(scale=scale).snapshot(tmp_path))
    first, second = sorted(folder.name for folder in tmp_path.iterdir())
    text = complaint("cat", tmp_path, code=2)
    assert f"holds 2 snapshots: {first[:12]}, {second[:12]};" in text
    assert "--fingerprint PREFIX" in text
    assert complaint("cat", tmp_path, "-f", "", code=2).endswith("give more of its digits\n")
    assert "begins with 'zz'; there is" in complaint("cat", tmp_path, "-f", "zz")
    assert answer("cat", tmp_path, "-f", first[:8]) == answer("cat", tmp_path / first)


def test_a_whole_name_is_not_the_beginning_of_another(tmp_path: Path) -> None:
    for name in ("v1", "v10"):
        list(numbers(3).snapshot(tmp_path, fingerprint=name))
    assert answer("cat", tmp_path, "-f", "v1") == answer("cat", tmp_path / "v1")


def test_fingerprints_that_differ_in_their_files_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for content in ("1", "2"):
        Path("file.txt").write_text(content)
        list(ks.Dataset.list_files("file.txt", shuffle=False).snapshot("kept"))
    names = sorted(folder.name for folder in Path("kept").iterdir())
    assert len(names) == 2
    assert names[0][:33] == names[1][:33]
    short = f"{names[0][:12]}-{names[0][33:37]}"
    assert short in keepset("ls", "kept", columns=70).stdout
    assert answer_json("inspect", "kept", "-f", short)["fingerprint"] == names[0]
    assert "files" in answer("explain", "kept")


def test_a_snapshot_two_folders_down_is_found(tmp_path: Path) -> None:
    list(numbers(3).snapshot(tmp_path / "train" / "images"))
    assert answer("cat", tmp_path) == answer("cat", tmp_path / "train" / "images")


def test_python_m_keepset_is_the_command_line(tmp_path: Path) -> None:
    numbers(3).save(tmp_path / "a")
    done = process("ls", tmp_path)
    assert done.returncode == 0
    assert done.stderr == ""
    assert "complete" in done.stdout
    assert "\x1b" not in done.stdout
    assert process("cat", tmp_path / "b").returncode == 3


def test_a_reader_that_goes_away_is_not_worth_a_word(tmp_path: Path) -> None:
    numbers(20_000).save(tmp_path)
    command = [sys.executable, "-m", "keepset", "cat", str(tmp_path), "--limit", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as cat:
        assert cat.stdout is not None
        assert cat.stderr is not None
        assert cat.stdout.readline().startswith(b"    0  v")
        cat.stdout.close()
        assert cat.wait(60) == 141
        assert cat.stderr.read() == b""


def test_an_interrupted_command_ends_with_130(tmp_path: Path) -> None:
    pipeline = tmp_path / "slow.py"
    pipeline.write_text(
        "import pathlib, time\npathlib.Path(__file__ + '.began').touch()\ntime.sleep(60)\n"
    )
    command = [sys.executable, "-m", "keepset", "explain", str(tmp_path), f"{pipeline}:ds"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as slow:
        assert slow.stderr is not None
        while not Path(f"{pipeline}.began").exists():
            time.sleep(0.05)
        slow.send_signal(signal.SIGINT)
        assert slow.wait(60) == 130
        assert slow.stderr.read() == "interrupted\n"


# The library itself imports NumPy, and the command line Click.
@pytest.mark.parametrize(
    ("imported", "is_ignored"), [("numpy", False), ("click", False), ("click", True)]
)
def test_a_command_interrupted_while_it_imports_ends_with_130(
    tmp_path: Path, imported: str, is_ignored: bool
) -> None:
    """Unless what started it has it ignore interrupts, as for a job in the background."""
    began = tmp_path / "began"
    (tmp_path / f"{imported}.py").write_text(
        f"import pathlib, time\npathlib.Path({str(began)!r}).touch()\n"
        f"time.sleep({1 if is_ignored else 60})\nraise SystemExit(7)\n"
    )
    command = [sys.executable, "-c", installed_command(), "ls", str(tmp_path)]
    paths = [str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    before = signal.signal(signal.SIGINT, signal.SIG_IGN) if is_ignored else None
    try:
        slow = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
    finally:
        if before is not None:
            signal.signal(signal.SIGINT, before)
    with slow:
        assert slow.stderr is not None
        while not began.exists():
            time.sleep(0.05)
        slow.send_signal(signal.SIGINT)
        assert slow.wait(60) == (7 if is_ignored else 130)
        assert slow.stderr.read() == ("" if is_ignored else "interrupted\n")


def installed_command() -> str:
    """What pip writes into the script ``keepset``."""
    project = Path(__file__).parents[2] / "pyproject.toml"
    named = tomllib.loads(project.read_text())["project"]["scripts"]["keepset"]
    module, _, function = named.partition(":")
    return f"import sys; from {module} import {function}; sys.exit({function}())"


def test_the_installed_command_is_the_same() -> None:
    command = [sys.executable, "-c", installed_command(), "--version"]
    done = subprocess.run(command, capture_output=True)
    assert done.stdout.decode() == answer("--version")


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_stream_that_is_closed_gets_nothing(tmp_path: Path, closed: str) -> None:
    numbers(3).save(tmp_path / "a")
    for path, code in ((tmp_path / "a", 0), (tmp_path / "b", 3)):
        command = shlex.join([sys.executable, "-m", "keepset", "inspect", str(path)])
        done = subprocess.run(f"{command} {closed}", shell=True, capture_output=True, text=True)
        assert done.returncode == code
        assert "Traceback" not in done.stderr
        assert done.stderr.startswith("error: ") == (code == 3 and closed == ">&-")


@pytest.mark.skipif(os.getuid() == 0, reason="root may read everything")
def test_a_folder_that_may_not_be_read_ends_with_3(tmp_path: Path) -> None:
    numbers(3).save(tmp_path / "a")
    (tmp_path / "a").chmod(0)
    try:
        assert "Permission denied" in complaint("inspect", tmp_path / "a")
    finally:
        (tmp_path / "a").chmod(0o700)


def test_an_error_of_ours_that_nobody_foresaw_shows_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("keepset.cli.ls.list_snapshots", lambda _: 1 / 0)
    text = complaint("ls", tmp_path)
    assert "Traceback" in text
    assert "ZeroDivisionError" in text


def test_names_that_a_terminal_would_obey_are_spelled_out(tmp_path: Path) -> None:
    numbers(3).save(tmp_path / "red\x1b[31m [bold]x[/bold]")
    assert "red\\x1b[31m [bold]x[/bold]" in answer("ls", tmp_path)


def test_a_stream_that_knows_only_ascii_is_enough(tmp_path: Path) -> None:
    numbers(3).save(tmp_path / "größe")
    command = [sys.executable, "-m", "keepset", "ls", str(tmp_path)]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, capture_output=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert rb"gr\xf6\xdfe" in done.stdout


def test_options_reach_the_object_store(s3_endpoint: str, s3_url: str) -> None:
    options = {
        "endpoint": s3_endpoint,
        "access_key_id": "id",
        "secret_access_key": "secret",
        "region": "us-east-1",
        "allow_http": "true",
    }
    numbers(3).save(f"{s3_url}/a")
    given = [part for key, value in options.items() for part in ("-o", f"{key}={value}")]
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            patch.delenv(name)
        assert "complete" in answer("ls", s3_url, *given)
        assert answer("cat", s3_url, *given).startswith("0  v  float32[7]")
        assert keepset("ls", f"{s3_url}/nothing", *given).exit_code == 1


@pytest.mark.parametrize("error", [KeyboardInterrupt, ks.KeepsetError])
def test_a_second_interrupt_while_the_first_is_handled_has_the_same_exit_code(
    error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise error

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(ls, "command", click.Command("ls", callback=stop))
    monkeypatch.setattr(click, "echo", interrupted)
    assert keepset("ls").exit_code == 130
