"""Dataflow: what becomes of values in a function takes time by its length, and not by its depth."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any
from unittest import mock

import pytest

from keepset.core.fingerprint import dataflow, fingerprint_of_value, plain_results

Load = Callable[..., ModuleType]

CHAINS: dict[str, Callable[[int], str]] = {
    "methods": lambda n: "str(x)" + ".strip()" * n,
    "methods with arguments": lambda n: "str(x)" + "".join(
        f".replace('{i}', 'a')" for i in range(n)
    ),
    "calls": lambda n: "str(" * n + "x" + ")" * n,
    "items": lambda n: "x" + "[0]" * n,
    "sums": lambda n: " + ".join(["x"] * n),
}  # fmt: skip


@pytest.mark.parametrize("chain", CHAINS.values(), ids=CHAINS)
def test_a_chain_takes_time_by_its_length(load: Load, chain: Callable[[int], str]) -> None:
    def steps(length: int) -> int:
        count = 0
        real = dataflow._Analysis._eval

        def counted(*arguments: Any) -> Any:
            nonlocal count
            count += 1
            return real(*arguments)

        function = load(f"def f(x): return {chain(length)}").f
        with mock.patch.object(dataflow._Analysis, "_eval", counted):
            fingerprint_of_value(function)
        return count

    assert steps(40) <= 6 * steps(10)


def assignments(length: int) -> str:
    """A function in which each name is used twice in the value of the next one."""
    lines = [f"    v{i + 1} = v{i} * v{i} + {i}\n" for i in range(length)]
    return f"def f(v0):\n{''.join(lines)}    return v{length}\n"


def test_a_chain_of_names_takes_time_by_its_length(load: Load) -> None:
    def steps(length: int) -> int:
        count = 0
        real = plain_results._Plain._is_plain

        def counted(*arguments: Any) -> Any:
            nonlocal count
            count += 1
            return real(*arguments)

        function = load(assignments(length)).f
        with mock.patch.object(plain_results._Plain, "_is_plain", counted):
            fingerprint_of_value(function)
        return count

    assert 0 < steps(16) <= 6 * steps(4)
