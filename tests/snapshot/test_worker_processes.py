"""A snapshot whose stages run in worker processes: what it stores, and how it goes on."""

from __future__ import annotations

import functools
import importlib
import os
import signal
import subprocess
import sys
import threading
import types
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keepset as ks
from keepset.snapshot.upkeep.checking import check_snapshot
from keepset.snapshot.upkeep.repairing import repair_snapshot
from keepset.storage import open_store
from keepset.workers import agreement


def test_an_interrupted_pass_goes_on_behind_a_shuffle_of_an_interleave(tmp_path: Path) -> None:
    def make(place: str) -> ks.Dataset:
        ds = ks.Dataset.range(12).interleave(
            lambda x: ks.Dataset.range(3), 2, num_parallel_calls=2, executor="process"
        )
        return ds.shuffle(8, seed=2).snapshot(str(tmp_path / place))

    whole = [int(x) for x in make("whole")]
    assert len(whole) == 36
    assert [int(x) for x in make("cut").take(10)] == whole[:10]
    assert [int(x) for x in make("cut")] == whole


def test_a_worker_that_dies_while_a_pass_is_resumed_costs_time_and_no_elements(
    tmp_path: Path,
) -> None:
    bomb = tmp_path / "bomb"

    def slow(x: np.int64) -> int:
        if bomb.exists():
            bomb.unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        return int(x) * 2

    def make() -> ks.Dataset:
        ds = ks.Dataset.range(9).map(slow, num_parallel_calls=1, executor="process")
        return ds.snapshot(str(tmp_path / "kept"), fingerprint="doubled")

    assert [int(x) for x in make().take(4)] == [0, 2, 4, 6]
    bomb.touch()
    with pytest.warns(UserWarning, match="while the pass was being resumed behind the 4 elements"):
        got = [int(x) for x in make()]
    assert got == list(range(0, 18, 2))


SETTINGS = """
import io
import logging
import numpy as np

SIZE = 1
cfg = {"k": 1}
class Missing: pass
MISSING = Missing()
EARLY = None
PLAIN = object()
MODE = PLAIN
FAST = object()
class Nothing: __slots__ = ()
NOTHING = Nothing()
class Registry:
    def __init__(self): self.gain = 3
registry = Registry()
class Text(io.StringIO): pass
text = Text()
class Slotted:
    __slots__ = ("k", "__dict__")
    def __init__(self): self.k = 1
slotted = Slotted()
LARGE = np.ones(1 << 18)
OBJECTS = np.array([{"k": 1}, {"k": 2}], object)
TABLE = {0: MISSING, 1: 10, 3: MISSING}
def of_table(x): return 0 if TABLE[int(x)] is MISSING else 1
log = logging.getLogger("settings")
memo = {}
rng = np.random.default_rng()


def helper(x):
    return x


class Holder:
    k = 1


class Sub(Holder):
    k = 2


class Outer:
    class Inner(Holder):
        k = 2

        @classmethod
        def of_base(cls):
            return Holder.k


class Kind:
    def method(self, x):
        return x

    @classmethod
    def of_class(cls, x):
        return x

    @classmethod
    def set_size(cls, size):
        global SIZE
        SIZE = size


class Scaler:
    def __init__(self):
        self.k = 5

    def __getstate__(self):
        return {}

    def __setstate__(self, state):
        self.k = 1


held = Holder()


def scaled(x):
    log.debug("one more")
    memo[int(x)] = 1
    return int(x) * SIZE


def reading_memo(x):
    rng.random()
    return int(x) * 5 + 0 * memo.setdefault(int(x), len(memo))
"""


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A module of the user's, as it is when it was imported."""
    name = f"settings_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(SETTINGS)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module(name)
    del sys.modules[name]


def fives(function: Callable[..., Any], tmp_path: Path) -> tuple[list[int], list[int]]:
    """What workers compute, and what a pass in this process finds stored or computes."""
    kept = str(tmp_path / "kept")
    ds = ks.Dataset.range(4)
    first = ds.map(function, num_parallel_calls=2, executor="process").snapshot(kept)
    return [int(x) for x in first], [int(x) for x in ds.map(function).snapshot(kept)]


FIVES = [0, 5, 10, 15]


def test_workers_have_what_was_set_in_a_module(settings: Any, tmp_path: Path) -> None:
    settings.SIZE = 5
    assert fives(lambda x: int(x) * settings.SIZE, tmp_path) == (FIVES, FIVES)
    assert fives(settings.scaled, tmp_path) == (FIVES, FIVES)


