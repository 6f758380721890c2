"""Functions see the context variables of the consumer, whichever thread runs them."""

import contextvars
import decimal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keepset as ks
from keepset.snapshot.reading.opening import fingerprints_at
from keepset.storage import open_store

scale: contextvars.ContextVar[int] = contextvars.ContextVar("scale", default=1)


@pytest.fixture
def scaled() -> Iterator[None]:
    token = scale.set(5)
    yield
    scale.reset(token)


def times(x: Any) -> int:
    return int(x) * scale.get()


def slow_times(x: Any) -> int:
    time.sleep(0.001)  # long enough to be handed to threads
    return int(x) * scale.get()


def generated() -> Iterator[int]:
    for i in range(40):
        yield i * scale.get()


def scaled_range(x: Any) -> ks.Dataset:
    return ks.Dataset.range(int(x), int(x) + 1).map(slow_times)


def base() -> ks.Dataset:
    return ks.Dataset.range(40)


Make = Callable[[], ks.Dataset]

THREADED: dict[str, Make] = {
    "prefetch": lambda: base().map(times).prefetch(2),
    "prefetch, twice": lambda: base().map(times).prefetch(2).prefetch(3),
    "prefetch, automatic": lambda: base().map(times).prefetch(ks.AUTOTUNE),
    "prefetched generator": lambda: ks.Dataset.from_generator(
        generated, output_signature=ks.TensorSpec((), np.int64)
    ).prefetch(4),
    "map": lambda: base().map(slow_times, num_parallel_calls=3),
    "quick map": lambda: base().map(times, num_parallel_calls=3),
    "automatic map": lambda: base().map(slow_times, num_parallel_calls=ks.AUTOTUNE),
    "unordered map": lambda: base().map(slow_times, num_parallel_calls=3, deterministic=False),
    "random_map": lambda: base().random_map(lambda x, rng: times(x), seed=3).prefetch(2),
    "filter behind prefetch": lambda: (
        base().map(times).prefetch(2).filter(lambda x: x % scale.get() == 0).prefetch(2)
    ),
    "interleave": lambda: base().interleave(scaled_range, cycle_length=3, num_parallel_calls=3),
    "interleave, prefetched": lambda: base().interleave(scaled_range, cycle_length=3).prefetch(2),
    "flat_map of parallel maps": lambda: (
        ks.Dataset.range(4)
        .flat_map(
            lambda i: ks.Dataset.range(int(i) * 10, int(i) * 10 + 10).map(
                slow_times, num_parallel_calls=2
            )
        )
        .prefetch(2)
    ),
    "map within interleave": lambda: ks.Dataset.range(4).interleave(
        lambda i: ks.Dataset.range(int(i) * 10, int(i) * 10 + 10).map(
            slow_times, num_parallel_calls=2
        ),
        cycle_length=2,
        num_parallel_calls=2,
    ),
}


@pytest.mark.usefixtures("scaled")
@pytest.mark.parametrize("name", THREADED)
def test_threads_see_the_variables_of_the_consumer(name: str) -> None:
    assert sorted(int(x) for x in THREADED[name]()) == [5 * i for i in range(40)]


@pytest.mark.parametrize("name", THREADED)
def test_what_threads_compute_is_stored_under_the_value_they_saw(name: str, tmp_path: Path) -> None:
    for value in (5, 7, 5):
        token = scale.set(value)
        given = [int(x) for x in THREADED[name]().snapshot(tmp_path)]
        scale.reset(token)
        assert sorted(given) == [value * i for i in range(40)]
    assert len(fingerprints_at(open_store(tmp_path))) == 2


@pytest.mark.usefixtures("scaled")
def test_a_snapshot_that_a_thread_reads_has_the_fingerprint_of_the_consumer(tmp_path: Path) -> None:
    assert [int(x) for x in base().map(times).snapshot(tmp_path).prefetch(2)][1] == 5
    assert [int(x) for x in base().map(times).snapshot(tmp_path)][1] == 5
    assert len(fingerprints_at(open_store(tmp_path))) == 1


def third(x: Any) -> str:
    time.sleep(0.001)
    return str(decimal.Decimal(int(x) + 1) / 3)


