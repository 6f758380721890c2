"""What ``lru_cache`` and ``cached_property`` hold counts once the program changes it."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest
from tests.snapshot.test_pass_identity import kinds, program, values, while_looping

import keepset as ks
from keepset.core.fingerprint import held_results as module
from keepset.core.fingerprint.held_results import held_results
from keepset.snapshot.identity.aliases import forget_aliases
from keepset.snapshot.identity.shared_state import forget_shared_state

# Programs whose `f` looks numbers up in what a cache holds: `held()` is that value.
LOOKING = {
    "lru_cache": """
        @functools.lru_cache
        def held():
            return {i: i * 10 for i in range(6)}

        def f(x):
            return held()[int(x)]
        """,
    "cache": """
        @functools.cache
        def held():
            return np.arange(6) * 10

        def f(x):
            return held()[int(x)]
        """,
    "object": """
        class Table:
            def __init__(self):
                self.rows = [i * 10 for i in range(6)]

            def __setitem__(self, key, value):
                self.rows[key] = value

        @functools.lru_cache(maxsize=None)
        def held():
            return Table()

        def f(x):
            return held().rows[int(x)]
        """,
    "cached_property": """
        class Looking:
            @functools.cached_property
            def table(self):
                return [i * 10 for i in range(6)]

            def __call__(self, x):
                return self.table[int(x)]

        f = Looking()

        def held():
            return f.table
        """,
    "cached_property of a class that says what a copy gets": """
        class Looking:
            def __getstate__(self):
                return {}

            @functools.cached_property
            def table(self):
                return [i * 10 for i in range(6)]

            def __call__(self, x):
                return self.table[int(x)]

        f = Looking()

        def held():
            return f.table
        """,
}
# Programs whose `f` numbers what it meets in what a cache holds.
GROWING = {
    "dict": """
        @functools.lru_cache
        def held():
            return {}

        def f(x):
            words = held()
            return words.setdefault(int(x) % 3, len(words))
        """,
    "object": """
        class Vocabulary:
            def __init__(self):
                self.numbers = {}

            def number(self, word):
                return self.numbers.setdefault(word, len(self.numbers))

        @functools.cache
        def held():
            return Vocabulary()

        def f(x):
            return held().number(int(x) % 3)
        """,
    "helper": """
        @functools.cache
        def held():
            return {}

        def number(words, word):
            if word not in words:
                words[word] = len(words)
            return words[word]

        def f(x):
            return number(held(), int(x) % 3)
        """,
    "cached_property": """
        class Numbering:
            @functools.cached_property
            def words(self):
                return {}

            def __call__(self, x):
                return self.words.setdefault(int(x) % 3, len(self.words))

        f = Numbering()

        def held():
            return f.words
        """,
}
PLAIN = [0, 10, 20, 30, 40, 50]


@pytest.fixture(params=LOOKING)
def looking(request: Any) -> Any:
    return functools.partial(fresh, LOOKING[request.param])


@pytest.fixture(params=GROWING)
def growing(request: Any) -> Any:
    return functools.partial(fresh, GROWING[request.param])


def fresh(text: str) -> Any:
    """A program as another process would have it."""
    forget_aliases()
    forget_shared_state()
    module._known.clear()
    return program(text, functools=functools)


def stored(user: Any, path: Path, count: int = 6) -> ks.Dataset:
    return ks.Dataset.range(count).map(user.f).snapshot(path)


def test_what_functions_make_for_their_next_call_does_not_count(
    tmp_path: Path, looking: Any
) -> None:
    for _ in range(2):
        user = looking()
        for _ in range(3):
            assert values(stored(user, tmp_path)) == PLAIN
    assert len(kinds(tmp_path)) == 1


def test_one_that_was_changed_before_the_pass_counts(tmp_path: Path, looking: Any) -> None:
    assert values(stored(looking(), tmp_path)) == PLAIN
    for number in (77, 78):
        user = looking()
        user.held()[3] = number
        assert values(stored(user, tmp_path)) == [0, 10, 20, number, 40, 50]
    assert values(stored(looking(), tmp_path)) == PLAIN


def test_one_that_changes_between_two_passes_counts(tmp_path: Path, looking: Any) -> None:
    user = looking()
    ds = stored(user, tmp_path)
    assert values(ds) == PLAIN
    user.held()[3] = 77
    assert values(ds) == [0, 10, 20, 77, 40, 50]
    user.held()[3] = 30
    assert values(ds) == PLAIN
    assert len(kinds(tmp_path)) == 2


def test_one_that_was_only_looked_at_before_leads_to_the_same_snapshot(
    tmp_path: Path, looking: Any
) -> None:
    assert values(stored(looking(), tmp_path)) == PLAIN
    user = looking()
    user.held()
    assert ks.explain(stored(user, tmp_path), tmp_path).hit
    assert values(stored(user, tmp_path)) == PLAIN
    assert len(kinds(tmp_path)) == 1


def test_one_that_the_loop_changes_during_a_pass_voids_the_pass(
    tmp_path: Path, looking: Any
) -> None:
    user = looking()

    def change(number: int) -> None:
        user.held()[3] = 77

    with pytest.warns(UserWarning, match="changed while elements were computed"):
        while_looping(stored(user, tmp_path), change)
    assert values(stored(user, tmp_path)) == [0, 10, 20, 77, 40, 50]
    assert values(stored(looking(), tmp_path)) == PLAIN


def test_two_pipelines_may_share_one(tmp_path: Path, looking: Any) -> None:
    user = looking()
    for _ in range(3):
        assert values(stored(user, tmp_path)) == PLAIN
        assert values(stored(user, tmp_path, 4)) == PLAIN[:4]
    assert len(kinds(tmp_path)) == 2


def test_a_pass_that_only_looks_things_up_is_resumed(tmp_path: Path, looking: Any) -> None:
    list(stored(looking(), tmp_path).take(3))
    assert values(stored(looking(), tmp_path)) == PLAIN
    assert [each for each in kinds(tmp_path).values() if "reset" in each] == []


def test_one_that_functions_change_is_their_own_state(tmp_path: Path, growing: Any) -> None:
    for _ in range(2):
        user = growing()
        for _ in range(3):
            assert values(stored(user, tmp_path)) == [0, 1, 2, 0, 1, 2]
    assert len(kinds(tmp_path)) == 1


def test_a_pass_that_changes_one_is_not_resumed(tmp_path: Path, growing: Any) -> None:
    list(stored(growing(), tmp_path).take(2))
    with pytest.warns(UserWarning, match="starts over"):
        assert values(stored(growing(), tmp_path)) == [0, 1, 2, 0, 1, 2]


def test_a_pipeline_that_comes_later_sees_what_an_earlier_one_has_left(
    tmp_path: Path, growing: Any
) -> None:
    def backwards(user: Any) -> ks.Dataset:
        return ks.Dataset.range(5, -1, -1).map(user.f).snapshot(tmp_path)

    user = growing()
    assert values(backwards(user)) == [0, 1, 2, 0, 1, 2]
    user = growing()
    assert values(stored(user, tmp_path)) == [0, 1, 2, 0, 1, 2]
    # Replayed elements fill nothing, computed ones do.
    assert values(backwards(user)) in ([0, 1, 2, 0, 1, 2], [2, 1, 0, 2, 1, 0])
    user = growing()
    values(ks.Dataset.range(6).map(user.f))
    assert values(backwards(user)) == [2, 1, 0, 2, 1, 0]


def test_results_without_content_do_not_matter(tmp_path: Path) -> None:
    text = """
        import threading

        class Model:
            def __init__(self):
                self.lock = threading.Lock()

        @functools.cache
        def model():
            return Model()

        def f(x):
            with model().lock:
                return x + 1
        """
    user = fresh(text)
    user.model()
    assert values(stored(user, tmp_path)) == values(stored(fresh(text), tmp_path))
    assert len(kinds(tmp_path)) <= 2


def test_a_number_that_a_cache_holds_is_no_state(tmp_path: Path) -> None:
    text = """
        @functools.cache
        def offset():
            return 7

        def f(x):
            total = offset()
            total += x
            return total
        """
    list(stored(fresh(text), tmp_path).take(3))
    assert values(stored(fresh(text), tmp_path)) == [7, 8, 9, 10, 11, 12]
    assert [each for each in kinds(tmp_path).values() if "reset" in each] == []


@pytest.mark.parametrize("maxsize", [None, 1, 128])
def test_what_a_cache_holds_is_found(maxsize: int | None) -> None:
    @functools.lru_cache(maxsize=maxsize)
    def empty() -> dict[str, int]:
        return {}

    @functools.lru_cache(maxsize=maxsize)
    def with_arguments(x: int = 0) -> list[int]:
        return [x]

    assert held_results(empty) == []
    assert empty() is held_results(empty)[0]
    with_arguments(3)
    assert held_results(with_arguments) == []
    found = with_arguments()
    assert held_results(with_arguments)[0] is found


def test_objects_without_weak_references_may_hold_results(tmp_path: Path) -> None:
    text = """
        class Words(tuple):
            @functools.cached_property
            def numbers(self):
                return {word: i for i, word in enumerate(self)}

        WORDS = Words(range(10, 16))

        def f(x):
            return WORDS.numbers[int(x) + 10]
        """
    for _ in range(2):
        user = fresh(text)
        for _ in range(2):
            assert values(stored(user, tmp_path)) == [0, 1, 2, 3, 4, 5]
    assert len(kinds(tmp_path)) == 1


def test_a_call_that_returns_an_empty_tuple_is_not_taken_for_the_key() -> None:
    @functools.lru_cache
    def found(x: int = 0) -> Any:
        return () if x else {"a": 1}

    found(1)
    found()
    assert held_results(found) in ([], [{"a": 1}])