def test_workers_have_what_was_put_into_a_module(settings: Any, tmp_path: Path) -> None:
    settings.cfg["k"] = 5
    assert fives(lambda x: int(x) * settings.cfg["k"], tmp_path) == (FIVES, FIVES)
    settings.held.k = 5
    assert fives(lambda x: int(x) * settings.held.k, tmp_path) == (FIVES, FIVES)
    settings.helper = lambda x: x * 5
    assert fives(lambda x: int(settings.helper(x)), tmp_path) == (FIVES, FIVES)


def test_what_variables_share_is_one_object_in_workers(settings: Any, tmp_path: Path) -> None:
    settings.TABLE[2] = 20
    assert fives(settings.of_table, tmp_path) == ([0, 1, 1, 0], [0, 1, 1, 0])


def test_a_sentinel_of_a_module_is_the_same_in_workers(settings: Any, tmp_path: Path) -> None:
    captured, plain = settings.MISSING, settings.PLAIN

    def is_it(x: np.int64) -> int:
        return int(x) * (5 if captured is settings.MISSING and plain is settings.PLAIN else 1)

    assert in_workers(is_it) == FIVES
    assert fives(is_it, tmp_path) == (FIVES, FIVES)


def test_sentinels_are_the_same_in_workers_also_if_names_are_bound_anew(settings: Any) -> None:
    settings.MODE = settings.FAST  # stood for PLAIN
    assert in_workers(lambda x: int(x) * (5 if settings.MODE is settings.FAST else 1)) == FIVES
    settings.MODE = None
    settings.EARLY = settings.FAST  # stood for None, and comes first
    fast = settings.FAST
    assert in_workers(lambda x: int(x) * (5 if fast is settings.FAST else 1)) == FIVES
    nothing = settings.NOTHING  # has __slots__
    assert in_workers(lambda x: int(x) * (5 if nothing is settings.NOTHING else 1)) == FIVES


def test_a_sentinel_that_was_added_to_a_module_is_the_same_in_workers(settings: Any) -> None:
    settings.ADDED = added = object()
    assert in_workers(lambda x: int(x) * (5 if added is settings.ADDED else 1)) == FIVES


def test_objects_that_were_emptied_are_no_sentinels(settings: Any) -> None:
    del settings.registry.gain
    assert in_workers(lambda x: int(x) * getattr(settings.registry, "gain", 5)) == FIVES
    captured = settings.registry
    assert in_workers(lambda x: int(x) * getattr(captured, "gain", 5)) == FIVES
    settings.text.write("12345")
    assert in_workers(lambda x: int(x) * len(settings.text.getvalue())) == FIVES
    settings.slotted.k = 5
    assert in_workers(lambda x: int(x) * settings.slotted.k) == FIVES


def test_a_class_whose_only_attribute_was_deleted_inherits_in_workers(settings: Any) -> None:
    del settings.Sub.k
    assert in_workers(lambda x: int(x) * 5 * settings.Sub.k) == FIVES


def test_what_is_one_object_here_and_two_in_a_worker_is_not_stored(
    settings: Any, tmp_path: Path
) -> None:
    captured = settings.held  # with content: it goes by value

    def is_it(x: np.int64) -> int:
        return int(x) * (5 if captured is settings.held else 1)

    settings.held.k = 7
    with pytest.warns(UserWarning, match=r"shared objects"):
        computed, again = fives(is_it, tmp_path)
    assert (computed, again) == ([0, 1, 2, 3], FIVES)


def test_workers_have_what_was_set_also_without_a_snapshot(settings: Any) -> None:
    settings.SIZE = 5
    ds = ks.Dataset.range(4).map(settings.scaled, num_parallel_calls=2, executor="process")
    assert [int(x) for x in ds] == FIVES


