"""Instances of what a user derives from builtin and library classes count with all they hold."""

# ruff: noqa: E501 - sources are compared by eye more easily on one line each

from __future__ import annotations

import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from keepset.core.fingerprint import fingerprint_of_value

Load = Callable[..., ModuleType]

BASES = {
    "dict": "{'a': 1}",
    "list": "[1, 2]",
    "tuple": "(1, 2)",
    "set": "{1, 2}",
    "frozenset": "{1, 2}",
    "str": "'ab'",
    "bytes": "b'ab'",
    "bytearray": "b'ab'",
    "int": "3",
    "float": "3.0",
    "complex": "3j",
    "property": "len",
    "staticmethod": "len",
    "classmethod": "len",
    "functools.cached_property": "len",
    "functools.partial": "len, 1",
    "functools.partialmethod": "len, 1",
    "collections.Counter": "'aab'",
    "collections.OrderedDict": "a=1",
    "collections.defaultdict": "int, a=1",
    "collections.deque": "[1, 2]",
    "collections.UserDict": "a=1",
    "collections.ChainMap": "{'a': 1}",
    "array.array": "'i', [1]",
    "datetime.datetime": "2024, 1, 1",
    "datetime.timedelta": "1",
    "decimal.Decimal": "'1.5'",
    "fractions.Fraction": "1, 2",
    "random.Random": "1",
    "io.BytesIO": "b'ab'",
    "io.StringIO": "'ab'",
    "logging.Logger": "'a'",
    "types.ModuleType": "'a'",
    "types.SimpleNamespace": "a=1",
    "type(pathlib.Path())": "'a'",
    "np.vectorize": "len",
    "np.float64": "1.5",
    "np.random.Generator": "np.random.PCG64(1)",
    "np.ma.MaskedArray": "[1, 2], [True, False]",
    "Exception": "'a'",
}
SOURCE = """
import array, collections, datetime, decimal, fractions, functools, io, logging, pathlib, random
import threading, types, uuid
import numpy as np

class Mine({base}):
    def go(self): return {body}

f = Mine({arguments})
f.more = {more}
"""


@pytest.mark.parametrize("base", BASES)
def test_the_class_and_the_attributes_of_an_instance_count(load: Load, base: str) -> None:
    def digest(body: int, more: int, name: str = "job") -> str:
        source = SOURCE.format(base=base, arguments=BASES[base], body=body, more=more)
        return fingerprint_of_value(load(source, name).f).digest

    first = digest(1, 1)
    assert digest(1, 1, "elsewhere") == first
    assert len({first, digest(2, 1), digest(1, 2)}) == 3


CONTENTS = {
    "dict": ("{'a': 1}", "{'a': 2}"),
    "list": ("[1, 2]", "[2, 1]"),
    "tuple": ("(1, 2)", "(2, 1)"),
    "set": ("{1, 2}", "{1, 3}"),
    "str": ("'a'", "'b'"),
    "int": ("1", "2"),
    "bytearray": ("b'a'", "b'b'"),
    "property": ("len", "max"),
    "staticmethod": ("len", "max"),
    "functools.partial": ("dict, a=1, b=2", "dict, b=2, a=1"),
    "functools.cached_property": ("len", "max"),
    "collections.deque": ("[1], 2", "[1], 3"),
    "type(pathlib.Path())": ("'a'", "'b'"),
    "np.vectorize": ("len", "max"),
    "np.float64": ("1.5", "2.5"),
    "np.random.Generator": ("np.random.PCG64(1)", "np.random.PCG64(2)"),
    "np.ma.MaskedArray": ("[1, 2], [True, False]", "[2, 2], [True, False]"),
    "array.array": ("'i', [1]", "'i', [2]"),
    "io.BytesIO": ("b'a'", "b'b'"),
}


@pytest.mark.parametrize("base", CONTENTS)
def test_what_the_base_holds_counts(load: Load, base: str) -> None:
    digests = {
        fingerprint_of_value(
            load(SOURCE.format(base=base, arguments=arguments, body=1, more=1)).f
        ).digest
        for arguments in CONTENTS[base]
    }
    assert len(digests) == 2


def test_an_array_of_a_user_s_class_counts_its_attributes(load: Load) -> None:
    source = "import numpy as np\nclass A(np.ndarray): pass\nf = np.zeros(3).view(A)\nf.unit = {}"
    digests = [fingerprint_of_value(load(source.format(n)).f).digest for n in (1, 1, 2)]
    assert digests[0] == digests[1] != digests[2]


