"""A user's pipeline, by where it is written: ``train.py:images`` or ``package.data:images``."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import click

from keepset.dataset import Dataset
from keepset.errors import InvalidArgumentError


def load_pipeline(reference: str) -> Dataset:
    """Import what a reference names: a dataset, or a function without arguments that makes one.

    This runs the code at the top of the file.
    """
    where, _, name = reference.rpartition(":")
    if not where or not name:
        raise click.BadParameter(
            f"{reference!r} is not of the form file.py:name or package.module:name"
        )
    module = _from_file(where) if where.endswith(".py") else _by_name(where)
    if not hasattr(module, name):
        raise click.BadParameter(f"{where} has no {name!r}{_proposal(module)}")
    found = getattr(module, name)
    if callable(found) and not isinstance(found, Dataset):
        with _running(f"{name}() of {where}"):
            found = found()
    if not isinstance(found, Dataset):
        raise click.BadParameter(
            f"{reference!r} is of type {type(found).__name__}; name a Dataset, or a function "
            "without arguments that returns one"
        )
    return found


def _from_file(file: str) -> ModuleType:
    path = Path(file).resolve()
    if not path.is_file():
        raise click.BadParameter(f"{file} does not exist")
    _search_first(str(path.parent))
    # Compiled anew: a cached form may be of the text before the last edit.
    module = ModuleType(path.stem)
    module.__file__ = str(path)
    sys.modules.setdefault(path.stem, module)
    with _running(file):
        exec(compile(path.read_bytes(), str(path), "exec"), module.__dict__)
    return module


def _by_name(name: str) -> ModuleType:
    _search_first(os.getcwd())
    with _running(name):
        return importlib.import_module(name)


def _search_first(folder: str) -> None:
    """Let modules import their neighbours, as they can where Python runs a file of that folder."""
    if folder not in sys.path:
        sys.path.insert(0, folder)


@contextmanager
def _running(what: str) -> Iterator[None]:
    try:
        yield
    except SystemExit as error:
        # What a program does when it is run. Its exit code would be taken for an answer.
        raise InvalidArgumentError(
            f"{what} ended itself with sys.exit({error.code!r:.200}); put what only a run of the "
            'program shall do, such as reading its arguments, under if __name__ == "__main__"'
        ) from error
    except Exception as error:
        raise InvalidArgumentError(
            f"{what} failed with {type(error).__name__}: {error}; add --traceback to see where"
        ) from error


def _proposal(module: ModuleType) -> str:
    names = [name for name, value in vars(module).items() if _may_be_meant(value, module)]
    return f"; there is {', '.join(names)}" if names else ""


def _may_be_meant(value: Any, module: ModuleType) -> bool:
    own_function = callable(value) and getattr(value, "__module__", None) == module.__name__
    return isinstance(value, Dataset) or (own_function and not isinstance(value, type))
