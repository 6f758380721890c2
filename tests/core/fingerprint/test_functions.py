"""What counts of a user's function, and what does not: pairs of modules whose ``f`` is compared."""

# ruff: noqa: E501 - pairs of sources are compared by eye more easily on one line each

from __future__ import annotations

import contextlib
import functools
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from keepset.core.fingerprint import fingerprint_of_value

Digest = Callable[[str], str]

SAME = {
    "comments": (
        "def f(x):\n    return x + 1",
        "# why\ndef f(x):  # what\n    # how\n    return x + 1",
    ),
    "docstring": ("def f(x):\n    return x", 'def f(x):\n    """Says something."""\n    return x'),
    "only a docstring": ('def f(x):\n    """One."""', 'def f(x):\n    """Two."""'),
    "inner docstring": (
        "def f(x):\n    def g(y):\n        return y\n    return g(x)",
        'def f(x):\n    def g(y):\n        "doc"\n        return y\n    return g(x)',
    ),
    "line moves": ("def f(x):\n    return x", "import os\n\n\n\ndef f(x):\n\n    return x"),
    "formatting": (
        "def f(x): return (x+1,)",
        "def f(\n    x,\n):\n    return (\n        x + 1,\n    )",
    ),
    "annotations": ("def f(x): return x", "def f(x: int) -> int: return x"),
    "local annotation": (
        "def f(x):\n    y = x\n    return y",
        "def f(x):\n    y: int = x\n    return y",
    ),
    "own name": ("def g(x): return x\nf = g", "def h(x): return x\nf = h"),
    "what is not used": ("A = 1\ndef f(x): return x", "A = 2\ndef f(x): return x"),
    "how a default is written": ("def f(x, n=3): return n", "N = 3\ndef f(x, n=N): return n"),
    "how a global is written": ("N = 6\ndef f(x): return N", "N = 2 * 3\ndef f(x): return N"),
    "quotes": ("def f(x): return 'a'", 'def f(x): return "a"'),
    "local class docstring": (
        "def f(x):\n    class A:\n        b = 1\n    return A",
        "def f(x):\n    class A:\n        'doc'\n        b = 1\n    return A",
    ),
    "file and module attributes": (
        "def f(x): return (__file__, __name__)",
        "import os\ndef f(x): return (__file__, __name__)",
    ),
    "order of definitions": (
        "def g(x): return x\ndef f(x): return g(x) + h(x)\ndef h(x): return 2",
        "def h(x): return 2\ndef f(x): return g(x) + h(x)\ndef g(x): return x",
    ),
    "helper's comment": (
        "def g(x): return x\ndef f(x): return g(x)",
        "def g(x):\n    # a comment\n    return x\ndef f(x): return g(x)",
    ),
    "set order": (
        "S = {'a', 'b', 'c'}\nf = lambda x: x in S",
        "S = {'c', 'b', 'a'}\nf = lambda x: x in S",
    ),
}