@pytest.mark.parametrize("workers", ["prefetch", "map"])
def test_threads_compute_with_the_precision_of_the_consumer(tmp_path: Path, workers: str) -> None:
    def pipeline() -> ks.Dataset:
        if workers == "prefetch":
            return base().map(third).prefetch(2)
        return base().map(third, num_parallel_calls=2)

    for digits in (5, 9):
        with decimal.localcontext() as context:
            context.prec = digits
            expected = [third(x) for x in range(40)]
            # Apart, as the fingerprint does not count the precision.
            kept = pipeline().snapshot(tmp_path / str(digits))
            assert [x.decode() for x in kept] == expected


def inverse(x: Any) -> float:
    return float(np.float64(1.0) / (np.float64(x) - 3))


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.0.0", reason="of the thread before 2")
def test_threads_treat_errors_of_numpy_as_the_consumer_does() -> None:
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        list(base().map(inverse).prefetch(2))
    with np.errstate(divide="ignore"):
        assert np.inf in list(base().map(inverse, num_parallel_calls=2))


def test_a_generator_comes_back_to_its_context() -> None:
    def ignoring() -> Iterator[float]:
        with np.errstate(divide="ignore"):
            for i in range(20):
                yield inverse(i)

    def source(_: Any) -> ks.Dataset:
        return ks.Dataset.from_generator(ignoring, output_signature=ks.TensorSpec((), np.float64))

    ds = ks.Dataset.range(6).interleave(source, cycle_length=3, num_parallel_calls=3)
    assert len(list(ds)) == 120


OF_A_GENERATOR: dict[str, Callable[[ks.Dataset], ks.Dataset]] = {
    "alone": lambda ds: ds,
    "prefetch": lambda ds: ds.prefetch(2),
    "map": lambda ds: ds.map(slow_times, num_parallel_calls=2),
    "interleave": lambda ds: ks.Dataset.range(1).interleave(lambda _: ds, num_parallel_calls=2),
}


@pytest.mark.parametrize("name", OF_A_GENERATOR)
@pytest.mark.parametrize("elsewhere", [False, True])
@pytest.mark.parametrize("taken", [1, 3])
def test_a_generator_is_closed_in_its_context(name: str, elsewhere: bool, taken: int) -> None:
    seen: list[Any] = []

    def generator() -> Iterator[int]:
        token = scale.set(3)
        try:
            yield from range(1000)
        finally:
            seen.append(scale.get())
            scale.reset(token)
            seen.append(scale.get())

    source = ks.Dataset.from_generator(generator, output_signature=ks.TensorSpec((), np.int64))
    it = iter(OF_A_GENERATOR[name](source))
    for _ in range(taken):
        next(it)
    assert scale.get() == 1  # what it sets is its own
    contextvars.Context().run(it.close) if elsewhere else it.close()
    assert seen == [3, 1]


def test_a_generator_that_cannot_end_says_so() -> None:
    def generator() -> Iterator[int]:
        while True:
            try:
                yield 1
            except GeneratorExit:
                yield 2

    it = iter(ks.Dataset.from_generator(generator))
    next(it)
    with pytest.raises(RuntimeError, match="ignored GeneratorExit"):
        it.close()


def test_an_iterator_that_its_generator_closes_ends() -> None:
    def generator() -> Iterator[int]:
        yield 1
        its[0].close()
        yield 2

    its = [iter(ks.Dataset.from_generator(generator).prefetch(1))]
    assert len(list(its[0])) <= 2


@pytest.mark.parametrize("name", ["prefetch", "map", "quick map", "interleave"])
def test_a_variable_that_the_consumer_changes_voids_what_is_stored(
    tmp_path: Path, name: str
) -> None:
    def changing() -> list[int]:
        given = []
        for x in THREADED[name]().snapshot(tmp_path):
            given.append(int(x))
            scale.set(7)
        return given

    token = scale.set(5)
    with pytest.warns(UserWarning, match="scale"):
        given = changing()
    assert given[0] == 0
    if name != "interleave":  # whose function runs in the thread of the consumer
        assert given == [5 * i for i in range(40)]
    for value in (5, 7):
        scale.set(value)
        assert [int(x) for x in THREADED[name]().snapshot(tmp_path)] == [
            value * i for i in range(40)
        ]
    scale.reset(token)


@pytest.mark.parametrize("name", ["prefetch", "map"])
def test_a_variable_that_changes_before_the_first_element_counts_as_it_is_then(
    tmp_path: Path, name: str
) -> None:
    token = scale.set(5)
    it = iter(THREADED[name]().snapshot(tmp_path))
    scale.set(7)
    given = [int(x) for x in it]
    assert given == [int(x) for x in THREADED[name]().snapshot(tmp_path)]
    assert given == [7 * i for i in range(40)]
    scale.reset(token)
