"""Objects that pretend to be of another class count by the class that they have, or are refused."""

from __future__ import annotations

import functools
import types
import unittest.mock
import weakref
from collections import OrderedDict
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from keepset import Dataset
from keepset.core.fingerprint import fingerprint_of_value
from keepset.errors import FingerprintError

Load = Callable[..., ModuleType]

SPECS: Mapping[str, Any] = {
    "array": np.ndarray,
    "dict": dict,
    "dtype": np.dtype,
    "function": lambda x: x,
    "list": list,
    "mapping": OrderedDict,
    "module": types.ModuleType("module"),
    "partial": functools.partial,
    "scalar": np.float64,
    "slice": slice,
    "string": str,
    "tuple": tuple,
    "type": type,
}
USES = {
    "whole": "def f(x): return x + (M is not None)",
    "attribute": "def f(x): return x + M.a",
    "item": "def f(x): return x + M[x]",
    "call": "def f(x): return M(x)",
    "write": "def f(x):\n    M.a = x\n    M[0] = x\n    M.append(x)\n    return x",
}


def function_that_uses(value: Any, use: str) -> Any:
    namespace = {"M": value}
    exec(USES[use], namespace)
    return namespace["f"]


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("kind", [unittest.mock.Mock, unittest.mock.MagicMock])
@pytest.mark.parametrize("spec", SPECS)
def test_mocks_of_builtin_classes(spec: str, kind: type, use: str) -> None:
    fingerprint_of_value(function_that_uses(kind(spec=SPECS[spec]), use))


class Proxy:
    """As lazy proxies are written: ``__class__`` is that of what it stands for."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return type(self._make())

    def __getattr__(self, name: str) -> Any:
        return getattr(object.__getattribute__(self, "_make")(), name)


def broken() -> Any:
    raise KeyError("not configured")


@pytest.mark.parametrize("use", USES)
def test_proxies_count_by_what_makes_what_they_stand_for(use: str) -> None:
    one, same, other = (
        fingerprint_of_value(function_that_uses(Proxy(functools.partial(dict, a=n)), use)).digest
        for n in (1, 1, 2)
    )
    assert one == same
    assert one != other or use == "write"


@pytest.mark.parametrize("use", USES)
def test_proxies_that_cannot_make_it_are_refused_by_name(use: str) -> None:
    with pytest.raises(FingerprintError, match=r"'M' .*KeyError.*ignore=\[\"global M\"\]"):
        fingerprint_of_value(function_that_uses(Proxy(broken), use))


def test_weak_proxies_are_refused_by_name() -> None:
    target = OrderedDict(a=1)
    with pytest.raises(FingerprintError, match="'M'"):
        fingerprint_of_value(function_that_uses(weakref.proxy(target), "whole"))


def test_errors_of_a_class_name_the_variable(load: Load) -> None:
    source = """
        class Odd(dict):
            @property
            def __dict__(self): return 3
            def __keepset_fingerprint__(self): return {}["a"]
        ODD = Odd()
        def f(x): return x + len(ODD)
    """
    with pytest.raises(FingerprintError, match=r"'ODD' .*KeyError"):
        fingerprint_of_value(load(source).f)


def test_a_mock_is_stored_with(tmp_path: Any) -> None:
    function = function_that_uses(unittest.mock.Mock(spec=dict), "whole")
    dataset = Dataset.range(3).map(function).snapshot(str(tmp_path))
    assert [int(x) for x in dataset] == [1, 2, 3]
