"""A snapshot behind a snapshot, over functions that move state of their own."""

from __future__ import annotations

import errno
import functools
import types
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from tests.snapshot.test_pass_identity import kinds, program, values
from tests.snapshot.test_refusing_places import refuse_names

import keepset as ks
from keepset.core.fingerprint import value
from keepset.snapshot.identity.aliases import forget_aliases
from keepset.snapshot.identity.shared_state import forget_shared_state

FUNCTIONS = {
    "memo": """
        STATE = {}
        def function(x):
            calls.append(int(x))
            if int(x) not in STATE: STATE[int(x)] = int(x) ** 2
            return STATE[int(x)]
    """,
    "vocabulary": """
        STATE = {}
        def function(x):
            calls.append(int(x))
            return STATE.setdefault(int(x) % 3, len(STATE))
    """,
    "counter": """
        class Augment:
            def __init__(self): self.n = 0
            def __call__(self, x):
                calls.append(int(x))
                self.n += 1
                return x * 10 + self.n
        STATE = function = Augment()
    """,
}
BETWEEN: dict[str, Callable[[Any], Any]] = {
    "nothing": lambda ds: ds,
    "map": lambda ds: ds.map(lambda x: x * 2),
    "shuffle": lambda ds: ds.shuffle(3, seed=1),
    "repeat": lambda ds: ds.repeat(2),
    "sample_from_datasets": lambda ds: ks.Dataset.sample_from_datasets(
        [ks.Dataset.range(5), ds], seed=3
    ),
    "prefetch": lambda ds: ds.prefetch(2).batch(2).unbatch(),
}
COUNT = 5


class Case:
    """A pipeline of two snapshots, in processes that begin as the program says."""

    def __init__(self, text: str, between: Callable[[Any], Any], path: Path) -> None:
        self._text, self._between, self.path = text, between, path
        self.begin_process()

    def begin_process(self, state: Any = None) -> None:
        """Let another process begin, whose functions hold this state."""
        forget_aliases()
        forget_shared_state()
        self.user: types.ModuleType = program(self._text, calls=[])
        if state is not None:
            held = self.user.STATE
            held.update(state) if isinstance(held, dict) else vars(held).update(state)

    @property
    def state(self) -> dict[Any, Any]:
        held = self.user.STATE
        return dict(held if isinstance(held, dict) else vars(held))

    def inner(self, path: Path | None = None) -> ks.Dataset:
        ds = ks.Dataset.range(COUNT).map(self.user.function)
        return ds.snapshot((path or self.path) / "inner", ignore=["global calls"])

    def outer(self, path: Path | None = None) -> ks.Dataset:
        ds = self._between(self.inner(path))
        return ds.snapshot((path or self.path) / "outer", ignore=["global calls"])

    def calls(self) -> int:
        found = len(self.user.calls)
        self.user.calls.clear()
        return found


@pytest.fixture(params=BETWEEN)
def between(request: pytest.FixtureRequest) -> Callable[[Any], Any]:
    return BETWEEN[request.param]


@pytest.fixture(params=FUNCTIONS)
def text(request: pytest.FixtureRequest) -> str:
    return FUNCTIONS[request.param]


@pytest.fixture
def case(text: str, between: Callable[[Any], Any], tmp_path: Path) -> Iterator[Case]:
    made = Case(text, between, tmp_path)
    yield made
    made.begin_process()


def reference(case: Case, path: Path, state: Any = None) -> list[Any]:
    """What a process gives that begins with this state and finds nothing stored."""
    case.begin_process(state)
    found = values(case.outer(path))
    case.begin_process()
    return found


def test_each_function_runs_once_and_both_snapshots_are_stored(case: Case) -> None:
    first = values(case.outer())
    assert case.calls() == COUNT
    for _ in range(3):
        assert values(case.outer()) == first
        assert len(values(case.inner())) == COUNT
    case.begin_process()  # where nothing but what is stored is known
    assert values(case.outer()) == first
    assert len(values(case.inner())) == COUNT
    assert case.calls() == 0


@pytest.mark.filterwarnings("ignore:.*starts over. its functions hold state")
def test_an_interrupted_outer_pass_leaves_nothing_wrong(case: Case, tmp_path: Path) -> None:
    expected = reference(case, tmp_path / "reference")
    assert values(case.outer().take(3)) == expected[:3]
    moved = case.state
    again = values(case.outer())
    assert values(case.outer()) == again
    case.begin_process()
    for _ in range(2):
        assert values(case.outer()) == expected
    # A process that begins with the state that the first one had come to.
    of_moved = reference(case, tmp_path / "of moved", moved)
    case.begin_process(moved)
    assert values(case.outer()) == of_moved


def test_what_a_replay_was_stored_from_is_not_what_functions_compute_later(
    case: Case, tmp_path: Path
) -> None:
    expected = reference(case, tmp_path / "reference")
    values(case.inner())
    moved = case.state
    case.calls()
    for _ in range(2):
        assert values(case.outer()) == expected
    assert case.calls() == 0
    of_moved = reference(case, tmp_path / "of moved", moved)
    case.begin_process(moved)
    assert values(case.outer()) == of_moved
    case.begin_process()
    assert values(case.outer()) == expected