DIFFERENT = {
    "defaults of a function that takes any arguments": (
        "def f(*args): return f.__defaults__\nf.__defaults__ = (1, 2)",
        "def f(*args): return f.__defaults__\nf.__defaults__ = (1, 3)",
    ),
    "body": ("def f(x): return x + 1", "def f(x): return x + 2"),
    "constant of another type": ("def f(x): return 1", "def f(x): return 1.0"),
    "sign of zero": ("def f(x): return 0.0", "def f(x): return -0.0"),
    "argument names": ("def f(x): return 1", "def f(y): return 1"),
    "default": ("def f(x, n=1): return n", "def f(x, n=2): return n"),
    "which argument has the default": (
        "def f(x, *, a=1, b): return a",
        "def f(x, *, a, b=1): return a",
    ),
    "keyword default": ("def f(x, *, n=1): return n", "def f(x, *, n=2): return n"),
    "global": ("N = 1\ndef f(x): return N", "N = 2\ndef f(x): return N"),
    "global in a nested function": (
        "N = 1\ndef f(x):\n    def g(): return [N for _ in x]\n    return g()",
        "N = 2\ndef f(x):\n    def g(): return [N for _ in x]\n    return g()",
    ),
    "global list": ("N = [1, [2]]\ndef f(x): return N", "N = [1, [3]]\ndef f(x): return N"),
    "global array": (
        "import numpy as np\nN = np.zeros(9)\ndef f(x): return N",
        "import numpy as np\nN = np.ones(9)\ndef f(x): return N",
    ),
    "helper": (
        "def g(x): return 1\ndef f(x): return g(x)",
        "def g(x): return 2\ndef f(x): return g(x)",
    ),
    "helper of a helper": (
        "def h(x): return 1\ndef g(x): return h(x)\ndef f(x): return g(x)",
        "def h(x): return 2\ndef g(x): return h(x)\ndef f(x): return g(x)",
    ),
    "captured value": (
        "def make(n):\n    return lambda x: x + n\nf = make(1)",
        "def make(n):\n    return lambda x: x + n\nf = make(2)",
    ),
    "captured function": (
        "def make(g):\n    def f(x): return g(x)\n    return f\nf = make(lambda x: 1)",
        "def make(g):\n    def f(x): return g(x)\n    return f\nf = make(lambda x: 2)",
    ),
    "captured by a nested closure": (
        "def make(n):\n    def f(x):\n        def g(): return n\n        return g()\n    return f\nf = make(1)",
        "def make(n):\n    def f(x):\n        def g(): return n\n        return g()\n    return f\nf = make(2)",
    ),
    "method of a used class": (
        "class A:\n    def go(self): return 1\ndef f(x): return A().go()",
        "class A:\n    def go(self): return 2\ndef f(x): return A().go()",
    ),
    "base of a used class": (
        "class B:\n    def go(self): return 1\nclass A(B): pass\ndef f(x): return A().go()",
        "class B:\n    def go(self): return 2\nclass A(B): pass\ndef f(x): return A().go()",
    ),
    "lambda default": ("f = lambda x, n=1: n", "f = lambda x, n=2: n"),
    "second lambda of a line": (
        "fs = [lambda x: 1, lambda x: 2]; f = fs[0]",
        "fs = [lambda x: 1, lambda x: 2]; f = fs[1]",
    ),
    "recursion": (
        "def f(x): return 1 if x < 1 else x * f(x - 1)",
        "def f(x): return 2 if x < 1 else x * f(x - 1)",
    ),
    "mutual recursion": (
        "def f(x): return x and g(x - 1)\ndef g(x): return x and f(x - 1)",
        "def f(x): return x and g(x - 1)\ndef g(x): return x and f(x - 2)",
    ),
    "generator": ("def f(x): yield 1", "def f(x): return 1"),
    "async": ("async def f(x): return 1", "def f(x): return 1"),
    "async body": ("async def f(x): return 1", "async def f(x): return 2"),
    "shadowed builtin": (
        "def f(x): return len(x)",
        "def len(x): return 0\ndef f(x): return len(x)",
    ),
    "library function": (
        "from math import sin as g\ndef f(x): return g(x)",
        "from math import cos as g\ndef f(x): return g(x)",
    ),
    "library of the same attribute": (
        "import math as m\ndef f(x): return m.sqrt(x)",
        "import cmath as m\ndef f(x): return m.sqrt(x)",
    ),
    "ufunc": (
        "import numpy as np\ng = np.sin\ndef f(x): return g(x)",
        "import numpy as np\ng = np.cos\ndef f(x): return g(x)",
    ),
    "function attribute": (
        "def f(x): return f.n\nf.n = 1",
        "def f(x): return f.n\nf.n = 2",
    ),
    "decorator's body": (
        "import functools\ndef d(g):\n    @functools.wraps(g)\n    def w(x): return g(x) + 1\n    return w\n"
        "@d\ndef f(x): return x",
        "import functools\ndef d(g):\n    @functools.wraps(g)\n    def w(x): return g(x) + 2\n    return w\n"
        "@d\ndef f(x): return x",
    ),
    "decorated body": (
        "import functools\ndef d(g):\n    @functools.wraps(g)\n    def w(x): return g(x)\n    return w\n"
        "@d\ndef f(x): return 1",
        "import functools\ndef d(g):\n    @functools.wraps(g)\n    def w(x): return g(x)\n    return w\n"
        "@d\ndef f(x): return 2",
    ),
    "cached function": (
        "import functools\n@functools.lru_cache\ndef f(x): return 1",
        "import functools\n@functools.lru_cache\ndef f(x): return 2",
    ),
    "library's decorator": (
        "import contextlib\n@contextlib.contextmanager\ndef f(x): yield 1",
        "import contextlib\n@contextlib.contextmanager\ndef f(x): yield 2",
    ),
    "single dispatch": (
        "import functools\n@functools.singledispatch\ndef f(x): return 1\nf.register(int, lambda x: 1)",
        "import functools\n@functools.singledispatch\ndef f(x): return 1\nf.register(int, lambda x: 2)",
    ),
    "partial's argument": (
        "import functools\ndef g(n, x): return n\nf = functools.partial(g, 1)",
        "import functools\ndef g(n, x): return n\nf = functools.partial(g, 2)",
    ),
    "partial's keyword": (
        "import functools\ndef g(x, n): return n\nf = functools.partial(g, n=1)",
        "import functools\ndef g(x, n): return n\nf = functools.partial(g, n=2)",
    ),
    "partial's function": (
        "import functools\nf = functools.partial(lambda n, x: 1, 0)",
        "import functools\nf = functools.partial(lambda n, x: 2, 0)",
    ),
    "bound method": (
        "class A:\n    def go(self, x): return 1\nf = A().go",
        "class A:\n    def go(self, x): return 2\nf = A().go",
    ),
    "state of a bound method": (
        "class A:\n    def __init__(self, n): self.n = n\n    def go(self, x): return self.n\nf = A(1).go",
        "class A:\n    def __init__(self, n): self.n = n\n    def go(self, x): return self.n\nf = A(2).go",
    ),
    "helper method of a bound method": (
        "class A:\n    def one(self): return 1\n    def go(self, x): return self.one()\nf = A().go",
        "class A:\n    def one(self): return 2\n    def go(self, x): return self.one()\nf = A().go",
    ),
    "class method": (
        "class A:\n    n = 1\n    @classmethod\n    def go(cls, x): return cls.n\nf = A.go",
        "class A:\n    n = 2\n    @classmethod\n    def go(cls, x): return cls.n\nf = A.go",
    ),
    "static method": (
        "class A:\n    @staticmethod\n    def go(x): return 1\nf = A.go",
        "class A:\n    @staticmethod\n    def go(x): return 2\nf = A.go",
    ),
    "super": (
        "class B:\n    def go(self, x): return 1\nclass A(B):\n    def go(self, x): return super().go(x)\n"
        "f = A.go",
        "class B:\n    def go(self, x): return 2\nclass A(B):\n    def go(self, x): return super().go(x)\n"
        "f = A.go",
    ),
    "callable object": (
        "class A:\n    def __call__(self, x): return 1\nf = A()",
        "class A:\n    def __call__(self, x): return 2\nf = A()",
    ),
    "class as a function": (
        "class f:\n    def __init__(self, x): self.x = 1",
        "class f:\n    def __init__(self, x): self.x = 2",
    ),
    "np.vectorize": (
        "import numpy as np\nf = np.vectorize(lambda x: 1)",
        "import numpy as np\nf = np.vectorize(lambda x: 2)",
    ),
}


