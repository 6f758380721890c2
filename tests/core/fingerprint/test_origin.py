"""What is the user's own code, and what is a library's."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import pytest

import keepset
from keepset.core.fingerprint import fingerprint_of_value
from keepset.core.fingerprint.origin import (
    is_library_class,
    is_library_function,
    is_library_module,
    is_library_name,
    library_version,
)
from keepset.core.spec import TensorSpec

Load = Callable[..., ModuleType]


def imported(folder: Path, name: str, source: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.py").write_text(source)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, name, raising=False)
    return __import__(name)


def test_modules_of_python_packages_and_keepset_are_libraries() -> None:
    for module in (sys, functools, np, np.linalg, pytest, keepset):
        assert is_library_module(module), module
    assert not is_library_module(sys.modules[__name__])
    assert is_library_name("mailbox")
    assert not is_library_name("no_such_module_here")


def test_functions_and_classes_belong_to_where_they_were_written() -> None:
    class Mine:
        pass

    def wrapped() -> None: ...

    functools.update_wrapper(wrapped, np.sort)

    # What functools.wraps copies does not make it NumPy's.
    assert wrapped.__module__ == "numpy"
    assert not is_library_function(wrapped)  # type: ignore[arg-type]
    assert not is_library_class(Mine)
    for kind in (int, np.ndarray, TensorSpec, Path):
        assert is_library_class(kind)
    for function in (functools.wraps, np.broadcast_shapes, keepset.set_seed):
        assert isinstance(function, FunctionType)
        assert is_library_function(function)


def test_a_user_s_module_may_have_the_name_of_one_of_python_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digests = {
        fingerprint_of_value(
            imported(tmp_path / str(n), "this", f"def f(x): return {n}", monkeypatch).f
        ).digest
        for n in (1, 2)
    }
    assert len(digests) == 2


def test_what_an_installer_put_into_a_folder_is_a_library_and_what_lies_next_to_it_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = tmp_path / "lib_a-1.0.dist-info" / "RECORD"
    record.parent.mkdir()
    record.write_text("lib_a.py,sha256=abc,10\nlib_a-1.0.dist-info/RECORD,,\n")
    installed = imported(tmp_path, "lib_a", "def f(x): return 1", monkeypatch)
    handler = imported(tmp_path, "handler_b", "def f(x): return 1", monkeypatch)
    assert is_library_function(installed.f)
    assert not is_library_function(handler.f)


def test_site_packages_of_any_environment_are_libraries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / ".venv" / "lib" / "site-packages"
    installed = imported(folder, "lib_c", "def f(x): return 1", monkeypatch)
    assert is_library_function(installed.f)


def test_versions_are_found() -> None:
    assert library_version("numpy") == ("numpy", np.__version__)
    assert library_version("functools") == library_version("builtins")
    assert library_version("no_such_library_here") == ("no_such_library_here", "unknown")
