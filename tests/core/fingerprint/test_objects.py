"""Objects count by class and state; classes by what they define."""

from __future__ import annotations

import collections
import datetime
import decimal
import enum
import fractions
import functools
import io
import operator
import random
import threading
import uuid
import zoneinfo
from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import pytest

from keepset.core.fingerprint import fingerprint_of_value
from keepset.errors import FingerprintError

Load = Callable[..., ModuleType]


def digest(value: Any) -> str:
    return fingerprint_of_value(value).digest


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Access(enum.Flag):
    READ = 1
    WRITE = 2


class Point(NamedTuple):
    x: int
    y: int = 0


@dataclass
class Config:
    rate: float = 0.5
    names: list[str] = field(default_factory=list)


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self, a: int) -> None:
        self.a = a


class Words(list[str]):
    """A list with a name."""


class Pickled:
    """Keeps a lock, and leaves it out of its state."""

    def __init__(self, n: int) -> None:
        self.n, self.lock = n, threading.Lock()

    def __getstate__(self) -> Any:
        return {"n": self.n}


class Chosen:
    """Decides for itself what counts."""

    def __init__(self, n: int) -> None:
        self.n, self.lock = n, threading.Lock()

    def __keepset_fingerprint__(self) -> Any:
        return {"n": self.n}


class Lazy:
    def __init__(self, n: int) -> None:
        self.n = n

    @functools.cached_property
    def square(self) -> int:
        return self.n**2


def fresh() -> list[Any]:
    """Values of which no two are the same, made anew."""
    noon = datetime.datetime(2024, 5, 1, 12)
    words, named = Words("ab"), Words("ab")
    named.name = "x"  # type: ignore[attr-defined]
    return [
        *(Colour.RED, Colour.BLUE, Access.READ, Access.READ | Access.WRITE, 1, 2),
        *(Point(1), Point(1, 1), (1, 0), Config(), Config(0.25), Config(names=["a"])),
        *(Slotted(1), Slotted(2), words, Words("ba"), named, ["a", "b"]),
        *(Pickled(1), Pickled(2), Chosen(1), Chosen(2), Lazy(1), Lazy(2), object()),
        *(noon, noon.replace(second=1), noon.replace(fold=1), noon.date(), noon.time()),
        noon.replace(tzinfo=datetime.UTC),
        noon.replace(tzinfo=zoneinfo.ZoneInfo("Europe/Paris")),
        *(
            datetime.timedelta(1),
            datetime.timedelta(2),
            decimal.Decimal("1.0"),
            decimal.Decimal("1"),
        ),
        *(fractions.Fraction(1, 2), fractions.Fraction(1, 3), uuid.UUID(int=1), uuid.UUID(int=2)),
        *(collections.Counter("ab"), collections.Counter("abb"), collections.deque([1])),
        *(collections.deque([1], 5), collections.defaultdict(list), collections.defaultdict(set)),
        *(random.Random(1), random.Random(2), SimpleNamespace(a=1), SimpleNamespace(a=2)),
        *(operator.itemgetter(1), operator.itemgetter(2), operator.attrgetter("a")),
        *(list[int], list[str], dict[str, int], int | str, int | None, Callable[[int], str]),
        *(Colour, Access, Point, Config, Slotted, Words, Chosen, int, dict),
    ]


def test_no_two_of_these_are_the_same_and_each_is_stable() -> None:
    digests = [digest(value) for value in fresh()]
    assert digests == [digest(value) for value in fresh()]
    assert len(set(digests)) == len(digests)


def test_a_cached_property_that_was_computed_does_not_count() -> None:
    lazy = Lazy(3)
    before = digest(lazy)
    assert lazy.square == 9
    assert digest(lazy) == before


def test_the_hook_is_given_as_the_way_out() -> None:
    class Plain:
        def __init__(self) -> None:
            self.lock = threading.Lock()

    with pytest.raises(FingerprintError, match="value has the attribute 'lock'") as caught:
        fingerprint_of_value(Plain())
    assert "__keepset_fingerprint__" in str(caught.value)


