"""Long chains, which are deep syntax, count as all other code does, wherever they are asked for."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from keepset import Dataset, explain
from keepset.core.fingerprint import fingerprint_of_value
from keepset.core.fingerprint.syntax import canonical_bytes

Load = Callable[..., ModuleType]


def plus(count: int, last: str) -> str:
    return "def f(x):\n    return " + "x + " * count + last + "\n"


def elif_(count: int, last: str) -> str:
    lines = [f"    elif x == {i}: y = {i}\n" for i in range(1, count)]
    return f"def f(x):\n    if x == 0: y = 0\n{''.join(lines)}    else: y = {last}\n    return y\n"


def writes(count: int, last: str) -> str:
    lines = [f"    elif x == {i}: y = {i}\n" for i in range(1, count)]
    end = f"    else:\n        N += {last}\n        y = N\n    return y\n"
    return f"N = 0\ndef f(x):\n    global N\n    if x == 0: y = 0\n{''.join(lines)}{end}"


CHAINS = [plus, elif_, writes]


def deeper(levels: int, find: Callable[[], Any]) -> Any:
    return find() if levels == 0 else deeper(levels - 1, find)


@pytest.mark.parametrize("count", [80, 240, 350, 800])
@pytest.mark.parametrize("chain", CHAINS)
def test_long_chains_count(chain: Callable[[int, str], str], count: int, load: Load) -> None:
    one, same, other = (
        fingerprint_of_value(load(chain(count, last)).f).digest for last in ("1", "1", "2")
    )
    assert one == same
    assert one != other


@pytest.mark.parametrize("count", [5, 80, 240, 350])
@pytest.mark.parametrize("chain", CHAINS)
def test_it_does_not_matter_how_deep_the_caller_stands(
    chain: Callable[[int, str], str], count: int, load: Load
) -> None:
    flat = fingerprint_of_value(load(chain(count, "1")).f)
    for levels in (200, 500):
        find = functools.partial(fingerprint_of_value, load(chain(count, "1")).f)
        assert deeper(levels, find) == flat


def test_a_long_chain_is_stored(load: Load, tmp_path: Any) -> None:
    dataset = Dataset.range(5).map(load(elif_(350, "1")).f)
    assert [int(x) for x in dataset.snapshot(str(tmp_path))] == [0, 1, 2, 3, 4]
    assert explain(dataset, str(tmp_path)).hit


def test_sources_of_long_chains_hide_secrets(load: Load) -> None:
    source = plus(350, "len('aws_secret=Zx9Qk3LmP7vT2wRb8NcY')")
    facts = fingerprint_of_value(load(source).f)
    assert "Zx9Qk3LmP7vT2wRb8NcY" not in repr(facts)


def test_the_canonical_form_does_not_change() -> None:
    source = '''
def f(a: int, *, b: str = "x") -> int:
    """Docstring."""
    n: int
    m: float = 2.0
    class Inner:
        field: int = 3
        def go(self, z: int) -> int:
            "text"
    @decorated
    def g(y: int) -> int:
        "kept"
        return y
    return lambda: a + b
'''
    node = ast.parse(source).body[0]
    assert isinstance(node, ast.FunctionDef)
    before = ast.dump(node, include_attributes=True)
    found = canonical_bytes(node)
    assert ast.dump(node, include_attributes=True) == before
    assert found.count(b"annotation") == 3
    assert found.count(b"returns") == 1
    assert b"Docstring" not in found
    assert b"text" not in found
    assert b"kept" in found
