"""Class bodies count with all that the user wrote, whoever made the class and whatever its base."""

# ruff: noqa: E501 - pairs of sources are compared by eye more easily on one line each

from __future__ import annotations

import threading
from collections.abc import Callable
from types import ModuleType

import pytest

from keepset.core.fingerprint import fingerprint_of_value

Load = Callable[..., ModuleType]

ENUM = "import enum, functools\nclass f(enum.Enum):\n    A = 1\n    B = 2\n"
TUPLE = "import functools\nfrom typing import NamedTuple, ClassVar\nclass f(NamedTuple):\n    a: int\n    b: int = 0\n"
DATA = "import dataclasses, functools\nfrom dataclasses import dataclass, field, InitVar\n"
PYDANTIC = "from pydantic import BaseModel, Field, field_validator, create_model\n"

# Each with a place that is 1 in the one and 2 in the other.
BODIES = {
    "enum constant": ENUM + "    K = enum.nonmember({})",
    "enum cached property": ENUM + "    @functools.cached_property\n    def go(self): return {}",
    "enum lru_cache": ENUM + "    @functools.lru_cache\n    def go(self): return {}",
    "enum static method": ENUM + "    @staticmethod\n    def go(): return {}",
    "enum nested class": ENUM + "    @enum.nonmember\n    class Inner:\n        n = {}",
    "enum descriptor": (
        "class D:\n    def __init__(self, n): self.n = n\n    def __get__(self, o, t): return self.n\n"
        + ENUM
        + "    go = D({})"
    ),
    "enum property": ENUM + "    @enum.property\n    def go(self): return {}",
    "enum __new__": (
        "import enum\nclass f(enum.Enum):\n    def __new__(cls, n):\n        it = object.__new__(cls)\n"
        "        it._value_ = 0 * n\n        it.n = n * {}\n        return it\n    A = 1\n"
    ),
    "enum __init__": (
        "import enum\nclass f(enum.Enum):\n    A = 1\n    def __init__(self, n): self.n = n * {}"
    ),
    "enum _missing_": ENUM
    + "    @classmethod\n    def _missing_(cls, n): return [cls.A, cls.B][{} - 1]",
    "enum member attribute": ENUM + "f.A.weight = {}",
    "enum class attribute set later": ENUM + "f.weight = {}",
    "enum alias": ENUM + "    C = {}",
    "enum mixin": (
        "import enum\nclass M:\n    def go(self): return {}\nclass f(M, enum.Enum):\n    A = 1"
    ),
    "enum boundary": (
        "import enum\nclass f(enum.Flag, boundary=[enum.KEEP, enum.STRICT][{} - 1]):\n    A = 1"
    ),
    "functional enum": "import enum\nf = enum.Enum('f', {{'A': {}}})",
    "enum __str__ of a library": (
        "import enum\nclass M:\n    def __str__(self): return 'm'\nclass f(M, enum.Enum):\n    A = 1\n"
        "if {} == 2: f.__str__ = enum.Enum.__str__"
    ),
    "named tuple constant": TUPLE + "    K = {}",
    "named tuple property": TUPLE + "    @property\n    def go(self): return {}",
    "named tuple static method": TUPLE + "    @staticmethod\n    def go(): return {}",
    "named tuple lru_cache": TUPLE + "    @functools.lru_cache\n    def go(self): return {}",
    "named tuple nested class": TUPLE + "    class Inner:\n        n = {}",
    "named tuple set later": TUPLE + "f.weight = {}",
    "named tuple defaults set later": TUPLE + "f.__new__.__defaults__ = ({},)",
    "named tuple repr": TUPLE + "    def __repr__(self): return '{}'",
    "namedtuple defaults": "import collections\nf = collections.namedtuple('f', 'a b', defaults=[{}])",
    "namedtuple subclass": "import collections\nclass f(collections.namedtuple('f', 'a b')):\n    k = {}",
    "make_dataclass default": DATA + "f = dataclasses.make_dataclass('f', [('a', int, {})])",
    "make_dataclass namespace": (
        DATA + "f = dataclasses.make_dataclass('f', ['a'], namespace={{'go': lambda self: {}}})"
    ),
    "make_dataclass constant": DATA
    + "f = dataclasses.make_dataclass('f', ['a'], namespace={{'k': {}}})",
    "new_class": "import types\nf = types.new_class('f', (), {{}}, lambda ns: ns.update(n={}))",
    "new_class method": (
        "import types\nf = types.new_class('f', (), {{}}, lambda ns: ns.update(go=lambda self: {}))"
    ),
    "type()": "f = type('f', (), {{'n': {}}})",
    "type() in a library's module": "f = type('f', (), {{'n': {}, '__module__': 'collections'}})",
    "type() of a library's name": "f = type('Counter', (), {{'n': {}, '__module__': 'collections'}})",
    "instance of a made class": "import types\nf = types.new_class('f', (), {{}}, lambda ns: ns.update(n={}))()",
    "NewType": "from typing import NewType\nf = NewType('f', [int, str][{} - 1])",
    "TypedDict": "from typing import TypedDict\nclass f(TypedDict, total=bool({} - 1)):\n    a: int",
    "match args": "class f:\n    __match_args__ = [('a', 'b'), ('b', 'a')][{} - 1]\n    a = b = 1",
    "slots": "class f:\n    __slots__ = [('a', 'b'), ('a', 'c')][{} - 1]",
    "dataclass method wrapped": (
        DATA
        + "def wrap(g):\n    @functools.wraps(g)\n    def w(self, *a):\n        g(self, *a)\n        self.a *= {}\n"
        "    return w\n@dataclass\nclass f:\n    a: int\nf.__init__ = wrap(f.__init__)"
    ),
    "dataclass repr wrapped": (
        DATA + "def wrap(g):\n    @functools.wraps(g)\n    def w(self): return g(self) * {}\n"
        "    return w\n@dataclass\nclass f:\n    a: int\nf.__repr__ = wrap(f.__repr__)"
    ),
    "dataclass function of dataclasses": DATA
    + "@dataclass\nclass f:\n    a: int\n    if {} == 1: go = dataclasses.asdict",
    "dataclass field order": DATA
    + "f = dataclasses.make_dataclass('f', [['a', 'b'], ['b', 'a']][{} - 1])",
    "dataclass InitVar order": (
        DATA + "@dataclass\nclass f:\n    a: InitVar[int]\n    b: int\n"
        "if {} == 2:\n    @dataclass\n    class f:\n        b: int\n        a: InitVar[int]"
    ),
    "dataclass default zero": DATA + "@dataclass\nclass f:\n    a: int = field(default={} - 1)",
    "dataclass metadata": DATA + "@dataclass\nclass f:\n    a: int = field(metadata={{'n': {}}})",
    "dataclass defaults set later": DATA
    + "@dataclass\nclass f:\n    a: int = 0\nf.__init__.__defaults__ = ({},)",
    "metaclass keyword": (
        "class M(type):\n    def __new__(m, name, bases, ns, n): return super().__new__(m, name, bases, ns | {{'n': n}})\n"
        "    def __init__(c, name, bases, ns, n): pass\nclass f(metaclass=M, n={}): pass"
    ),
    "__init_subclass__ keyword": (
        "class B:\n    def __init_subclass__(cls, n): cls.n = n\nclass f(B, n={}): pass"
    ),
    "__init_subclass__ registry": (
        "class f:\n    known = {{}}\n    def __init_subclass__(cls, n): f.known[cls.__name__] = n\nclass A(f, n={}): pass"
    ),
    "metaclass registry": (
        "class M(type):\n    known = []\n    def __init__(c, *a): M.known.append({})\nclass f(metaclass=M): pass"
    ),
    "__set_name__": (
        "class D:\n    def __set_name__(self, owner, name): self.n = len(name) * {}\nclass f:\n    d = D()"
    ),
    "class attribute set later": "class f: pass\nf.n = {}",
    "generic base": (
        "from typing import Generic, TypeVar\nT = TypeVar('T')\nclass B(Generic[T]): pass\n"
        "class f(B[[int, str][{} - 1]]): pass"
    ),
    "annotated metadata": (
        "from typing import Annotated\nclass Scale:\n    def __init__(self, n): self.n = n\n"
        "class f:\n    a: Annotated[int, Scale({})]"
    ),
    "class of an annotation": "class Inner:\n    n = {}\nclass f:\n    a: 'list[Inner]'\n    b: Inner",
    "order of annotations": (
        "class f:\n    a: int\n    b: int\nif {} == 2:\n    class f:\n        b: int\n        a: int"
    ),
    "descriptor subclass of property": (
        "class P(property):\n    def __get__(self, o, t=None): return self.fget(o) * self.n\n"
        "class f:\n    @P\n    def go(self): return 1\nf.__dict__['go'].n = {}"
    ),
    "subclass of staticmethod": (
        "class S(staticmethod):\n    def __call__(self, x): return {}\nclass f:\n    @S\n    def go(x): return 1"
    ),
    "subclass of classmethod": (
        "class S(classmethod):\n    def __get__(self, o, t): return {}\nclass f:\n    @S\n    def go(x): return 1"
    ),
    "subclass of cached_property": (
        "import functools\nclass S(functools.cached_property):\n    def __get__(self, o, t=None): return {}\n"
        "class f:\n    @S\n    def go(x): return 1"
    ),
    "partialmethod": (
        "import functools\nclass f:\n    def go(self, n): return n\n    one = functools.partialmethod(go, {})"
    ),
    "singledispatchmethod": (
        "import functools\nclass f:\n    @functools.singledispatchmethod\n    def go(self, n): return 0\n"
        "    @go.register\n    def _(self, n: int): return {}"
    ),
    "abstract class": "import abc\nclass f(abc.ABC):\n    @property\n    @abc.abstractmethod\n    def go(self): return {}",
    "registered class": ("import abc\nclass f(abc.ABC): pass\nf.register([int, str][{} - 1])"),
    "pydantic default": PYDANTIC + "class f(BaseModel):\n    a: int = {}",
    "pydantic bound": PYDANTIC + "class f(BaseModel):\n    a: int = Field(0, ge={})",
    "pydantic validator": (
        PYDANTIC
        + "class f(BaseModel):\n    a: int\n    @field_validator('a')\n    @classmethod\n    def go(cls, v): return v * {}"
    ),
    "pydantic mode": (
        PYDANTIC
        + "class f(BaseModel):\n    a: int\n    @field_validator('a', mode=['before', 'after'][{} - 1])\n"
        "    @classmethod\n    def go(cls, v): return v"
    ),
    "pydantic field order": (
        PYDANTIC
        + "class f(BaseModel):\n    a: int\n    b: int\nif {} == 2:\n    class f(BaseModel):\n        b: int\n        a: int"
    ),
    "pydantic create_model": PYDANTIC + "f = create_model('f', a=(int, {}))",
    "attrs default": "import attrs\n@attrs.define\nclass f:\n    a: int = {}",
    "attrs converter": "import attrs\n@attrs.define\nclass f:\n    a: int = attrs.field(converter=lambda v: v * {})",
    "attrs method": "import attrs\n@attrs.define\nclass f:\n    a: int\n    def go(self): return {}",
}


