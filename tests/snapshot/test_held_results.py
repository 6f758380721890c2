"""What ``lru_cache`` and ``cached_property`` hold counts once the program changes it."""

from __future__ import annotations

import functools
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.snapshot.test_pass_identity import kinds, program, values, while_looping

import keepset as ks
from keepset.core.fingerprint import held_results as module
from keepset.core.fingerprint.held_results import held_results
from keepset.snapshot.identity.aliases import forget_aliases
from keepset.snapshot.identity.shared_state import forget_shared_state
from keepset.snapshot.writing import first_pass

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


# Programs whose `f` needs what a cache holds from element 3 on; `change()` changes that.
LATE = {
    "cache": """
        @functools.cache
        def held():
            return {"k": 1}

        def f(x):
            return int(x) * held()["k"] if x >= 3 else int(x)

        def change():
            held()["k"] = 100
        """,
    "bounded": """
        @functools.lru_cache(maxsize=1)
        def held():
            return [1]

        def f(x):
            return int(x) * held()[0] if x >= 3 else int(x)

        def change():
            held()[0] = 100
        """,
    "optional argument": """
        @functools.lru_cache
        def held(number=1):
            return {"k": number}

        def f(x):
            return int(x) * held()["k"] * held(1)["k"] if x >= 3 else int(x)

        def change():
            held()["k"] = 100
        """,
    "static method": """
        class Table:
            @staticmethod
            @functools.cache
            def held():
                return [1]

        def f(x):
            return int(x) * Table.held()[0] if x >= 3 else int(x)

        def change():
            Table.held()[0] = 100
        """,
    "cache of a cache": """
        @functools.cache
        def inner():
            return {"k": 1}

        @functools.cache
        def outer():
            return [inner()]

        def f(x):
            return int(x) * outer()[0]["k"] if x >= 3 else int(x)

        def change():
            inner()["k"] = 100
        """,
    "cached_property": """
        class Looking:
            @functools.cached_property
            def table(self):
                return [1]

            def __call__(self, x):
                return int(x) * self.table[0] if x >= 3 else int(x)

        f = Looking()

        def change():
            f.table[0] = 100
        """,
    "cached_property that is replaced": """
        class Looking:
            @functools.cached_property
            def table(self):
                return [1]

            def __call__(self, x):
                return int(x) * self.table[0] if x >= 3 else int(x)

        f = Looking()

        def change():
            f.table = [100]
        """,
    "number that is replaced": """
        class Looking:
            @functools.cached_property
            def factor(self):
                return 1

            def __call__(self, x):
                return int(x) * self.factor if x >= 3 else int(x)

        f = Looking()

        def change():
            f.factor = 100
        """,
    "property of an object that a function made": """
        class Table:
            def __init__(self):
                self.rows = [1]

            @functools.cached_property
            def first(self):
                return [self.rows[0]]

        @functools.cache
        def table():
            return Table()

        def f(x):
            return int(x) * table().first[0] if x >= 3 else int(x) * table().rows[0]

        def change():
            table().first[0] = 100
        """,
}
COUNT = 12


@pytest.fixture(params=LATE)
def late(request: Any) -> Any:
    return functools.partial(fresh, LATE[request.param])


def one_by_one(user: Any, path: Path) -> ks.Dataset:
    """A snapshot whose functions do not run ahead of the consumer."""

    def source() -> Any:
        yield from range(COUNT)

    signature = ks.TensorSpec((), np.int64)
    numbers = ks.Dataset.from_generator(source, output_signature=signature)
    return numbers.map(user.f).snapshot(path)


def changing_at(place: int, user: Any) -> Any:
    return lambda number: user.change() if number == place else None


def as_computed(user: Any) -> list[Any]:
    return [int(user.f(x)) for x in range(COUNT)]


@pytest.mark.parametrize("place", [0, 1, 6, COUNT - 1])
def test_one_that_appears_late_is_stored_as_the_functions_made_it(
    tmp_path: Path, late: Any, place: int
) -> None:
    user = late()
    with pytest.warns(UserWarning, match="changed while elements were computed"):
        while_looping(one_by_one(user, tmp_path), changing_at(place, user))
    # What holds now is another snapshot, and that of another process is not a mixture.
    now = as_computed(user)
    for _ in range(2):
        assert values(one_by_one(user, tmp_path)) == now
    assert ks.explain(one_by_one(user, tmp_path), tmp_path).hit
    assert values(one_by_one(late(), tmp_path)) == list(range(COUNT))


@pytest.mark.parametrize("place", [1, 6])
def test_a_loop_that_changes_a_late_one_and_stops_leaves_no_mixture(
    tmp_path: Path, late: Any, place: int
) -> None:
    user = late()
    iterator = iter(one_by_one(user, tmp_path))
    for _ in range(place):
        next(iterator)
    user.change()
    with pytest.warns(UserWarning, match="changed while elements were computed"):
        iterator.close()
    assert values(one_by_one(user, tmp_path)) == as_computed(user)
    assert values(one_by_one(late(), tmp_path)) == list(range(COUNT))


def test_one_that_functions_need_late_is_stored_and_found_again(tmp_path: Path, late: Any) -> None:
    for _ in range(2):
        user = late()
        for _ in range(3):
            assert values(one_by_one(user, tmp_path)) == list(range(COUNT))
    assert len(kinds(tmp_path)) == 1


