"""Whether a function returns numbers and texts alone is read from its syntax."""

from __future__ import annotations

import ast

import pytest

from keepset.core.fingerprint.plain_results import returns_plain

PLAIN = [
    "def f(k): return 1",
    "def f(k): pass",
    "def f(k): return k * 2 + len(k)",
    "def f(k): return -k if k else not k",
    "def f(k): return f(k - 1) + f(k - 2)",
    "def f(k):\n    t = ''\n    for c in k: t += c.upper()\n    return t",
    "def f(k):\n    for a, b in k: t = len(a)\n    return t",
    "def f(k):\n    with open(k) as g: n = len(g.read())\n    return n, str(k)",
    "def f(k): return math.sqrt(k), f'{k}', (y := 1)",
    "def f(k): return re.sub('a', 'b', k).strip()",
    "def f(*keys): return sum(keys)",
    "def f(k): return ', '.join(x for x in TABLE[k]).title(), k.strip().startswith('a')",
    "def f(k): return os.path.join(ROOT, k), TABLE[k].lower(), hashlib.sha256(k).hexdigest()",
    "def f(k):\n    a = k\n    for i in k:\n        b = a + 1\n        a = b + i\n    return a, b",
]
NOT_PLAIN = [
    "def f(k): return [k]",
    "def f(k): return TABLE[k]",
    "def f(k): return make(k)",
    "def f(k): return k.parts",
    "def f(k): return k.split()",
    "def f(k): yield 1",
    "def f(k):\n    n = 1\n    if k: n = [k]\n    return n",
    "def f(k):\n    a = k\n    for i in k:\n        b = a + T\n        a = b + i\n    return a, b",
    "def f(k):\n    n = m = []\n    return n",
    "def f(k):\n    n = 1\n    def g():\n        nonlocal n\n        n = k[0]\n    return n",
    "def f(k):\n    with open(k) as g: return g",
    "def f(k):\n    global n\n    n = 1\n    return n",
    "def f(k):\n    match k:\n        case [n, *m]: return m",
    "def f(k):\n    import table as math\n    return math.of(k)",
    "def f(k, **others): return others",
    "def f(k, len=list): return len(k)",
    "def f(k): return sum(TABLE)",
    "def f(k): return frame.str.strip()",
    "def f(k): return left.join(right)",
    "def f(k): return plot.title(k)",
    "def f(k): return tree.strip()",
    "def f(k): return column.startswith(k)",
    "def f(k):\n    text = column.str\n    return text.zfill(9), text.ljust(9)",
]


def node(text: str) -> ast.FunctionDef:
    found = ast.parse(text).body[0]
    assert isinstance(found, ast.FunctionDef)
    return found


@pytest.mark.parametrize("text", PLAIN)
def test_numbers_and_texts_are_plain(text: str) -> None:
    assert returns_plain(node(text))


@pytest.mark.parametrize("text", NOT_PLAIN)
def test_everything_else_may_be_changed(text: str) -> None:
    assert not returns_plain(node(text))


def test_a_chain_of_names_may_be_longer_than_the_stack() -> None:
    lines = [f"    v{i + 1} = v{i} + 1\n" for i in range(5000)]
    assert returns_plain(node(f"def f(v0):\n{''.join(lines)}    return v5000\n"))
