"""A name that is bound in several ways: everything that it may stand for counts."""

# ruff: noqa: E501 - small programs are compared by eye more easily on one line each

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest

from keepset.core.fingerprint import fingerprint_of_value

Load = Callable[..., ModuleType]

# Programs in which one name may be that of `fast` or that of `slow`.
BOTH = {
    "fallback": "def f(x):\n    try: from fast import go\n    except ImportError: from slow import go\n    return go(x)",
    "branches": "def f(x):\n    if x: from fast import go\n    else: from slow import go\n    return go(x)",
    "modules": "def f(x):\n    if x: import fast as m\n    else: import slow as m\n    return m.go(x)",
    "names under another one": "def f(x):\n    if x: from fast import go as g\n    else: from slow import go as g\n    return g(x)",
    "one after the other": "def f(x):\n    from fast import go\n    y = go(x)\n    from slow import go\n    return go(y)",
    "imported inside and global": "from slow import go\ndef f(x):\n    def inner():\n        from fast import go\n        return go(x)\n    return inner() + go(x)",
    "global that is imported inside": "from slow import go\ndef g(x):\n    global go\n    from fast import go\n    return go(x)\ndef f(x): return go(x) + g(x)",
    "nested functions": "def f(x):\n    def a():\n        from fast import go\n        return go(x)\n    def b():\n        from slow import go\n        return go(x)\n    return a() + b()",
    "nested class": "def f(x):\n    class A:\n        from fast import go\n        def go2(self):\n            from slow import go\n            return go(x)\n    return A",
    "captured": "def make():\n    from fast import go\n    def f(x):\n        def inner():\n            from slow import go\n            return go(x)\n        return go(x) + inner()\n    return f\nf = make()",
    "branches of the module": "import sys\nif sys: from fast import go\nelse: from slow import go\nfrom slow import go as other\ndef f(x): return go(x) + other(x)",
    "star import": "from fast import *\nfrom slow import go as other\ndef f(x): return go(x) + other(x)",
    "defined in branches": "import fast, slow\nif fast:\n    def go(x): return fast.go(x)\nelse:\n    def go(x): return slow.go(x)\ndef f(x): return go(x) + slow.go(x)",
}


@pytest.mark.parametrize("source", BOTH.values(), ids=BOTH)
def test_each_binding_counts(load: Load, source: str) -> None:
    def digest(fast: int, slow: int) -> str:
        load(f"def go(x): return {fast}", "fast")
        load(f"def go(x): return {slow}", "slow")
        return fingerprint_of_value(load(source).f).digest

    digests = [digest(1, 2), digest(3, 2), digest(1, 3), digest(2, 1)]
    assert len(set(digests)) == 4
    assert digest(1, 2) == digests[0]


def test_a_local_variable_of_a_global_s_name_does_not_count(load: Load) -> None:
    source = "N = {}\ndef f(x):\n    N = 1\n    def g(): return N\n    return g()"
    one, other = (fingerprint_of_value(load(source.format(n)).f).digest for n in (1, 2))
    assert one == other


def test_both_imports_are_named(load: Load) -> None:
    load("LIMIT = 1", "fast")
    load("LIMIT = 2", "slow")
    f = load(
        "def f(x):\n    if x: from fast import LIMIT\n    else: from slow import LIMIT\n    return LIMIT"
    ).f
    labels = [label for label, _ in fingerprint_of_value(f).children]
    assert labels == ["imported fast.LIMIT", "imported slow.LIMIT"]
