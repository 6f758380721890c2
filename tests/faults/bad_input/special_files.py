"""What is no file, or none with contents, in the place of one."""

from __future__ import annotations

import os
import random
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Final


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _socket(path: Path) -> None:
    here = os.getcwd()
    os.chdir(path.parent)  # the whole path may be too long for a socket
    try:
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(path.name)
    finally:
        os.chdir(here)


def _dangling(path: Path) -> None:
    path.symlink_to(path.parent / "nowhere")


def _circular(path: Path) -> None:
    path.symlink_to(path)


def _ones(path: Path) -> None:
    path.write_bytes(b"\xff" * 1000)


THINGS: Final[dict[str, Callable[[Path], None]]] = {
    "pipe": _pipe,
    "device": _device,
    "socket": _socket,
    "folder": Path.mkdir,
    "dangling link": _dangling,
    "circular link": _circular,
    "empty file": Path.touch,
    "file of ones": _ones,
}


def replace_one(folder: Path, pattern: str, thing: str, choose: random.Random) -> None:
    """Put a thing in the place of one of the files that match."""
    files = sorted(path for path in folder.rglob(pattern) if path.is_file())
    if files:
        file = choose.choice(files)
        file.unlink()
        THINGS[thing](file)
