"""The recorder against the system: strace sees the same calls in the same order."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = Path(__file__).with_name("traced_program.py")
STRACE = shutil.which("strace")

# Everything that changes a file or a folder. What the recorder has no word for keeps its own name,
# and so differs from the recording.
CHANGES = {
    "write": "write", "writev": "write", "fsync": "sync", "fdatasync": "sync", "link": "link",
    "linkat": "link", "unlink": "unlink", "unlinkat": "unlink", "rename": "replace",
    "renameat": "replace", "renameat2": "replace", "mkdir": "mkdir", "mkdirat": "mkdir",
    "rmdir": "rmdir",
}  # fmt: skip
OTHERS = (
    "openat", "open", "creat", "pwrite64", "pwritev", "pwritev2", "truncate", "ftruncate",
    "fallocate", "copy_file_range", "sendfile", "splice", "symlink", "symlinkat", "mknod",
    "mknodat", "chmod", "fchmod", "fchmodat", "utimensat", "setxattr", "fsetxattr", "syncfs",
)  # fmt: skip
LINE = re.compile(r"(?P<time>[\d.]+) (?P<name>\w+)\((?P<arguments>.*)\) += (?P<result>-?\d+)")


def traced(files: list[Path], folder: str) -> Iterator[tuple[str, str, str, int]]:
    """The calls below a folder that changed something, in the order in which they began."""
    lines = []
    for file in files:  # one of each thread, so that no line is in two pieces
        for line in file.read_text(errors="replace").splitlines():
            match = LINE.match(line)
            if match and not match["result"].startswith("-"):
                lines.append((float(match["time"]), match))
    for _, match in sorted(lines, key=lambda pair: pair[0]):
        found = _call(match, folder)
        if found is not None:
            yield found


def _call(match: re.Match[str], folder: str) -> tuple[str, str, str, int] | None:
    name, arguments = match["name"], match["arguments"]
    kind = CHANGES.get(name, name)
    # Descriptors come with their paths in angle brackets, other paths in quotes.
    if kind in ("write", "sync") or name.startswith("f"):
        quoted = re.findall(r"^\d+<([^>]*)>", arguments)
    else:
        quoted = re.findall(r'"([^"]*)"', arguments)
    paths = [path.removeprefix(folder).strip("/") for path in quoted if _is_in(path, folder)]
    if not paths or (name in ("open", "openat") and not _changes(arguments)):
        return None
    if name in ("open", "openat"):
        kind = "create" if "O_CREAT|O_EXCL" in arguments else "change"
    if kind == "unlink" and "AT_REMOVEDIR" in arguments:
        kind = "rmdir"
    size = int(match["result"]) if kind == "write" else 0
    return kind, paths[0], paths[1] if len(paths) > 1 else "", size


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


def _changes(arguments: str) -> bool:
    return any(flag in arguments for flag in ("O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC"))


@pytest.mark.slow
@pytest.mark.skipif(STRACE is None, reason="there is no strace")
def test_the_recorder_misses_no_call(tmp_path: Path) -> None:
    assert STRACE is not None
    folder = tmp_path / "folder"
    folder.mkdir()
    calls = ",".join(f"?{name}" for name in (*CHANGES, *OTHERS))
    trace = [
        STRACE,
        "-ff",
        "-ttt",
        "-y",
        "-s",
        "0",
        "-e",
        f"trace={calls}",
        "-o",
        str(tmp_path / "t"),
    ]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    program = [sys.executable, str(PROGRAM), str(folder)]
    subprocess.run([*program, "prepare"], env=environment, check=True)
    done = subprocess.run(
        [*trace, *program], env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    wanted = []
    for line in done.stdout.splitlines():
        kind, path, target, size = line.split("\t")
        wanted.append(("sync" if kind.startswith("sync") else kind, path, target, int(size)))
    found = list(traced(sorted(tmp_path.glob("t.*")), os.path.realpath(folder)))
    assert len(wanted) > 100
    assert found == wanted