def test_an_edited_function_is_computed_again(case: Case, tmp_path: Path) -> None:
    values(case.outer())
    old = case.user.function
    text = case._text.replace("calls.append(int(x))", "calls.append(int(x)); x = x + 1")
    edited = Case(text, case._between, tmp_path)
    expected = reference(edited, tmp_path / "reference")
    for _ in range(2):
        assert values(edited.outer()) == expected
    assert edited.calls() == COUNT
    assert edited.user.function is not old


def test_the_outer_snapshot_without_the_inner_one_has_elements_of_its_own(tmp_path: Path) -> None:
    """Functions run again for a repetition if no snapshot replays what they gave."""
    case = Case(FUNCTIONS["counter"], lambda ds: ds.prefetch(2).repeat(2), tmp_path)
    replayed = values(case.outer())

    def without() -> list[Any]:
        case.begin_process()
        ds = ks.Dataset.range(COUNT).map(case.user.function).repeat(2)
        return values(ds.snapshot(tmp_path / "outer", ignore=["global calls"]))

    assert replayed == [1, 12, 23, 34, 45] * 2
    for _ in range(2):
        assert without() == [1, 12, 23, 34, 45, 6, 17, 28, 39, 50]
        case.begin_process()
        assert values(case.outer()) == replayed


def test_an_inner_snapshot_that_passes_through_replays_nothing(tmp_path: Path) -> None:
    case = Case(FUNCTIONS["counter"], BETWEEN["repeat"], tmp_path)

    def outer(mode: str) -> list[Any]:
        inner = ks.Dataset.range(COUNT).map(case.user.function)
        inner = inner.snapshot(tmp_path / "inner", ignore=["global calls"], mode=mode)
        return values(inner.repeat(2).snapshot(tmp_path / "outer", ignore=["global calls"]))

    once = [1, 12, 23, 34, 45]
    for mode, expected in (("passthrough", [*once, 6, 17, 28, 39, 50]), ("auto", once * 2)):
        for _ in range(2):
            assert outer(mode) == expected
        case.begin_process()
        assert outer(mode) == expected
        case.begin_process()


def test_explain_agrees_with_what_a_pass_does(case: Case) -> None:
    assert not ks.explain(case.outer(), case.path / "outer").hit
    values(case.outer())
    assert ks.explain(case.outer(), case.path / "outer").hit
    case.begin_process()
    assert ks.explain(case.outer(), case.path / "outer").hit


def test_two_inner_passes_at_once_disturb_the_outer_one_too(tmp_path: Path) -> None:
    case = Case(FUNCTIONS["counter"], lambda ds: ks.Dataset.zip((ds, ds)), tmp_path)
    with pytest.warns(UserWarning, match="another pass has run functions"):
        values(case.outer())
    case.begin_process()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        values(case.inner())
        expected = [[n, n] for n in (1, 12, 23, 34, 45)]
        assert values(case.outer()) == expected
        case.begin_process()
        assert values(case.outer()) == expected


def test_a_function_of_shards_that_moves_the_state_of_an_inner_snapshot_disturbs_it(
    tmp_path: Path,
) -> None:
    case = Case(FUNCTIONS["vocabulary"], BETWEEN["nothing"], tmp_path)
    user = case.user

    def shard(x: Any) -> int:
        return int(user.STATE.setdefault(int(x) + 7, 1))

    with pytest.warns(UserWarning, match="another pass has run functions"):
        values(case.inner().snapshot(tmp_path / "outer", shard_func=shard, ignore=["global calls"]))
    assert all(commits[-1] != "complete" for commits in kinds(tmp_path / "inner").values())


def test_what_is_computed_twice_as_it_is_not_stored_is_not_stored_behind_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = Case(FUNCTIONS["counter"], BETWEEN["repeat"], tmp_path)
    with monkeypatch.context() as patch:
        refuse_names(patch, errno.ECONNREFUSED, below="/inner")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert values(case.outer()) == [1, 12, 23, 34, 45, 6, 17, 28, 39, 50]
    assert any("another pass has run functions" in str(each.message) for each in caught)
    case.begin_process()
    assert values(case.outer()) == [1, 12, 23, 34, 45] * 2


@pytest.mark.parametrize("workers", [None, 2])
def test_a_cache_that_is_filled_before_an_inner_snapshot_begins_is_the_functions_own(
    tmp_path: Path, workers: int | None
) -> None:
    @functools.cache
    def table() -> list[int]:
        return [2 * i for i in range(50)]

    def looked_up(x: Any) -> Any:
        return x + table()[int(x)]

    numbers = ks.Dataset.range(3)
    one = numbers.map(looked_up, num_parallel_calls=workers)
    two = numbers.map(looked_up).snapshot(tmp_path / "inner")
    ds = ks.Dataset.zip((one, two)).map(lambda p, q: p + q).snapshot(tmp_path / "outer")
    for _ in range(2):  # a warning is an error
        assert [int(x) for x in ds] == [0, 6, 12]


def test_a_chain_of_snapshots_is_identified_a_few_times_for_each_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = program(FUNCTIONS["memo"], calls=[])
    ds = ks.Dataset.range(3).map(user.function)
    for i in range(12):
        ds = ds.snapshot(tmp_path / str(i), ignore=["global calls"]).map(lambda x: x + 1)
    walks = mock.Mock(wraps=value.graph_and_own_state)
    monkeypatch.setattr(value, "graph_and_own_state", walks)
    assert values(ds) == [i**2 + 12 for i in range(3)]
    assert walks.call_count < 12 * 12 * 3
