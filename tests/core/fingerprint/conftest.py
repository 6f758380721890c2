"""Modules of a user, written for one test."""

from __future__ import annotations

import importlib.util
import itertools
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from keepset.core.fingerprint import fingerprint_of_value

_numbers = itertools.count()


@pytest.fixture
def load(tmp_path: Path) -> Iterator[Callable[..., ModuleType]]:
    """Write a module into a folder of its own and import it."""
    loaded: set[str] = set()

    def load(source: str, name: str = "job") -> ModuleType:
        path = tmp_path / f"folder{next(_numbers)}" / f"{name}.py"
        path.parent.mkdir()
        path.write_text(textwrap.dedent(source))
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        loaded.add(name)
        spec.loader.exec_module(module)
        return module

    yield load
    for name in loaded:
        del sys.modules[name]


@pytest.fixture
def digest(load: Callable[..., ModuleType]) -> Callable[[str], str]:
    """The fingerprint of what a module calls ``f``."""
    return lambda source: fingerprint_of_value(load(source).f).digest


@pytest.fixture
def install(tmp_path: Path) -> Iterator[Callable[[str, str], ModuleType]]:
    """Import a module as one of a library."""
    names: set[str] = set()

    def install(name: str, source: str) -> ModuleType:
        path = tmp_path / "site-packages" / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(textwrap.dedent(source))
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        names.add(name)
        spec.loader.exec_module(module)
        return module

    yield install
    for name in names:
        del sys.modules[name]
