"""Completion: what a shell proposes when the Tab key is pressed.

A shell runs ``keepset`` for each press, so that everything here is cheap, local and silent: a
place that cannot be read has no proposals.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from typing import Final

import click
from click.shell_completion import BashComplete, CompletionItem, add_completion_class

Items = list[CompletionItem]

_RECIPES = (".yaml", ".yml", ".json")
_OF_KEEPSET: Final = ("AUTO", "GZIP", "LZ4", "SNAPPY", "ZSTD")
_OF_KINDS: Final = dict.fromkeys(("tensorflow", "tfrecord"), ("GZIP", "SNAPPY", "ZLIB"))
# How far below a path fingerprints are looked for, and for how long.
_DEEPEST: Final = 3
_LONGEST_S: Final = 0.5
# Bash inserts proposals as they are, so these would need quotes.
_NEEDS_QUOTES = re.compile(r"[^\w@%+=.,/~-]")


def complete_path(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> Items:
    """Files and folders, which the shell finds itself; nothing for a url."""
    return [] if "://" in incomplete else [CompletionItem(incomplete, type="file")]


def complete_recipe(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> Items:
    """Files of YAML or JSON, and folders to find them in."""
    folder, name = os.path.split(incomplete)
    prefix = incomplete[: len(incomplete) - len(name)]
    names, folders = [], []
    for entry in _entries(os.path.expanduser(folder or ".")):
        if not entry.name.startswith(name) or (entry.name.startswith(".") and not name):
            continue
        if _is_folder(entry):
            folders.append(f"{prefix}{entry.name}/")
        elif entry.name.endswith(_RECIPES):
            names.append(prefix + entry.name)
    if not names:
        # The shell puts no space behind the name of a folder that it has found itself.
        return [CompletionItem(incomplete, type="dir")]
    found = sorted(names + folders)
    if any(_NEEDS_QUOTES.search(each) for each in found):
        return [CompletionItem(incomplete, type="file")]
    return [CompletionItem(each) for each in found]


def complete_compression(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> Items:
    """Names of codecs: those that the kind of files has, where it is known."""
    known = _OF_KINDS.get(str(ctx.params.get("to")), _OF_KEEPSET)
    return [CompletionItem(name) for name in known if name.startswith(incomplete.upper())]


def complete_fingerprint(*paths: str) -> Callable[..., Items]:
    """Names of the snapshots at the local paths that these arguments of the command hold."""

    def complete(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> Items:
        # The parser stops at an option without its value, and leaves the arguments where they were.
        given = [ctx.params.get(name) for name in paths]
        places = [path for path in given if path] or ctx.args[: len(paths)]
        until = time.monotonic() + _LONGEST_S
        found = {
            name
            for place in places
            if isinstance(place, str) and "://" not in place
            for name in _snapshots(os.path.expanduser(place), _DEEPEST, until)
            if name.startswith(incomplete)
        }
        return [CompletionItem(name) for name in sorted(found)]

    return complete


def _snapshots(folder: str, depth: int, until: float) -> Iterator[str]:
    """The names of the folders below one that hold a snapshot."""
    for entry in _entries(folder):
        if time.monotonic() > until:
            return
        if not _is_folder(entry):
            continue
        parts = {each.name for each in _entries(entry.path)}
        if {"commits", "segments"} <= parts:  # a log alone is left of one that was removed
            yield entry.name
        elif depth > 1:
            yield from _snapshots(entry.path, depth - 1, until)


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


@add_completion_class
class _Bash(BashComplete):
    """Completion for Bash, to which ``s3://bucket`` is the words ``s3``, ``:`` and ``//bucket``."""

    def get_completion_args(self) -> tuple[list[str], str]:
        args, incomplete = super().get_completion_args()
        words: list[str] = []
        is_joined = False
        for word in [*args, incomplete]:
            if words and (is_joined or word in (":", "=")):
                words[-1] += word
            else:
                words.append(word)
            is_joined = word in (":", "=")
        return words[:-1], words[-1]