def test_methods_that_a_class_overrides_do_not_hide_its_content(load: Load) -> None:
    source = (
        "class D(dict):\n    def items(self): return [(1, 2)]\n    def __iter__(self): return iter('ab')\n"
        "    def __getattr__(self, name): return self.get(name)\nf = D(a={})"
    )
    digests = [fingerprint_of_value(load(source.format(n)).f).digest for n in (1, 1, 2)]
    assert digests[0] == digests[1] != digests[2]


STATES = {
    "pair": "def __getstate__(self): return (self.a, self.b)",
    "pair of dicts": "def __getstate__(self): return ({'x': self.a}, {'x': self.b})",
    "pair of None and a dict": "def __getstate__(self): return (None, {'a': self.a, 'b': self.b})",
    "list": "def __getstate__(self): return [self.a, self.b]",
    "dict": "def __getstate__(self): return {'a': self.a, 'b': self.b}",
    "dict of numbers": "def __getstate__(self): return {1: self.a, 2: self.b}",
    "arguments": "def __reduce__(self): return (Norm, (self.a, self.b))",
    "state of reduce": "def __reduce__(self): return (object, (), (self.a, self.b))",
    "items": "def __reduce__(self): return (object, (), None, iter([self.a, self.b]))",
    "pairs": "def __reduce__(self): return (object, (), None, None, iter([(1, self.a), (2, self.b)]))",
    "odd pairs": "def __reduce__(self): return (object, (), None, None, iter([([], self.a), ([], self.b)]))",
    "a name": "def __reduce__(self): return 'NORM'",
    "reduce of a protocol": "def __reduce_ex__(self, n): return (Norm, (self.a, self.b))",
    "slots": "__slots__ = ('a', 'b')",
    "slots and a dict": "__slots__ = ('a', '__dict__')",
    "nothing": "pass",
}  # fmt: skip


@pytest.mark.parametrize("state", STATES.values(), ids=STATES)
def test_states_of_any_shape_count_in_order(load: Load, state: str) -> None:
    source = (
        f"class Norm:\n    {state}\n    def __init__(self, a, b): self.a, self.b = a, b\n"
        "NORM = Norm(ARGUMENTS)\nf = NORM"
    )
    digests = [
        fingerprint_of_value(load(source.replace("ARGUMENTS", arguments)).f).digest
        for arguments in ("1, 2", "1, 2", "2, 1", "1, 3")
    ]
    assert digests[0] == digests[1]
    assert len(set(digests)) == 3


def test_a_state_setter_counts(load: Load) -> None:
    source = (
        "def put(one, state): one.n = state * {}\nclass A:\n"
        "    def __reduce__(self): return (A, (), 1, None, None, put)\nf = A()"
    )
    digests = [fingerprint_of_value(load(source.format(n)).f).digest for n in (1, 1, 2)]
    assert digests[0] == digests[1] != digests[2]


WRAPPERS = {
    "lru_cache": "import functools\n@functools.lru_cache\ndef f(x): return x\nf.n = {}",
    "typed": "import functools\n@functools.lru_cache(typed=bool({} - 1))\ndef f(x): return x",
    "partial": "import functools\nf = functools.partial(len)\nf.n = {}",
    "context manager": (
        "import contextlib\n@contextlib.contextmanager\ndef f(x): yield x\nf.n = {}"
    ),
    "static method": "class A:\n    @staticmethod\n    def go(): pass\nf = A.__dict__['go']\nf.n = {}",
    "default of a library's closure": (
        "import functools\nclass A:\n    def go(self, n): return n\n    one = functools.partialmethod(go, {})\n"
        "f = A().one"
    ),
}  # fmt: skip


@pytest.mark.parametrize("source", WRAPPERS.values(), ids=WRAPPERS)
def test_attributes_of_wrappers_count(load: Load, source: str) -> None:
    digests = [fingerprint_of_value(load(source.format(n)).f).digest for n in (1, 1, 2)]
    assert digests[0] == digests[1] != digests[2]


class LeavesBehind:
    """A model whose copies do without what it can do without."""

    def __init__(self, weight: float, client: Any = None) -> None:
        self.name, self.weight, self.client = "model", weight, client

    def __getstate__(self) -> dict[str, Any]:
        return {"name": self.name}

    def __call__(self, x: float) -> float:
        return self.weight * x


def test_what_a_copy_would_not_get_counts_all_the_same() -> None:
    digests = {fingerprint_of_value(LeavesBehind(weight)).digest for weight in (2.0, 3.0)}
    assert len(digests) == 2


def test_what_is_left_behind_because_it_has_no_content_is_no_error() -> None:
    one, other = (fingerprint_of_value(LeavesBehind(2.0, threading.Lock())) for _ in range(2))
    assert one.digest == other.digest