def test_an_object_that_refuses_to_be_copied_says_why() -> None:
    class Stubborn:
        def __reduce__(self) -> Any:
            raise ValueError("not me")

    with pytest.raises(FingerprintError, match=r"Stubborn, .*ValueError: not me"):
        fingerprint_of_value(Stubborn())


def test_a_set_of_the_users_class_does_not_count_its_order() -> None:
    class Bag(set[str]):
        pass

    one, other = Bag("abcdefgh"), Bag("hgfedcba")
    assert digest(one) == digest(other) != digest(Bag("abc"))


CLASSES = {
    "attribute": "class f:\n    n = {}",
    "method": "class f:\n    def go(self): return {}",
    "property": "class f:\n    @property\n    def go(self): return {}",
    "cached property": (
        "import functools\nclass f:\n    @functools.cached_property\n    def go(self): return {}"
    ),
    "class method": "class f:\n    @classmethod\n    def go(cls): return {}",
    "static method": "class f:\n    @staticmethod\n    def go(): return {}",
    "nested class": "class f:\n    class Inner:\n        n = {}",
    "base": "class B:\n    n = {}\nclass f(B): pass",
    "metaclass": "class M(type):\n    n = {}\nclass f(metaclass=M): pass",
    "enum": "import enum\nclass f(enum.Enum):\n    A = {}",
    "enum method": "import enum\nclass f(enum.Enum):\n    A = 1\n    def go(self): return {}",
    "enum property": (
        "import enum\nclass f(enum.Enum):\n    A = 1\n    @property\n    def go(self): return {}"
    ),
    "named tuple": "from typing import NamedTuple\nclass f(NamedTuple):\n    a: int = {}",
    "named tuple's method": (
        "from typing import NamedTuple\nclass f(NamedTuple):\n    a: int\n"
        "    def go(self): return {}"
    ),
    "dataclass default": "from dataclasses import dataclass\n@dataclass\nclass f:\n    a: int = {}",
    "dataclass factory": (
        "from dataclasses import dataclass, field\n@dataclass\nclass f:\n"
        "    a: int = field(default_factory=lambda: {})"
    ),
    "dataclass method": (
        "from dataclasses import dataclass\n@dataclass\nclass f:\n    a: int\n"
        "    def go(self): return {}"
    ),
    "dataclass option": (
        "from dataclasses import dataclass\n@dataclass(frozen=bool({} - 1))\nclass f:\n    a: int"
    ),
    "abstract": (
        "import abc\nclass f(abc.ABC):\n    @abc.abstractmethod\n    def go(self): return {}"
    ),
    "generic": (
        "from typing import Generic, TypeVar\nT = TypeVar('T')\nclass f(Generic[T]):\n    n = {}"
    ),
    "instance": "class A:\n    def go(self): return {}\nf = A()",
}


@pytest.mark.parametrize("source", CLASSES.values(), ids=CLASSES)
def test_classes_count_by_what_they_define(load: Load, source: str) -> None:
    first = digest(load(source.format(1)).f)
    assert digest(load("# moved\n\n" + source.format(1), "elsewhere").f) == first
    assert digest(load(source.format(2)).f) != first


def test_annotations_of_a_class_count_and_its_docstring_does_not(load: Load) -> None:
    plain = digest(load("class f:\n    a: int\n    b: list[str]").f)
    assert digest(load("class f:\n    'doc'\n    a: int\n    b: list[str]").f) == plain
    later = "from __future__ import annotations\nclass f:\n    a: int\n    b: list[str]"
    assert digest(load(later).f) == plain
    assert digest(load("class f:\n    a: float\n    b: list[str]").f) != plain


def test_texts_are_short() -> None:
    assert fingerprint_of_value(Colour.RED).text == "Colour.RED"
    assert fingerprint_of_value(decimal.Decimal("1.5")).text == "Decimal('1.5')"
    assert fingerprint_of_value(Config()).text == "Config object"
    assert len(fingerprint_of_value("x" * 10_000).text) < 100


def test_looking_at_an_object_does_not_change_its_fingerprint() -> None:
    class Bound(functools.partial[Any]):
        pass

    for value in (io.StringIO("abc"), io.BytesIO(b"abc"), Bound(max, 2), functools.partial(max, 2)):
        before = fingerprint_of_value(value).digest
        assert fingerprint_of_value(value).digest == before