@pytest.mark.parametrize("source", BODIES.values(), ids=BODIES)
def test_class_bodies_count(load: Load, source: str) -> None:
    first = fingerprint_of_value(load(source.format(1)).f).digest
    assert (
        fingerprint_of_value(load("# moved\n\n" + source.format(1), "elsewhere").f).digest == first
    )
    assert fingerprint_of_value(load(source.format(2)).f).digest != first


@pytest.mark.parametrize("source", BODIES.values(), ids=BODIES)
def test_instances_count_by_the_class(load: Load, source: str) -> None:
    """What uses a class differs with it, and is the same in each process."""
    user = "\ndef use(x): return f"
    digests = [fingerprint_of_value(load(source.format(n) + user).use).digest for n in (1, 1, 2)]
    assert digests[0] == digests[1] != digests[2]


ORDERS = {
    "enum": (
        "import enum\nclass f(enum.Enum):\n    A = 1\n    B = 2",
        "import enum\nclass f(enum.Enum):\n    B = 2\n    A = 1",
    ),
    "dict": ("f = dict(a=1, b=2)", "f = dict(b=2, a=1)"),
    "ordered dict": (
        "import collections\nf = collections.OrderedDict(a=1, b=2)",
        "import collections\nf = collections.OrderedDict(b=2, a=1)",
    ),
    "counter": (
        "import collections\nf = collections.Counter('aab')",
        "import collections\nf = collections.Counter('baa')",
    ),
    "default dict": (
        "import collections\nf = collections.defaultdict(int, a=1, b=2)",
        "import collections\nf = collections.defaultdict(int, b=2, a=1)",
    ),
    "user's dict": (
        "class D(dict): pass\nf = D(a=1, b=2)",
        "class D(dict): pass\nf = D(b=2, a=1)",
    ),
    "user's ordered dict": (
        "import collections\nclass D(collections.OrderedDict): pass\nf = D(a=1, b=2)",
        "import collections\nclass D(collections.OrderedDict): pass\nf = D(b=2, a=1)",
    ),
    "user's counter": (
        "import collections\nclass D(collections.Counter): pass\nf = D('aab')",
        "import collections\nclass D(collections.Counter): pass\nf = D('baa')",
    ),
    "proxy": (
        "import types\nf = types.MappingProxyType(dict(a=1, b=2))",
        "import types\nf = types.MappingProxyType(dict(b=2, a=1))",
    ),
    "large dict": ("f = {i: i for i in range(300)}", "f = {i: i for i in reversed(range(300))}"),
    "large dict of lists": (
        "f = {i: [len] for i in range(300)}",
        "f = {i: [len] for i in reversed(range(300))}",
    ),
    "dict of tuples": ("f = {(1, 2): 1, (2, 1): 2}", "f = {(2, 1): 2, (1, 2): 1}"),
    "partial": (
        "import functools\nf = functools.partial(dict, a=1, b=2)",
        "import functools\nf = functools.partial(dict, b=2, a=1)",
    ),
    "class as a key": (
        "class A: pass\nclass B: pass\nf = {A: 1, B: 1}",
        "class A: pass\nclass B: pass\nf = {B: 1, A: 1}",
    ),
    "user dict": (
        "import collections\nf = collections.UserDict(a=1, b=2)",
        "import collections\nf = collections.UserDict(b=2, a=1)",
    ),
    "state": (
        "class A:\n    def __init__(self, **n): self.n = n\n    def __getstate__(self): return self.n\nf = A(a=1, b=2)",
        "class A:\n    def __init__(self, **n): self.n = n\n    def __getstate__(self): return self.n\nf = A(b=2, a=1)",
    ),
    "namespace, whose text has it": (
        "import types\nf = types.SimpleNamespace(a=1, b=2)",
        "import types\nf = types.SimpleNamespace(b=2, a=1)",
    ),
}