@pytest.mark.parametrize(("one", "other"), SAME.values(), ids=SAME)
def test_these_do_not_count(digest: Digest, one: str, other: str) -> None:
    assert digest(one) == digest(other)


@pytest.mark.parametrize(("one", "other"), DIFFERENT.values(), ids=DIFFERENT)
def test_these_count(digest: Digest, one: str, other: str) -> None:
    assert digest(one) != digest(other)


@pytest.mark.parametrize("source", [one for one, _ in DIFFERENT.values()], ids=DIFFERENT)
def test_the_same_text_is_the_same_wherever_it_lies(digest: Digest, source: str) -> None:
    assert digest(source) == digest("# moved\n\n" + source)


@pytest.mark.parametrize("source", [one for one, _ in DIFFERENT.values()], ids=DIFFERENT)
def test_the_same_text_without_a_file_is_the_same_each_time(source: str) -> None:
    def made() -> str:
        namespace: dict[str, Any] = {"__name__": "typed"}
        exec(source, namespace)
        return fingerprint_of_value(namespace["f"]).digest

    assert made() == made()


@pytest.mark.parametrize(("one", "other"), DIFFERENT.values(), ids=DIFFERENT)
def test_these_count_without_a_file_too(one: str, other: str) -> None:
    namespaces: list[dict[str, Any]] = [{"__name__": "typed"}, {"__name__": "typed"}]
    for source, namespace in zip((one, other), namespaces, strict=True):
        exec(source, namespace)
    digests = {fingerprint_of_value(namespace["f"]).digest for namespace in namespaces}
    assert len(digests) == 2


