"""Completion: what a shell proposes for paths, recipes, fingerprints, commands and options."""

from __future__ import annotations

import os
import pty
import select
import shlex
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.shell_completion import get_completion_class
from tests.cli.commands import numbers

from keepset.cli.main import COMMANDS, main


def proposals(*words: str, shell: str = "bash") -> list[str]:
    """The lines that ``keepset`` prints for a shell when the last of these words is completed."""
    if shell == "fish":
        variables = {"COMP_WORDS": shlex.join(["keepset", *words]), "COMP_CWORD": words[-1]}
    else:
        variables = {
            "COMP_WORDS": shlex.join(["keepset", *words[:-1]]) + f" {words[-1]}",
            "COMP_CWORD": str(len(words)),
        }
    found = get_completion_class(shell)
    assert found is not None
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        return found(main, {}, "keepset", "_KEEPSET_COMPLETE").complete().splitlines()


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two snapshots and a saved dataset."""
    folder = tmp_path_factory.mktemp("stored")
    for name in ("abc1", "abd2"):
        list(numbers(3).snapshot(folder / "images", fingerprint=name))
    numbers(3).save(folder / "numbers")
    return folder


def test_commands_and_options() -> None:
    assert proposals("") == [f"plain,{name}" for name in COMMANDS]
    assert proposals("in") == ["plain,inspect"]
    assert proposals("cat", "x", "--li") == ["plain,--limit"]
    assert proposals("convert", "a", "b", "--to", "tf") == ["plain,tfrecord"]


def test_completing_a_command_imports_none(tmp_path: Path) -> None:
    program = (
        "import sys, atexit; from keepset.cli.main import main\n"
        "atexit.register(lambda: print('keepset.cli.ls' in sys.modules, file=sys.stderr))\n"
        "main(prog_name='keepset')"
    )
    variables = {"COMP_WORDS": "keepset l", "COMP_CWORD": "1", "_KEEPSET_COMPLETE": "bash_complete"}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
    )
    assert (done.stdout, done.stderr) == ("plain,ls\n", "False\n")


@pytest.mark.parametrize(
    "words",
    [
        ["ls", "/da"],
        ["cat", "/da"],
        ["cat", "--limit", "3", "/da"],
        ["diff", "/data/a", "/da"],
        ["convert", "/data/a", "/da"],
        ["explain", "/data/a", "/da"],
        ["run", "recipe.yaml", "--to", "/da"],
    ],
)
def test_paths_are_left_to_the_shell(words: list[str]) -> None:
    assert proposals(*words) == ["file,/da"]


def test_a_url_has_no_proposals() -> None:
    assert proposals("ls", "s3", ":", "//buck") == []
    assert proposals("ls", "s3://buck", shell="zsh") == []


@pytest.mark.parametrize("option", ["-f", "--fingerprint"])
@pytest.mark.parametrize("name", ["cat", "inspect", "verify", "rm", "explain"])
def test_fingerprints_of_the_path(stored: Path, name: str, option: str) -> None:
    assert proposals(name, str(stored / "images"), option, "") == ["plain,abc1", "plain,abd2"]


def test_fingerprints_before_below_and_of_a_second_path(stored: Path) -> None:
    assert proposals("cat", str(stored), "-f", "abc") == ["plain,abc1"]
    assert proposals("cat", str(stored), "--fingerprint", "=", "abd") == ["plain,abd2"]
    empty = str(stored / "numbers")
    assert proposals("diff", empty, str(stored / "images"), "-f", "abd") == ["plain,abd2"]
    assert proposals("convert", str(stored / "images"), "x", "-f", "abd") == ["plain,abd2"]


def test_places_that_cannot_be_read_have_no_fingerprints(tmp_path: Path) -> None:
    assert proposals("cat", str(tmp_path / "gone"), "-f", "") == []
    assert proposals("cat", "-f", "") == []
    assert proposals("cat", "s3", ":", "//no-such-bucket/x", "-f", "") == []


def test_recipes(tmp_path: Path) -> None:
    for name in ("a.yaml", "b.json", "c.txt", ".d.yaml"):
        (tmp_path / name).touch()
    (tmp_path / "more").mkdir()
    found = proposals("run", f"{tmp_path}/")
    assert found == [f"plain,{tmp_path}/{name}" for name in ("a.yaml", "b.json", "more/")]
    assert proposals("run", f"{tmp_path}/b") == [f"plain,{tmp_path}/b.json"]
    assert proposals("run", f"{tmp_path}/mo") == [f"dir,{tmp_path}/mo"]
    (tmp_path / "b and c.yaml").touch()
    assert proposals("run", f"{tmp_path}/b") == [f"file,{tmp_path}/b"]


def test_zsh_and_fish_get_the_same(stored: Path) -> None:
    images = str(stored / "images")
    assert proposals("cat", images, "-f", "abc", shell="zsh") == ["plain", "abc1", "_"]
    assert proposals("cat", images, "-f", "abc", shell="fish") == ["plain,abc1"]
    assert proposals("cat", "/da", shell="fish") == ["file,/da"]


class Bash:
    """A terminal with an interactive bash."""

    def __init__(self, terminal: int) -> None:
        self.terminal, self._text = terminal, ""

    def type(self, text: str) -> None:
        os.write(self.terminal, text.encode())

    def await_text(self, text: str) -> None:
        """Wait until the terminal shows a text, behind the last one that was waited for."""
        last = time.monotonic() + 50
        while text not in self._text:
            left = max(last - time.monotonic(), 0)
            assert select.select([self.terminal], [], [], left)[0], self._text
            self._text += os.read(self.terminal, 4096).decode()
        self._text = self._text.partition(text)[2]


@pytest.fixture
def bash(tmp_path: Path) -> Iterator[Bash]:
    """A bash where completion of ``keepset`` is on."""
    command = tmp_path / "bin" / "keepset"
    command.parent.mkdir()
    command.write_text(f"#!{sys.executable}\nfrom keepset.cli.main import main\nmain()\n")
    command.chmod(0o755)
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (25, 500))  # so that no line is scrolled sideways
    variables = {"PATH": f"{command.parent}:{os.environ['PATH']}", "PS1": "> ", "TERM": "dumb"}
    process = subprocess.Popen(
        ["bash", "--norc", "--noprofile", "-i"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=tmp_path,
        env={**os.environ, **variables, "INPUTRC": "/dev/null"},
        start_new_session=True,
    )
    os.close(theirs)
    shell = Bash(ours)
    shell.type('eval "$(_KEEPSET_COMPLETE=bash_source keepset)"; echo rea""dy\n')
    shell.await_text("ready")
    yield shell
    process.kill()
    process.wait(20)
    os.close(ours)


def test_a_real_bash_completes_a_whole_command(bash: Bash, stored: Path) -> None:
    bash.type(f"keepset insp\t{stored}/ima\t")
    bash.await_text("keepset inspect ")
    bash.await_text(f"{stored}/images/")
    bash.type(" --fing\tabc\t")
    bash.await_text("--fingerprint abc1 ")
    bash.type("--json | grep is_complete\n")
    bash.await_text('"is_complete": true')


def test_names_of_codecs() -> None:
    assert proposals("run", "a.yaml", "--compression", "Z") == ["plain,ZSTD"]
    assert proposals("convert", "a", "b", "--compression", "l") == ["plain,LZ4"]
    words = ("convert", "a", "b", "--to", "tfrecord", "--compression", "")
    assert proposals(*words) == ["plain,GZIP", "plain,SNAPPY", "plain,ZLIB"]