# With and without a commit while the cache is empty.
@pytest.mark.parametrize("interval_s", [0.0, 60.0])
def test_a_cache_that_the_loop_empties_and_fills_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, interval_s: float
) -> None:
    def emptying(number: int) -> None:
        if number == 6:
            user.held.cache_clear()
        if number == 8:
            user.change()

    text = LATE["cache"].replace("x >= 3", "3 <= x < 6 or x > 9")
    monkeypatch.setattr(first_pass, "_FIRST_COMMIT_S", interval_s)
    user = fresh(text)
    with pytest.warns(UserWarning, match="changed while elements were computed"):
        while_looping(one_by_one(user, tmp_path), emptying)
    assert values(one_by_one(fresh(text), tmp_path)) == list(range(COUNT))


def test_a_cache_that_the_loop_empties_may_be_filled_by_functions(tmp_path: Path) -> None:
    user = fresh(LATE["cache"])
    seen = while_looping(one_by_one(user, tmp_path), lambda number: user.held.cache_clear())
    assert seen == list(range(COUNT))
    assert ks.explain(one_by_one(user, tmp_path), tmp_path).hit
    assert ks.explain(one_by_one(fresh(LATE["cache"]), tmp_path), tmp_path).hit


def test_one_that_a_function_made_before_it_failed_is_known(tmp_path: Path) -> None:
    text = """
        @functools.cache
        def held():
            return {"k": 1}

        def f(x):
            if x == 3 and held():
                raise KeyError("three")
            return int(x) * held()["k"] if x > 3 else int(x)
        """
    user = fresh(text)
    iterator = iter(one_by_one(user, tmp_path))
    assert [int(next(iterator)) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(KeyError):
        next(iterator)
    user.held()["k"] = 100
    changed, plain = one_by_one(user, tmp_path), one_by_one(fresh(text), tmp_path)
    stored_names = set(kinds(tmp_path))
    assert ks.explain(plain, tmp_path).fingerprint in stored_names
    assert ks.explain(changed, tmp_path).fingerprint not in stored_names


def test_snapshots_of_one_pipeline_may_share_one(tmp_path: Path) -> None:
    text = """
        @functools.cache
        def held():
            return {"k": 1}

        def f(x):
            return int(x) * held()["k"] if x >= 9 else int(x)

        def g(x):
            return int(x) * held()["k"] if x >= 4 else int(x)
        """
    for _ in range(2):
        user = fresh(text)
        inner, outer = tmp_path / "inner", tmp_path / "outer"
        ds = one_by_one(user, inner).map(user.g).batch(3).snapshot(outer)
        for _ in range(2):
            assert np.concatenate(list(ds)).tolist() == list(range(COUNT))
    assert len(kinds(inner)) == len(kinds(outer)) == 1


@pytest.mark.parametrize("stages", ["prefetch", "threads"])
def test_functions_in_the_background_may_make_one_at_any_time(tmp_path: Path, stages: str) -> None:
    text = """
        import time

        @functools.cache
        def held():
            return {"k": 1}

        def f(x):
            time.sleep(0.002)
            return int(x) * held()["k"] if x >= 3 else int(x)
        """
    for _ in range(2):
        user = fresh(text)
        ds = ks.Dataset.range(COUNT).map(user.f, num_parallel_calls=2)
        if stages == "prefetch":
            ds = ks.Dataset.range(COUNT).map(user.f).prefetch(2)
        for _ in range(2):
            assert values(ds.snapshot(tmp_path)) == list(range(COUNT))
    assert len(kinds(tmp_path)) == 1


def test_variables_that_the_methods_of_a_result_count_do_not_change_it(tmp_path: Path) -> None:
    text = """
        calls = 0

        class Table:
            rows = 3

            def get(self, x):
                global calls
                calls += 1
                return x if calls else -1

        @functools.cache
        def held():
            return Table()

        def f(x):
            return held().get(int(x)) if x >= 3 else int(x)
        """
    user = fresh(text)
    for _ in range(2):
        assert values(one_by_one(user, tmp_path)) == list(range(COUNT))
    assert len(kinds(tmp_path)) == 1


def test_a_pass_of_another_thread_does_not_hide_who_made_a_value(tmp_path: Path) -> None:
    begun, over = threading.Event(), threading.Event()

    @functools.cache
    def other() -> dict[int, int]:
        return {}

    @functools.cache
    def vocabulary() -> dict[int, int]:
        return {}

    def slow(x: Any) -> Any:
        begun.set()
        assert over.wait(60)
        return x + len(other())

    def numbers() -> ks.Dataset:
        ds = ks.Dataset.range(3).map(lambda x: x + len(vocabulary()) if x else x)
        return ds.snapshot(tmp_path / "kept")

    thread = threading.Thread(
        target=lambda: list(
            ks.Dataset.range(1).map(slow).snapshot(tmp_path / "other", fingerprint="other")
        )
    )
    thread.start()
    assert begun.wait(60)
    try:
        for size in (1, 3):
            vocabulary.cache_clear()
            it = iter(numbers())
            first = int(next(it))
            for key in range(size):
                vocabulary()[key] = 1
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                assert [first, *map(int, it)] == [0, 1 + size, 2 + size]
    finally:
        over.set()
        thread.join()