USES_OF_ANOTHER_MODULE = {
    "attribute": "import other\ndef f(x): return other.go(x)",
    "name": "from other import go\ndef f(x): return go(x)",
    "import inside": "def f(x):\n    import other\n    return other.go(x)",
    "import of a name inside": "def f(x):\n    from other import go\n    return go(x)",
    "import under another name": "def f(x):\n    import other as o\n    return [o.go(y) for y in x]",
    "captured module": (
        "def make():\n    import other\n    def f(x): return other.go(x)\n    return f\nf = make()"
    ),
    "class of it": "import other\ndef f(x): return other.Thing().go(x)",
    "nested in a lambda": "import other\nf = lambda x: list(map(lambda y: other.go(y), x))",
}


@pytest.mark.parametrize("source", USES_OF_ANOTHER_MODULE.values(), ids=USES_OF_ANOTHER_MODULE)
def test_the_users_other_modules_count_by_what_is_used(
    load: Callable[..., ModuleType], source: str
) -> None:
    def digest(number: int, unused: int) -> str:
        load(
            f"UNUSED = {unused}\n"
            f"def go(x): return {number}\n"
            f"class Thing:\n    def go(self, x): return {number}\n",
            "other",
        )
        return fingerprint_of_value(load(source).f).digest

    assert digest(1, unused=1) == digest(1, unused=2)
    assert digest(1, unused=1) != digest(2, unused=1)


def test_a_submodule_is_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, load: Callable[..., ModuleType]
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))

    def digest(number: int, source: str) -> str:
        package = tmp_path / f"package{number}"
        package.mkdir(exist_ok=True)
        (package / "__init__.py").write_text("")
        (package / "inner.py").write_text(f"def go(x): return {number}")
        facts = fingerprint_of_value(load(source.replace("PACKAGE", package.name)).f)
        return str([child.digest for label, child in facts.children if "go" in label])

    for source in (
        "import PACKAGE.inner\ndef f(x): return PACKAGE.inner.go(x)",
        "def f(x):\n    import PACKAGE.inner\n    return PACKAGE.inner.go(x)",
        "def f(x):\n    import PACKAGE.inner as i\n    return i.go(x)",
        "def f(x):\n    from PACKAGE import inner\n    return inner.go(x)",
    ):
        assert digest(1, source) == digest(1, source) != "[]", source
        assert digest(1, source) != digest(2, source), source


def test_a_library_imported_inside_is_not_loaded_for_that(digest: Digest) -> None:
    assert "mailbox" not in sys.modules
    one = digest("def f(x):\n    import mailbox\n    return mailbox.Maildir(x)")
    assert one != digest("def f(x):\n    import mailbox\n    return mailbox.MH(x)")
    assert "mailbox" not in sys.modules


def test_a_missing_module_is_not_an_error(digest: Digest) -> None:
    assert digest("def f(x):\n    import no_such_module_here\n    return no_such_module_here.g(x)")


