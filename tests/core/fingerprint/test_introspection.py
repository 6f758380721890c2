"""Annotations, docstrings and names of functions count where code that is walked reads them."""

# ruff: noqa: E501 - pairs of sources are compared by eye more easily on one line each

from __future__ import annotations

from collections.abc import Callable

import pytest

Digest = Callable[[str], str]

WRAP = "import functools, inspect, typing\ndef cast(g):\n    @functools.wraps(g)\n    def w(x): return {read}\n    return w\n"
READ = {
    "__annotations__": "g.__annotations__['x'](x)",
    "get_type_hints": "typing.get_type_hints(g)['x'](x)",
    "signature": "inspect.signature(g).parameters['x'].annotation(x)",
    "getattr": "getattr(g, '__annotations__')['x'](x)",
    "get_annotations": "inspect.get_annotations(g)['x'](x)",
    "getfullargspec": "inspect.getfullargspec(g).annotations['x'](x)",
}


@pytest.mark.parametrize("read", READ.values(), ids=READ)
def test_annotations_that_are_read_count(digest: Digest, read: str) -> None:
    decorated = WRAP.format(read=read) + "@cast\ndef f(x: {}): return x"
    assert digest(decorated.format("int")) == digest(decorated.format("'int'"))
    assert digest(decorated.format("int")) != digest(decorated.format("float"))


COUNT = {
    "read by a helper": (
        "def cast(g, x): return g.__annotations__['x'](x)\ndef go(x: int): pass\ndef f(x): return cast(go, x)",
        "def cast(g, x): return g.__annotations__['x'](x)\ndef go(x: float): pass\ndef f(x): return cast(go, x)",
    ),
    "of a method": (
        "class A:\n    def go(self, x: int): pass\ndef f(x): return A.go.__annotations__",
        "class A:\n    def go(self, x: str): pass\ndef f(x): return A.go.__annotations__",
    ),
    "single dispatch": (
        "import functools\n@functools.singledispatch\ndef f(x): return 1\n@f.register\ndef _(x: int): return 2",
        "import functools\n@functools.singledispatch\ndef f(x): return 1\n@f.register\ndef _(x: str): return 2",
    ),
    "checked by a library": (
        "import pydantic\n@pydantic.validate_call\ndef f(x: int): return x",
        "import pydantic\n@pydantic.validate_call\ndef f(x: float): return x",
    ),
    "metadata": (
        "from typing import Annotated, get_type_hints\ndef go(x: Annotated[int, 1]): pass\ndef f(x): return get_type_hints(go, include_extras=True)",
        "from typing import Annotated, get_type_hints\ndef go(x: Annotated[int, 2]): pass\ndef f(x): return get_type_hints(go, include_extras=True)",
    ),
    "class that is annotated": (
        "class A:\n    n = 1\ndef go(x: A): pass\ndef f(x): return go.__annotations__['x'].n",
        "class A:\n    n = 2\ndef go(x: A): pass\ndef f(x): return go.__annotations__['x'].n",
    ),
    "docstring": (
        "def go():\n    'one'\ndef f(x): return go.__doc__",
        "def go():\n    'two'\ndef f(x): return go.__doc__",
    ),
    "docstring of a class": (
        "class A:\n    'one'\ndef f(x): return A.__doc__",
        "class A:\n    'two'\ndef f(x): return A.__doc__",
    ),
    "name": (
        "def a(): pass\ngo = a\ndef f(x): return go.__name__",
        "def b(): pass\ngo = b\ndef f(x): return go.__name__",
    ),
}


@pytest.mark.parametrize(("one", "other"), COUNT.values(), ids=COUNT)
def test_these_are_read(digest: Digest, one: str, other: str) -> None:
    assert digest(one) == digest(one)
    assert digest(one) != digest(other)


def test_what_is_not_read_does_not_count(digest: Digest) -> None:
    plain = "def go(x): return x\ndef f(x): return go(x), __name__, __doc__"
    told = "def go(x: int) -> int:\n    'doc'\n    return x\ndef f(x: str): return go(x), __name__, __doc__"
    assert digest(plain) == digest(told)


def test_a_namespace_counts_as_the_module_does(digest: Digest) -> None:
    source = "N = {}\nspace = globals()\ndef f(x): return space['N']"
    assert digest(source.format(1)) == digest(source.format(1))
    assert digest(source.format(1)) != digest(source.format(2))
