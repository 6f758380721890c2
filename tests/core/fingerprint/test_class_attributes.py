"""Classes and objects are looked at without running what they do for attributes they lack."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest

from keepset import Dataset
from keepset.core.fingerprint import fingerprint_of_value

Load = Callable[..., ModuleType]

TABLE = """\
class Table(type):
    rows = {"cat": 3}
    def __getattr__(cls, name):
        return cls.rows[name]  # KeyError, as people write it, and not AttributeError
"""

# Each uses a class of that metaclass, or something like it.
USES = {
    "class": "class Labels(metaclass=Table):\n    n = {}\ndef f(x): return x + Labels.n",
    "object": (
        "class Labels(metaclass=Table):\n    def __init__(self): self.n = {}\n"
        "LABELS = Labels()\ndef f(x): return x + LABELS.n"
    ),
    "object that counts": (
        "class Labels(metaclass=Table):\n    def __init__(self): self.n = {}\n"
        "LABELS = Labels()\ndef f(x):\n    LABELS.n += 1\n    return x"
    ),
    "object that is a table": (
        "class Labels(metaclass=Table):\n    def __init__(self): self.n = {}\n"
        "    def __getitem__(self, k): return k\nLABELS = Labels()\ndef f(x): return x + LABELS[x]"
    ),
    "object that cannot be copied": (
        "class Labels(metaclass=Table):\n    def __init__(self): self.n = {}\n"
        "    def __reduce__(self): return Labels, (self.n,)\n"
        "LABELS = Labels()\ndef f(x): return x + LABELS.n"
    ),
    "decorator": (
        "class Wrapped:\n    def __init__(self, f): self.f = f\n"
        "    def __getattr__(self, name): return {{}}[name]\n"
        "    def __get__(self, o, t): return self.f\n"
        "class Labels:\n    @Wrapped\n    def go(x): return x + {}\n"
        "    @Wrapped\n    def come(x): return x\ndef f(x): return Labels.go(x)"
    ),
    "method of an object": (
        "import types\nclass Call:\n    def __init__(self, n): self.n = n\n"
        "    def __call__(self, owner, x): return x + self.n\n"
        "    def __getattr__(self, name): return {{}}[name]\n"
        "METHOD = types.MethodType(Call({}), 3)\ndef f(x): return METHOD(x)"
    ),
    "slots": (
        "class Slots:\n    __slots__ = ('n',)\n    def __init__(self): self.n = {}\n"
        "    def __getattr__(self, name): return {{}}[name]\n"
        "SLOTS = Slots()\ndef f(x): return x + SLOTS.n"
    ),
}


@pytest.mark.parametrize("use", USES)
def test_attributes_that_raise_are_not_asked_for(use: str, load: Load) -> None:
    sources = (TABLE + USES[use].format(n) for n in (1, 1, 2))
    one, same, other = (fingerprint_of_value(load(source).f).digest for source in sources)
    assert one == same
    assert (one != other) or use == "object that counts"


def test_snapshot_of_a_class_with_attributes_that_raise(load: Load, tmp_path: object) -> None:
    module = load(
        TABLE + "class Labels(metaclass=Table):\n    pass\ndef f(x): return x + Labels.cat"
    )
    dataset = Dataset.range(3).map(module.f).snapshot(str(tmp_path))
    assert [int(x) for x in dataset] == [3, 4, 5]
    assert [int(x) for x in dataset] == [3, 4, 5]