def test_a_library_attribute_that_the_user_replaced_counts(
    digest: Digest, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = "import textwrap\ndef f(x): return textwrap.shorten(x)"
    before = digest(source)
    monkeypatch.setattr("textwrap.shorten", lambda text: text + "1")
    first = digest(source)
    monkeypatch.setattr("textwrap.shorten", lambda text: text + "2")
    assert len({before, first, digest(source)}) == 3


def test_a_cache_that_filled_does_not_count(load: Callable[..., ModuleType]) -> None:
    job = load("import functools\n@functools.lru_cache\ndef f(x): return x")
    before = fingerprint_of_value(job.f)
    job.f(1)
    assert fingerprint_of_value(job.f) == before


def test_a_single_dispatch_that_was_used_does_not_count() -> None:
    @functools.singledispatch
    def choose(x: object) -> int:
        return 1

    before = fingerprint_of_value(choose)
    choose(3)
    assert fingerprint_of_value(choose) == before


def test_functions_of_the_random_module_count_by_name() -> None:
    before = [
        fingerprint_of_value(f).digest for f in (random.random, random.shuffle, np.random.rand)
    ]
    random.random()
    np.random.rand(3)
    after = [
        fingerprint_of_value(f).digest for f in (random.random, random.shuffle, np.random.rand)
    ]
    assert before == after
    assert len(set(before)) == 3


def test_a_variable_that_is_not_assigned_yet_is_no_error() -> None:
    def f() -> int:
        return later

    before = fingerprint_of_value(f).digest
    later = 3
    assert fingerprint_of_value(f).digest != before


def test_a_lock_inside_a_library_s_decorator_is_no_error() -> None:
    @contextlib.contextmanager
    def f() -> Iterator[int]:
        yield 1

    assert fingerprint_of_value(f).children[-1][0] == "wrapped function"


def test_builtins_and_their_methods_count() -> None:
    functions = [
        len,
        max,
        "a".join,
        "b".join,
        str.lower,
        str.upper,
        {1: 2}.get,
        {1: 3}.get,
        int,
        float,
    ]
    assert len({fingerprint_of_value(function).digest for function in functions}) == len(functions)


def test_versions_of_libraries_are_recorded_and_count_only_if_strict(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def f(x: Any) -> Any:
        return np.sort(x)

    plain, strict = fingerprint_of_value(f), fingerprint_of_value(f, strict=True)
    assert plain.versions["numpy"] == np.__version__
    monkeypatch.setattr(
        "keepset.core.fingerprint.value.library_version", lambda name: (name, "99.0")
    )
    assert fingerprint_of_value(f).digest == plain.digest
    assert fingerprint_of_value(f, strict=True).digest != strict.digest


_counted = 0


def counts(x: int) -> int:
    global _counted
    _counted += 1
    return x + _counted


def test_what_a_function_itself_assigns_counts_but_is_not_fixed() -> None:
    before = fingerprint_of_value(counts)
    counts(1)
    after = fingerprint_of_value(counts)
    assert (after.digest != before.digest, after.fixed == before.fixed) == (True, True)

    def counter() -> Any:
        calls = 0

        def step(x: int) -> int:
            nonlocal calls
            calls += 1
            return x + calls

        return step

    step = counter()
    before = fingerprint_of_value(step)
    step(1)
    after = fingerprint_of_value(step)
    assert (after.digest != before.digest, after.fixed == before.fixed) == (True, True)


def test_what_another_function_assigns_counts() -> None:
    limit = 3

    def raised() -> None:
        nonlocal limit
        limit += 1

    def below(x: int) -> bool:
        return x < limit

    before = fingerprint(below)
    raised()
    assert fingerprint(below) != before


def fingerprint(value: Any) -> str:
    return fingerprint_of_value(value).digest


def test_a_cache_with_results_of_another_version_counts(
    load: Callable[..., ModuleType],
) -> None:
    text = "import functools\nK = 1\n@functools.lru_cache(None)\ndef g(x): return x + K\ndef f(x): return g(x)"
    job = load(text)
    clean = fingerprint_of_value(job.f).digest
    job.f(1)
    assert fingerprint_of_value(job.f).digest == clean
    vars(job)["K"] = 2
    stale = fingerprint_of_value(job.f).digest
    other = load(text.replace("K = 1", "K = 2"))
    assert stale != fingerprint_of_value(other.f).digest
    vars(job)["K"] = 1
    assert fingerprint_of_value(job.f).digest != clean, "it may hold results of K = 2"
    job.g.cache_clear()
    assert fingerprint_of_value(job.f).digest == clean