def test_a_module_that_cannot_be_looked_at_is_no_reason_to_trust_workers(
    settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Lazy(types.ModuleType):
        def __getattr__(self, name: str) -> Any:
            raise ImportError("install it first")

    monkeypatch.setitem(sys.modules, "lazy", Lazy("lazy"))
    settings.SIZE = 5
    assert fives(settings.scaled, tmp_path) == (FIVES, FIVES)


def test_what_cannot_be_compared_is_not_stored(
    settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise KeyError("odd")

    settings.SIZE = 5
    monkeypatch.setattr(agreement, "walked", fail)
    with pytest.warns(UserWarning, match=r"could not be compared: KeyError: 'odd'"):
        computed, again = fives(settings.scaled, tmp_path)
    assert (computed, again) == ([0, 1, 2, 3], FIVES)


def test_workers_have_an_object_array_as_it_was_changed(settings: Any) -> None:
    settings.OBJECTS[0]["k"] = 5
    assert in_workers(lambda x: int(x) * settings.OBJECTS[0]["k"]) == FIVES


def test_workers_have_a_large_array_as_it_was_changed_in_place(settings: Any) -> None:
    settings.LARGE[:] = 5
    assert in_workers(lambda x: int(x) * int(settings.LARGE[0])) == FIVES


def test_nested_data_sets_in_workers_have_what_was_set(settings: Any, tmp_path: Path) -> None:
    settings.SIZE = 5

    def nested(x: np.int64) -> ks.Dataset:
        return ks.Dataset.from_tensors(x).map(settings.scaled)

    def make(**how: Any) -> ks.Dataset:
        return ks.Dataset.range(4).interleave(nested, 1, **how).snapshot(str(tmp_path / "kept"))

    assert [int(x) for x in make(num_parallel_calls=1, executor="process")] == FIVES
    assert [int(x) for x in make()] == FIVES


def test_what_a_worker_has_otherwise_is_not_stored(settings: Any, tmp_path: Path) -> None:
    scaler = settings.Scaler()
    with pytest.warns(UserWarning, match=r"attribute k is 5 here and 1 in a worker process"):
        computed, again = fives(lambda x: int(x) * scaler.k, tmp_path)
    assert (computed, again) == ([0, 1, 2, 3], FIVES)


def in_workers(function: Callable[..., Any]) -> list[int]:
    ds = ks.Dataset.range(4).map(function, num_parallel_calls=2, executor="process")
    return [int(x) for x in ds]


def test_workers_have_what_was_set_on_a_class(settings: Any, tmp_path: Path) -> None:
    settings.Holder.k = 5
    assert in_workers(lambda x: int(x) * settings.Holder.k) == FIVES
    assert in_workers(lambda x: int(x) * settings.Outer.Inner.of_base()) == FIVES
    assert fives(lambda x: int(x) * settings.Holder.k, tmp_path) == (FIVES, FIVES)


def test_workers_have_attributes_that_were_added_to_a_class_or_deleted(settings: Any) -> None:
    settings.Holder.added = 5
    assert in_workers(lambda x: int(x) * settings.Holder.added) == FIVES
    settings.Holder.k = 5
    del settings.Outer.Inner.k
    assert in_workers(lambda x: int(x) * settings.Outer.Inner.k) == FIVES


def test_workers_have_methods_that_were_replaced(settings: Any, tmp_path: Path) -> None:
    settings.Kind.method = lambda self, x: x * 5
    assert fives(lambda x: int(settings.Kind().method(x)), tmp_path) == (FIVES, FIVES)
    settings.Kind.of_class = classmethod(lambda cls, x: x * 5)
    assert in_workers(lambda x: int(settings.Kind.of_class(x))) == FIVES
    settings.Kind.size = property(lambda self: 5)
    assert in_workers(lambda x: int(x) * settings.Kind().size) == FIVES


def test_workers_have_functions_that_were_wrapped(settings: Any, tmp_path: Path) -> None:
    def fivefold(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapper(*arguments: Any) -> Any:
            return function(*arguments) * 5

        return wrapper

    settings.Kind.method = fivefold(settings.Kind.method)
    settings.helper = fivefold(settings.helper)
    assert fives(lambda x: int(settings.Kind().method(x)), tmp_path) == (FIVES, FIVES)
    assert fives(lambda x: int(settings.helper(x)), tmp_path) == (FIVES, FIVES)


def test_methods_that_were_not_replaced_use_the_variables_of_their_module(settings: Any) -> None:
    settings.SIZE, settings.Holder.k = 5, 7

    def together(x: np.int64) -> int:
        settings.Kind.set_size(3)
        return settings.SIZE

    assert in_workers(together) == [3, 3, 3, 3]


def test_what_cannot_be_sent_is_warned_of_without_a_snapshot(settings: Any) -> None:
    settings.Holder.k = threading.Lock()
    with pytest.warns(UserWarning, match=r"map\(.*Holder\.k \(a lock\).*cannot be pickled"):
        in_workers(lambda x: isinstance(settings.Holder.k, int))


def test_memos_generators_and_loggers_of_a_module_raise_no_alarm(
    settings: Any, tmp_path: Path
) -> None:
    settings.memo[100] = 1
    settings.rng.random()
    settings.log.setLevel("ERROR")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert fives(settings.reading_memo, tmp_path) == (FIVES, FIVES)
    assert not [each for each in caught if "worker process," in str(each.message)]


def test_what_a_worker_has_otherwise_does_not_fill_a_repaired_snapshot(
    settings: Any, tmp_path: Path
) -> None:
    scaler, kept = settings.Scaler(), tmp_path / "kept"

    def make(**how: Any) -> ks.Dataset:
        ds = ks.Dataset.range(8).map(lambda x: int(x) * scaler.k if x == 4 else int(x), **how)
        return ds.snapshot(kept, None, chunk_bytes=16)

    right = [int(x) for x in make()]
    [segment] = kept.glob("*/segments/*.arrow")
    store = open_store(segment.parents[1])
    chunk = check_snapshot(store).manifest.chunks[2].entry  # the elements 4 and 5
    data = bytearray(segment.read_bytes())
    data[chunk.offset + chunk.stored_bytes - 1] ^= 1
    segment.write_bytes(data)
    repair_snapshot(store, check_snapshot(store))
    with pytest.warns(UserWarning, match="in a worker process"):
        list(make(num_parallel_calls=2, executor="process"))
    assert [int(x) for x in make()] == right


STATE = """
import functools

T = None
MEMO = {}

def lazy(x):
    global T
    if T is None:
        T = 0
    return int(x) + T

def memo(x):
    if int(x) not in MEMO:
        MEMO[int(x)] = int(x)
    return MEMO[int(x)]

@functools.cache
def vocabulary():
    return []

def counted(x):
    return int(x) + sum(vocabulary())
"""


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A module whose functions hold state."""
    name = f"state_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(STATE)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module(name)
    del sys.modules[name]


def of_one_worker(function: Callable[..., Any], tmp_path: Path) -> tuple[list[int], list[int]]:
    """What a worker computes, and what a pass in this process finds stored or computes."""
    ds = ks.Dataset.range(4)
    first = ds.map(function, num_parallel_calls=1, executor="process").snapshot(tmp_path / "kept")
    return [int(x) for x in first], [int(x) for x in ds.map(function).snapshot(tmp_path / "kept")]


def test_a_worker_begins_with_the_state_that_functions_have_here(
    state: Any, tmp_path: Path
) -> None:
    state.T = 50
    assert of_one_worker(state.lazy, tmp_path) == ([50, 51, 52, 53], [50, 51, 52, 53])
    state.MEMO[2] = 99
    assert of_one_worker(state.memo, tmp_path) == ([0, 1, 99, 3], [0, 1, 99, 3])


def test_what_a_worker_makes_in_place_of_a_changed_result_is_not_stored(
    state: Any, tmp_path: Path
) -> None:
    assert of_one_worker(state.counted, tmp_path) == ([0, 1, 2, 3], [0, 1, 2, 3])
    state.vocabulary().append(50)
    with pytest.warns(UserWarning, match=r"cached result is \[50\] here and \(absent\)"):
        assert of_one_worker(state.counted, tmp_path)[1] == [50, 51, 52, 53]


MAIN = """
import dataclasses, enum, sys, warnings
import keepset as ks

warnings.simplefilter("error")

class Mode(enum.Enum):
    SMALL = 1
    LARGE = 2

@dataclasses.dataclass
class Config:
    mode: Mode = Mode.SMALL
    size: int = 3
    names: list = dataclasses.field(default_factory=list)

class Base:
    def plus(self, x): return x + 1

class Sub(Base):
    def __call__(self, x):
        return self.plus(x) + TABLE[config.mode] if isinstance(config, Config) else -1

config = Config()
TABLE = {Mode.SMALL: 5}
sub = Sub()

def scaled(x):
    return x * config.size if config.mode is Mode.SMALL else -2

workers = {"num_parallel_calls": 2, "executor": "process"}
ds = ks.Dataset.range(6).map(sub, **workers).map(scaled, **workers).snapshot(sys.argv[1])
for _ in range(2):
    print([int(x) for x in ds], ks.explain(ds, sys.argv[1]).hit)
"""


def test_classes_of_the_main_script_are_the_same_in_workers(tmp_path: Path) -> None:
    script = tmp_path / "main.py"
    script.write_text(MAIN)
    for _ in range(2):
        run = [sys.executable, str(script), str(tmp_path / "kept")]
        done = subprocess.run(run, capture_output=True, text=True, check=False)
        assert done.stderr == ""
        assert done.stdout == f"{[3 * (x + 6) for x in range(6)]} True\n" * 2