@pytest.mark.parametrize(("one", "other"), ORDERS.values(), ids=ORDERS)
def test_order_counts(load: Load, one: str, other: str) -> None:
    first = fingerprint_of_value(load(one).f).digest
    assert fingerprint_of_value(load(one).f).digest == first
    assert fingerprint_of_value(load(other).f).digest != first


NO_ORDERS = {
    "attributes": (
        "class A: pass\nf = A()\nf.a = 1\nf.b = 2",
        "class A: pass\nf = A()\nf.b = 2\nf.a = 1",
    ),
    "state of attributes": (
        "class A:\n    def __getstate__(self): return dict(self.__dict__)\nf = A()\nf.a = 1\nf.b = 2",
        "class A:\n    def __getstate__(self): return dict(self.__dict__)\nf = A()\nf.b = 2\nf.a = 1",
    ),
    "class": ("class f:\n    a = 1\n    b = 2", "class f:\n    b = 2\n    a = 1"),
    "module": (
        "import sys\na = 1\nb = 2\nf = sys.modules[__name__]",
        "import sys\nb = 2\na = 1\nf = sys.modules[__name__]",
    ),
    "function attributes": (
        "def f(): pass\nf.a = 1\nf.b = 2",
        "def f(): pass\nf.b = 2\nf.a = 1",
    ),
}


@pytest.mark.parametrize(("one", "other"), NO_ORDERS.values(), ids=NO_ORDERS)
def test_these_have_no_order(load: Load, one: str, other: str) -> None:
    assert fingerprint_of_value(load(one).f) == fingerprint_of_value(load(other).f)


def test_classes_of_libraries_count_by_name() -> None:
    import numpy as np

    kinds = [int, np.ndarray, threading.Thread, type(threading.Lock()), type({}.keys())]
    for kind in kinds:
        assert fingerprint_of_value(kind).kind == "library class"
