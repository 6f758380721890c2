"""From a generator: live, converted to its signature, and started anew for each pass."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

import keepset as ks
from keepset.core.run import start


def test_it_never_runs_ahead_of_its_consumer() -> None:
    produced: list[int] = []

    def source() -> Iterator[int]:
        for i in range(1000):
            produced.append(i)
            yield i

    it = iter(ks.Dataset.from_generator(source).map(lambda x: x).filter(lambda x: True))
    for given in range(1, 30):
        next(it)
        assert len(produced) == given
    nested = ks.Dataset.range(1).flat_map(lambda _: ks.Dataset.from_generator(source))
    produced.clear()
    it = iter(nested)
    next(it)
    next(it)
    assert len(produced) == 2


def test_a_consumer_can_answer_what_it_was_given() -> None:
    answers = [0]

    def echo() -> Iterator[int]:
        while answers[-1] < 5:
            yield answers[-1]

    seen = []
    for x in ks.Dataset.from_generator(echo):
        seen.append(int(x))
        answers.append(int(x) + 1)
    assert seen == [0, 1, 2, 3, 4]


def test_each_pass_calls_the_function_again() -> None:
    starts: list[int] = []

    def source(stop: int) -> Iterator[int]:
        starts.append(stop)
        yield from range(stop)

    ds = ks.Dataset.from_generator(source, args=(3,))
    assert [int(x) for x in ds.repeat(2)] == [0, 1, 2, 0, 1, 2]
    assert [int(s) for s in starts] == [3, 3]


def test_a_signature_gives_the_dtype_and_is_checked() -> None:
    spec = {"x": ks.TensorSpec([None], "float32"), "y": ks.TensorSpec([], ks.string)}
    ds = ks.Dataset.from_generator(
        lambda: iter([{"x": [1, 2], "y": "a"}, {"x": [], "y": b"b"}]), output_signature=spec
    )
    assert ds.element_spec == spec
    first, second = ds
    assert first["x"].dtype == second["x"].dtype == np.float32
    wrong = ks.Dataset.from_generator(
        lambda: iter([1, "two"]), output_signature=ks.TensorSpec([], "int64")
    )
    with pytest.raises(ks.ElementError) as caught:
        list(wrong)
    assert "at element 1" in caught.value.__notes__[0]


def test_older_types_and_shapes_are_understood() -> None:
    ds = ks.Dataset.from_generator(
        lambda: iter([(1, [2.0])]), output_types=("int32", "float32"), output_shapes=((), (1,))
    )
    assert ds.element_spec == (ks.TensorSpec((), "int32"), ks.TensorSpec((1,), "float32"))
    assert next(iter(ds))[0].dtype == np.int32


def test_a_generator_object_is_refused_with_the_remedy() -> None:
    with pytest.raises(ks.InvalidArgumentError, match="pass the function"):
        ks.Dataset.from_generator(x for x in range(3))  # type: ignore[arg-type]


def test_what_was_yielded_before_an_error_is_given_first() -> None:
    def source() -> Iterator[int]:
        yield 1
        yield 2
        raise ConnectionError("lost")

    seen: list[list[int]] = []
    with pytest.raises(ConnectionError, match="lost") as caught:
        seen.extend(x.tolist() for x in ks.Dataset.from_generator(source).batch(1))
    assert seen == [[1], [2]]
    assert "at element 2" in caught.value.__notes__[0]


def test_dropping_the_iterator_closes_the_generator() -> None:
    closed: list[bool] = []

    def source() -> Iterator[int]:
        try:
            yield from range(10)
        finally:
            closed.append(True)

    it = iter(ks.Dataset.from_generator(source))
    next(it)
    del it
    assert closed == [True]


def test_numbers_of_all_kinds_may_be_mixed() -> None:
    mixed = [1, 2, 3, np.int64(4), 5, 2**63, 6.5, True, "text"]
    got = list(ks.Dataset.from_generator(lambda: iter(mixed * 3)))
    assert got == [1, 2, 3, 4, 5, 2**63, 6.5, True, b"text"] * 3
    assert {type(x) for x in got} == {np.int64, np.uint64, np.float64, np.bool_, bytes}


def test_a_number_beyond_the_signature_is_refused() -> None:
    spec = ks.TensorSpec([], "int64")
    ds = ks.Dataset.from_generator(lambda: iter([1, 2, 2**63, 4, 5]), output_signature=spec)
    seen: list[int] = []
    with pytest.raises(ks.ElementError, match="promised") as caught:
        seen.extend(int(x) for batch in ds.batch(2) for x in batch)
    assert seen == [1, 2]
    assert "at element 2" in caught.value.__notes__[0]
    assert [int(x) for x in ds.prefetch(9).ignore_errors()] == [1, 2, 4, 5]
    assert [x.tolist() for x in ds.batch(5).ignore_errors()] == [[4, 5]]


# Dicts that are alike, which become columns as they come:

LEAVES: list[Any] = [
    1, 2, 2**63, -(2**63), 2.5, True, "text", b"bytes", None, [1, 2], (1, b"x"), {"z": 1},
    np.int64(3), np.float32(4), np.bool_(True), np.datetime64(5, "s"), np.datetime64(6, "us"),
    np.arange(3), np.arange(4), np.arange(3.0), np.arange(3, dtype=">i4"), np.array(7),
    np.arange(0), np.arange(0.0),
    np.arange(6).reshape(2, 3), np.arange(6).reshape(3, 2).T, np.zeros((0, 2)),
    np.array(["a", "b"]), np.zeros(10_000), ks.Ragged(np.arange(3), [0, 1, 3]),
]  # fmt: skip


def text_of(element: Any) -> str:
    """All there is to an element: types, dtypes, shapes, the order of keys."""
    if isinstance(element, dict):
        return str([(key, text_of(item)) for key, item in element.items()])
    if isinstance(element, np.ndarray):
        return f"{element.dtype} {element.shape} {element.tolist()}"
    return f"{type(element)} {element!r}"


@hypothesis.given(
    st.lists(st.tuples(st.integers(0, len(LEAVES) - 1), st.booleans()), min_size=1, max_size=6),
    st.integers(16, 40),
)
def test_many_rows_at_once_are_what_they_are_one_by_one(
    kinds: list[tuple[int, bool]], size: int
) -> None:
    rows = [
        {"b": np.float32(i), "a": LEAVES[kind]} if turned else {"a": LEAVES[kind], "b": i}
        for kind, turned in kinds
        for i in range(20)
    ]
    one_by_one = list(map(text_of, ks.Dataset.from_generator(lambda: iter(rows))))
    node = ks.Dataset.from_generator(lambda: iter(rows))._node
    cursor = node.cursor(start(node))
    together: list[str] = []
    while chunk := cursor.read(size):
        together += map(text_of, chunk.rows)
    assert together == one_by_one
    again = node.cursor(start(node))
    again.read(size)
    behind = node.cursor(start(node))
    behind.restore(again.state())
    assert list(map(text_of, behind.read(1).rows)) == list(map(text_of, again.read(1).rows))


SPECS: list[ks.TensorSpec] = [
    *(ks.TensorSpec(shape, "int64") for shape in ((), (3,), (None,), None, (2, 3), (None, 3))),
    *(ks.TensorSpec(shape, "float64") for shape in ((), (3,), (None,), (0, 2))),
    ks.TensorSpec((), "string"),
    ks.TensorSpec((2,), "string"),
    ks.TensorSpec((), "float32"),
    ks.TensorSpec((), "bool"),
]


@hypothesis.given(
    st.lists(st.integers(0, len(LEAVES) - 1), min_size=1, max_size=4),
    st.sampled_from(SPECS),
    st.integers(16, 40),
)
def test_many_rows_that_were_promised_are_what_they_are_one_by_one(
    kinds: list[int], spec: ks.TensorSpec, size: int
) -> None:
    rows = [{"a": LEAVES[kind], "b": i} for kind in kinds for i in range(20)]
    promised = {"a": spec, "b": ks.TensorSpec((), "int64")}
    node = ks.Dataset.from_generator(lambda: iter(rows), output_signature=promised)._node

    def outcome(most: int) -> list[str]:
        cursor, found = node.cursor(start(node)), list[str]()
        while len(found) < len(rows):
            try:
                found += map(text_of, cursor.read(most).rows)
            except ks.ElementError as error:
                found.append(f"{error} {error.__notes__}")
        return found

    assert outcome(size) == outcome(1)


def test_a_buffer_that_is_used_again_is_copied_in_time() -> None:
    def source() -> Iterator[dict[str, Any]]:
        row: dict[str, Any] = {"x": np.zeros(4), "i": 0}
        for i in range(100):
            row["x"][:], row["i"] = i, i
            yield row

    batch = next(iter(ks.Dataset.from_generator(source).batch(100)))
    assert batch["x"][:, 0].tolist() == batch["i"].tolist() == list(range(100))
    assert batch["x"].flags.writeable


def test_an_error_comes_behind_the_rows_before_it() -> None:
    def source() -> Iterator[dict[str, int]]:
        for i in range(20):
            yield {"x": i}
        raise ConnectionError("lost")

    node = ks.Dataset.from_generator(source)._node
    cursor = node.cursor(start(node))
    assert [int(row["x"]) for row in cursor.read(100).rows] == list(range(20))
    with pytest.raises(ConnectionError, match="lost") as caught:
        cursor.read(100)
    assert "at element 20" in caught.value.__notes__[0]
    assert not len(cursor.read(100))


def test_a_number_beyond_64_bits_is_refused_where_it_is() -> None:
    rows = [{"x": i if i != 30 else 2**70} for i in range(50)]
    ds = ks.Dataset.from_generator(lambda: iter(rows))
    with pytest.raises(ks.ElementError, match="64 bits") as caught:
        list(ds.batch(25))
    assert "at element 30" in caught.value.__notes__[0]
    got = [int(e["x"]) for e in ds.prefetch(50).ignore_errors()]
    assert got == [i for i in range(50) if i != 30]
