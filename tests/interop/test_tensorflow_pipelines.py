# ruff: noqa: E501  # a table is read by its columns: one line per case, however long
"""The same pipelines in Keepset and in TensorFlow: elements, specs and cardinalities."""

from collections.abc import Callable, Iterable
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from tests.interop.tensorflow_backend import TensorFlow
from tests.model import PLAIN, Pipeline, pipelines

import keepset as ks
from keepset.core.spec import is_compatible, map_spec
from keepset.core.structure import map_structure
from keepset.testing import assert_elements_equal

pytestmark = pytest.mark.interop


@cache
def tensorflow() -> TensorFlow:
    """Made when a test runs: the default suite collects this file without having TensorFlow."""
    return TensorFlow()


class Difference(NamedTuple):
    """Something that Keepset does otherwise on purpose, and why."""

    what: str
    reason: str


# Every way in which the comparison below is forgiving. docs/guide/from-tf-data.md tells users.
DIFFERENCES = {
    "literals": Difference(
        "Python numbers are int64 and float64, not int32 and float32",
        "one rule for literals and arrays, NumPy's; the cases here pass arrays",
    ),
    "found spec": Difference(
        "behind a Python function, shapes in element_spec are those of a first element, but for "
        "sizes that the input leaves open",
        "Python functions have no static types; dtypes and structure still agree",
    ),
    "unbatch behind a function": Difference(
        "the cardinality of unbatch is UNKNOWN where the size of the batches comes out of a function",
        "the same: only running it would tell",
    ),
    "rank-0 ragged": Difference(
        "rows of a Ragged are arrays, not ragged tensors of rank 0",
        "they are the same thing",
    ),
    "zip as a method": Difference(
        "a.zip(b) is zip(a, b); in TensorFlow it is zip(b), because the method is static",
        "nobody writes it and means the other",
    ),
    "failed batch": Difference(
        "the elements before and at the one that fails are lost from a batch, not those behind it",
        "so does TensorFlow unless its optimizer fuses map and batch, which is turned off here",
    ),
    "rebatch size": Difference(
        "rebatch has the size in its spec with drop_remainder only",
        "TensorFlow also finds it where all batches are known to be multiples of it",
    ),
    "known number": Difference(
        "the cardinality of unbatch of sparse or empty batches is a number and not UNKNOWN; so "
        "what follows may be known as well",
        "it is known, and true",
    ),
}


def compare(ours: Any, theirs: Any, *differs: str) -> None:
    """Assert that a Keepset and a TensorFlow data set are the same, but for these differences."""
    assert set(differs) <= DIFFERENCES.keys()
    expected = tensorflow().elements(theirs)
    got = [element_with_lists(element) for element in ours]
    assert_elements_equal(got, expected)
    cardinality = theirs.cardinality().numpy()
    allowed = {cardinality}
    if "known number" in differs and cardinality == ks.UNKNOWN_CARDINALITY:
        allowed.add(len(expected))
    if "unbatch behind a function" in differs:
        allowed.add(ks.UNKNOWN_CARDINALITY)
    assert ours.cardinality() in allowed
    compare_specs(ours, theirs, bool(expected), differs)


def element_with_lists(element: Any) -> Any:
    """A data set within an element becomes the list of its elements, as on the other side."""
    return map_structure(lambda leaf: list(leaf) if isinstance(leaf, ks.Dataset) else leaf, element)


def compare_specs(ours: Any, theirs: Any, is_filled: bool, differs: tuple[str, ...]) -> None:
    wanted = tensorflow().spec(theirs.element_spec)
    known = ours.__keepset_node__().known_spec()
    if known is not None and "rebatch size" in differs:
        assert is_compatible(known[0], wanted)
    elif known is not None:
        assert known[0] == wanted
    elif is_filled:
        # "found spec": sizes may differ, everything else may not.
        found = ours.element_spec
        assert is_compatible(map_spec(without_sizes, wanted), map_spec(without_sizes, found))


def without_sizes(leaf: Any) -> Any:
    return leaf if isinstance(leaf, ks.DatasetSpec) else leaf.with_shape(None)


@pytest.mark.filterwarnings("ignore:.*passed none of its")  # some random filters pass nothing
@settings(max_examples=60)
@given(pipelines())
def test_random_pipelines_are_the_same_in_tensorflow(pipeline: Pipeline) -> None:
    code = repr(pipeline)
    differs = ["rebatch size"] if ".rebatch(" in code else []
    if ".unbatch(" in code:
        differs += ["unbatch behind a function", "known number"]
    compare(pipeline.build(PLAIN), tensorflow().run(pipeline.build), *differs)


class Case(NamedTuple):
    name: str
    build: Callable[[Any], Any]
    differs: tuple[str, ...] = ()


def each(
    name: str,
    options: Iterable[tuple[Any, ...]],
    build: Callable[..., Any],
    *differs: str,
) -> list[Case]:
    """A case for each set of arguments, which ``build`` takes after the backend."""

    def with_arguments(arguments: tuple[Any, ...]) -> Callable[[Any], Any]:
        return lambda b: build(b, *arguments)

    def title(arguments: tuple[Any, ...]) -> str:
        return " ".join(getattr(a, "__name__", str(a)) for a in arguments)

    return [Case(f"{name} {title(args)}", with_arguments(args), differs) for args in options]


def fours(b: Any) -> Any:
    """0, 1, 2, 3 and so on, each as often as its rest by four, in arrays of unequal lengths."""
    return b.Dataset.range(11).map(lambda x: b.fill([x % 4], x))


def some(b: Any) -> Any:
    """Elements of unknown number."""
    return b.Dataset.range(9).filter(lambda x: x % 2 == 0)


def seven(b: Any) -> Any:
    return b.Dataset.range(7)


def nothing(b: Any) -> Any:
    return b.Dataset.range(0)


def none(b: Any) -> Any:
    return b.Dataset.range(9).filter(lambda x: x > 100)


def records(b: Any) -> Any:
    return b.Dataset.from_tensor_slices(
        {"x": np.arange(7), "y": (np.eye(7), np.array([b"a", b"bb"] * 4, object)[:7])}
    )


def triples(b: Any) -> Any:
    return b.Dataset.range(4).flat_map(lambda x: b.Dataset.from_tensors(x).repeat(3))


DTYPES = ["bool", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)), "float16", "float32", "float64", "complex64", "complex128"]  # fmt: skip
EXTENDED = ["bfloat16", "float8_e4m3fn", "int4"]  # TensorFlow cannot iterate over float8_e5m2
INTERLEAVED = [
    (cycle, block, calls)
    for cycle in (1, 2, 3, 5, 12)
    for block in (1, 2, 3, 7)
    for calls in (None, 1, 2, ks.AUTOTUNE)
    if calls is None or calls <= cycle
]

SOURCES = [
    *each("range", [(5,), (0,), (-3,), (2, 9, 3), (9, -2, -3), (5, 2), (2, 5, -1), (-4, 4, 2)], lambda b, *args: b.Dataset.range(*args)),
    *each("range", [("int32",), ("int64",), ("float32",), ("float64",), ("uint8",)], lambda b, name: b.Dataset.range(5, output_type=b.dtype(name))),
    Case("from_tensors", lambda b: b.Dataset.from_tensors({"a": np.arange(3), "b": (np.float32(1), b"x")})),
    Case("from_tensors ragged", lambda b: b.Dataset.from_tensors(b.ragged(np.arange(3), np.array([0, 1, 1, 3])))),
    Case("from_tensors sparse", lambda b: b.Dataset.from_tensors(b.sparse(np.eye(3)))),
    Case("from_tensor_slices records", records),
    Case("from_tensor_slices matrix", lambda b: b.Dataset.from_tensor_slices(np.arange(24).reshape(4, 3, 2))),
    Case("from_tensor_slices empty", lambda b: b.Dataset.from_tensor_slices(np.zeros((0, 3)))),
    Case("from_tensor_slices ragged", lambda b: b.Dataset.from_tensor_slices(b.ragged(np.arange(3), np.array([0, 1, 1, 3])))),
    Case("from_tensor_slices sparse", lambda b: b.Dataset.from_tensor_slices(b.sparse(np.eye(3)))),
    *each("from_tensor_slices", [(name,) for name in DTYPES], lambda b, name: b.Dataset.from_tensor_slices(np.arange(4).astype(name))),
    *each("from_tensor_slices", [(name,) for name in EXTENDED], lambda b, name: b.Dataset.from_tensor_slices(np.arange(4).astype(getattr(ml_dtypes, name)))),
    Case("from_generator", lambda b: b.Dataset.from_generator(lambda: iter(range(4)), output_signature=b.tensor_spec([], "int64"))),
    Case("from_generator nested", lambda b: b.Dataset.from_generator(lambda: iter([(1, {"a": [1.0, 2.0]}), (2, {"a": []})]), output_signature=(b.tensor_spec([], "int32"), {"a": b.tensor_spec([None], "float32")}))),
    Case("from_generator args", lambda b: b.Dataset.from_generator(lambda stop: iter(range(stop)), args=(np.int64(3),), output_signature=b.tensor_spec([], "float32"))),
    Case("from_generator unknown rank", lambda b: b.Dataset.from_generator(lambda: iter([np.zeros(2), np.zeros((1, 3))]), output_signature=b.tensor_spec(None, "float64"))),
    Case("from_generator types", lambda b: b.Dataset.from_generator(lambda: iter([(1, b"a")]), (b.dtype("int64"), b.tensor_spec([], "string").dtype), ([], []))),
    Case("counter", lambda b: b.Dataset.counter(3, -2).take(4)),
    Case("counter int32", lambda b: b.Dataset.counter(dtype=b.dtype("int32")).take(4)),
    Case("list_files", lambda b: b.Dataset.list_files(str(Path(__file__).parent / "*.py"), shuffle=False)),
]  # fmt: skip

ROWWISE = [
    Case("map", lambda b: b.Dataset.range(5).map(lambda x: x * 2)),
    Case("map list is tuple", lambda b: b.Dataset.range(5).map(lambda x: [x, x])),
    Case("map unpacks", lambda b: b.Dataset.range(5).enumerate().map(lambda i, x: {"sum": i + x, "pair": (i, x)})),
    Case("map dict is whole", lambda b: records(b).map(lambda d: d["x"])),
    Case("map parallel", lambda b: b.Dataset.range(50).map(lambda x: x * 2, num_parallel_calls=3)),
    Case("map autotune", lambda b: b.Dataset.range(50).map(lambda x: x * 2, num_parallel_calls=ks.AUTOTUNE)),
    Case("map parallel of unknown", lambda b: some(b).map(lambda x: x * 2, 2, deterministic=True)),
    Case("filter", some),
    Case("filter nothing", none),
    Case("filter unpacks", lambda b: b.Dataset.range(9).enumerate(2).filter(lambda i, x: i % 2 == 1)),
    Case("filter of empty", lambda b: b.Dataset.range(0).filter(lambda x: x > 1)),
    Case("take_while", lambda b: b.Dataset.range(9).take_while(lambda x: x < 4)),
    Case("take_while never", lambda b: b.Dataset.range(9).take_while(lambda x: x < 0)),
    Case("take_while all", lambda b: b.Dataset.range(9).take_while(lambda x: x < 99)),
    Case("scan", lambda b: b.Dataset.range(9).scan(np.int64(1), lambda s, x: (s + x, s * x))),
    Case("scan of unknown", lambda b: some(b).scan(np.int64(1), lambda s, x: (s + x, s * x))),
    Case("scan nested state", lambda b: b.Dataset.range(5).enumerate().scan({"n": np.int64(0), "last": np.int64(9)}, lambda s, x: ({"n": s["n"] + 1, "last": x[1]}, (s["last"], x)))),
    Case("enumerate", lambda b: b.Dataset.range(5).enumerate()),
    Case("enumerate from", lambda b: records(b).enumerate(start=3)),
    Case("unique", lambda b: b.Dataset.range(20).map(lambda x: x * x % 7).unique()),
    Case("unique strings", lambda b: b.Dataset.from_tensor_slices(np.array([b"b", b"a", b"b", b""], object)).unique()),
    Case("ignore_errors", lambda b: b.Dataset.range(9).map(b.checked).ignore_errors()),
    Case("ignore_errors batch", lambda b: b.Dataset.range(9).map(b.checked).batch(2).ignore_errors(), ("failed batch",)),
]  # fmt: skip

NESTING = [
    Case("flat_map", lambda b: b.Dataset.range(5).flat_map(lambda x: b.Dataset.range(x))),
    Case("flat_map twice", lambda b: b.Dataset.range(5).flat_map(lambda x: b.Dataset.range(x).flat_map(lambda y: b.Dataset.from_tensors(y).repeat(2)))),
    *each("interleave cycle, block, calls", INTERLEAVED, lambda b, cycle, block, calls: b.Dataset.range(9).interleave(lambda x: b.Dataset.range(10 * x, 10 * x + x % 4), cycle, block, calls)),
    Case("interleave equal", lambda b: b.Dataset.range(4).interleave(lambda x: b.Dataset.from_tensors(x).repeat(3), cycle_length=2, block_length=2)),
    Case("interleave empties first", lambda b: b.Dataset.range(6).interleave(lambda x: b.Dataset.range(b.key(x) // 3), 2, 1)),
    Case("interleave nothing", lambda b: b.Dataset.range(0).interleave(lambda x: b.Dataset.range(x), 2)),
    *each("window size, shift, stride, drop", product((1, 3, 9), (None, 1, 2, 5), (1, 2, 3), (False, True)), lambda b, *args: b.Dataset.range(7).window(*args)),
    Case("window of pairs", lambda b: b.Dataset.range(5).enumerate().window(2)),
    Case("window of dicts", lambda b: records(b).window(3)),
    Case("window of unknown", lambda b: some(b).window(2, drop_remainder=True)),
    Case("window batched", lambda b: b.Dataset.range(7).window(3, 1, drop_remainder=True).flat_map(lambda w: w.batch(3, drop_remainder=True))),
    *each("group_by_window", [(1,), (2,), (3,), (20,)], lambda b, size: b.Dataset.range(11).group_by_window(lambda x: 2 - x % 3, lambda k, w: w.batch(size), size)),
    Case("group_by_window sizes", lambda b: b.Dataset.range(20).group_by_window(lambda x: x % 3, lambda k, w: w.batch(10), window_size_func=lambda k: k + 1)),
    Case("group_by_window uses key", lambda b: b.Dataset.range(9).group_by_window(lambda x: x % 2, lambda k, w: w.map(lambda x: (k, x)), 3)),
    Case("group_by_window pairs", lambda b: b.Dataset.range(9).enumerate().group_by_window(lambda i, x: i % 2, lambda k, w: w.batch(2), 2)),
    Case("bucket_by_sequence_length", lambda b: fours(b).bucket_by_sequence_length(b.length, [1, 3], [2, 3, 2])),
    Case("bucket_by_sequence_length drops", lambda b: fours(b).bucket_by_sequence_length(b.length, [1, 3], [2, 3, 2], drop_remainder=True)),
    Case("bucket_by_sequence_length to boundary", lambda b: fours(b).bucket_by_sequence_length(b.length, [2, 4], [2, 3, 2], pad_to_bucket_boundary=True, padding_values=np.int64(-1))),
    Case("bucket_by_sequence_length shapes", lambda b: fours(b).bucket_by_sequence_length(b.length, [2, 4], [2, 3, 2], padded_shapes=[6])),
    Case("bucket_by_sequence_length unpadded", lambda b: fours(b).bucket_by_sequence_length(b.length, [1, 2, 3], [2, 3, 2, 2], no_padding=True)),
]  # fmt: skip

BATCHES = [
    *each("batch size, drop", product((1, 3, 7, 20), (False, True)), lambda b, size, drop: b.Dataset.range(7).batch(size, drop)),
    Case("batch records", lambda b: records(b).batch(3)),
    Case("batch parallel", lambda b: records(b).batch(3, num_parallel_calls=2)),
    Case("batch twice", lambda b: b.Dataset.range(12).batch(3, True).batch(2, True)),
    Case("batch of unknown", lambda b: some(b).batch(2)),
    Case("batch endless", lambda b: b.Dataset.counter().batch(2).take(3)),
    Case("batch sparse", lambda b: b.Dataset.from_tensor_slices(b.sparse(np.eye(5))).batch(2)),
    Case("batch ragged", lambda b: b.Dataset.from_tensor_slices(b.ragged(np.arange(6), np.array([0, 1, 1, 4, 6]))).ragged_batch(2).batch(2)),
    Case("padded_batch", lambda b: fours(b).padded_batch(4)),
    Case("padded_batch drops", lambda b: fours(b).padded_batch(4, drop_remainder=True)),
    Case("padded_batch to a shape", lambda b: fours(b).padded_batch(4, padded_shapes=[5])),
    Case("padded_batch to the longest", lambda b: fours(b).padded_batch(4, padded_shapes=[None])),
    Case("padded_batch value", lambda b: fours(b).padded_batch(4, padding_values=np.int64(-7))),
    Case("padded_batch nested", lambda b: fours(b).map(lambda x: {"x": x, "n": (b.key(x), b.floats(x))}).padded_batch(3, padded_shapes={"x": [4], "n": ([], [None])}, padding_values={"x": np.int64(1), "n": (np.int64(2), np.float32(3))})),
    Case("padded_batch strings", lambda b: b.Dataset.range(4).map(lambda x: b.fill([x], b"s")).padded_batch(3, padding_values=b"-")),
    Case("padded_batch matrices", lambda b: b.Dataset.range(5).map(lambda x: b.fill([x, 4 - x], x)).padded_batch(3)),
    Case("padded_batch scalars", lambda b: records(b).padded_batch(3)),
    Case("ragged_batch", lambda b: fours(b).ragged_batch(4)),
    Case("ragged_batch drops", lambda b: fours(b).ragged_batch(4, drop_remainder=True)),
    Case("ragged_batch splits", lambda b: fours(b).ragged_batch(4, row_splits_dtype=b.dtype("int32"))),
    Case("ragged_batch matrices", lambda b: b.Dataset.from_generator(lambda: (np.full((n, 2), n) for n in range(5)), output_signature=b.tensor_spec([None, 2], "int64")).ragged_batch(3)),
    Case("ragged_batch unknown matrices", lambda b: b.Dataset.from_generator(lambda: (np.full((n, 5 - n), n) for n in range(5)), output_signature=b.tensor_spec([None, None], "int64")).ragged_batch(3)),
    Case("ragged_batch known shapes", lambda b: b.Dataset.from_tensor_slices(np.arange(12).reshape(4, 3)).ragged_batch(3)),
    Case("ragged_batch scalars", lambda b: b.Dataset.range(5).ragged_batch(3)),
    Case("ragged_batch generator", lambda b: b.Dataset.from_generator(lambda: iter([[1], [], [2, 3]]), output_signature=b.tensor_spec([None], "int64")).ragged_batch(2)),
    Case("sparse_batch", lambda b: fours(b).sparse_batch(4, [5])),
    Case("sparse_batch matrices", lambda b: b.Dataset.range(5).map(lambda x: b.fill([x, 2], x)).sparse_batch(3, [6, 3])),
    Case("unbatch", lambda b: b.Dataset.range(7).batch(3).unbatch()),
    Case("unbatch static", lambda b: b.Dataset.range(7).batch(3, True).unbatch()),
    Case("unbatch tensor", lambda b: b.Dataset.from_tensors(np.arange(12).reshape(4, 3)).unbatch()),
    Case("unbatch repeated", lambda b: b.Dataset.from_tensors(np.arange(4)).repeat(3).unbatch()),
    Case("unbatch records", lambda b: records(b).batch(3).unbatch()),
    Case("unbatch uneven", lambda b: fours(b).unbatch()),
    Case("unbatch ragged", lambda b: fours(b).ragged_batch(3).unbatch()),
    Case("unbatch sparse", lambda b: b.Dataset.from_tensors(b.sparse(np.eye(3))).unbatch(), ("known number",)),
    *each("rebatch size, drop", product((1, 3, 4, 6, 20, [2, 3], [1, 5, 2], [4, 4]), (False, True)), lambda b, size, drop: b.Dataset.range(11).batch(4).rebatch(size, drop)),
    Case("rebatch records", lambda b: records(b).batch(3).rebatch(2)),
    Case("rebatch divisible", lambda b: b.Dataset.range(12).batch(4, True).rebatch(2), ("rebatch size",)),
    Case("rebatch uneven", lambda b: fours(b).rebatch(3)),
]  # fmt: skip

ORDER = [
    *each("take", product((-1, 0, 3, 100), (seven, some, none, nothing)), lambda b, count, source: source(b).take(count)),
    *each("skip", product((-1, 0, 3, 100), (seven, some, none, nothing)), lambda b, count, source: source(b).skip(count)),
    *each("repeat", product((0, 1, 3), (seven, some, nothing)), lambda b, count, source: source(b).repeat(count)),
    Case("repeat endlessly", lambda b: b.Dataset.range(3).repeat().take(7)),
    Case("repeat endlessly nothing", lambda b: b.Dataset.range(0).repeat()),
    Case("repeat endlessly none", lambda b: none(b).repeat().take(3)),
    *each("shard", [(1, 0), (2, 1), (3, 0), (9, 8)], lambda b, count, index: b.Dataset.range(7).shard(count, index)),
    Case("shard of unknown", lambda b: some(b).shard(2, 1)),
    Case("concatenate", lambda b: b.Dataset.range(3).concatenate(b.Dataset.range(5, 7))),
    Case("concatenate relaxes sizes", lambda b: b.Dataset.range(4).batch(2, True).concatenate(b.Dataset.range(6).batch(3, True))),
    Case("concatenate relaxes rank", lambda b: b.Dataset.range(4).concatenate(b.Dataset.range(6).batch(3, True))),
    Case("concatenate of unknown", lambda b: some(b).concatenate(b.Dataset.range(3))),
    Case("concatenate records", lambda b: records(b).concatenate(records(b).take(2))),
    Case("zip", lambda b: b.Dataset.zip(b.Dataset.range(3), b.Dataset.range(5, 9))),
    Case("zip tuple", lambda b: b.Dataset.zip((b.Dataset.range(3), b.Dataset.range(5, 9)))),
    Case("zip nested", lambda b: b.Dataset.zip({"x": b.Dataset.range(3), "y": (records(b), b.Dataset.counter())})),
    Case("zip method", lambda b: b.Dataset.range(3).zip(b.Dataset.range(4)) if b is PLAIN else b.Dataset.zip(b.Dataset.range(3), b.Dataset.range(4)), ("zip as a method",)),
    Case("zip of unknown", lambda b: b.Dataset.zip(some(b), b.Dataset.range(9))),
    Case("zip of one", lambda b: b.Dataset.zip((b.Dataset.range(3),))),
    Case("zip of nothing", lambda b: b.Dataset.zip(b.Dataset.range(0), b.Dataset.range(3))),
    *each("choose_from_datasets choices, stop", product(([0, 1, 0, 1, 0, 1], [1, 1, 1, 0, 0], [0, 2, 1], [0]), (False, True)), lambda b, choices, stop: b.Dataset.choose_from_datasets([b.Dataset.range(3), b.Dataset.range(10, 12), b.Dataset.range(0)], b.Dataset.from_tensor_slices(np.array(choices)), stop)),
    Case("choose_from_datasets shapes", lambda b: b.Dataset.choose_from_datasets([b.Dataset.range(6).batch(2, True), b.Dataset.range(6).batch(3, True)], b.Dataset.range(4).map(lambda x: x % 2))),
]  # fmt: skip

RUNNING = [
    Case("prefetch", lambda b: b.Dataset.range(9).prefetch(2)),
    Case("prefetch autotune", lambda b: some(b).prefetch(ks.AUTOTUNE)),
    Case("cache", lambda b: b.Dataset.range(9).cache().repeat(2)),
    Case("cache of unknown", lambda b: some(b).cache()),
    Case("assert_cardinality", lambda b: b.assert_cardinality(some(b), 5)),
    Case("apply", lambda b: b.Dataset.range(9).apply(lambda ds: ds.batch(2))),
]  # fmt: skip

CASES = [*SOURCES, *ROWWISE, *NESTING, *BATCHES, *ORDER, *RUNNING]


@pytest.mark.filterwarnings("ignore:.*passed none of its")
@pytest.mark.parametrize("case", [pytest.param(c, id=c.name.replace(" ", "-")) for c in CASES])
def test_a_stage_is_the_same_in_tensorflow(case: Case) -> None:
    compare(case.build(PLAIN), tensorflow().run(case.build), *case.differs)


ENDLESS: dict[str, Callable[[Any], Any]] = {
    "counter": lambda b: b.Dataset.counter(),
    "repeat": lambda b: b.Dataset.range(3).repeat(),
    "repeat unknown": lambda b: some(b).repeat(),
    "repeat endless": lambda b: b.Dataset.counter().repeat(3),
    "repeat endless never": lambda b: b.Dataset.counter().repeat(0),
    "map": lambda b: b.Dataset.counter().map(lambda x: x),
    "filter": lambda b: b.Dataset.counter().filter(lambda x: x > 1),
    "batch": lambda b: b.Dataset.counter().batch(3),
    "unbatch": lambda b: b.Dataset.counter().batch(3, True).unbatch(),
    "zip": lambda b: b.Dataset.zip(b.Dataset.counter(), b.Dataset.counter()),
    "concatenate": lambda b: b.Dataset.range(3).concatenate(b.Dataset.counter()),
    "concatenate unknown": lambda b: some(b).concatenate(b.Dataset.counter()),
    "skip": lambda b: b.Dataset.counter().skip(3),
    "take all": lambda b: b.Dataset.counter().take(-1),
    "shard": lambda b: b.Dataset.counter().shard(3, 1),
    "enumerate": lambda b: b.Dataset.counter().enumerate(),
    "shuffle": lambda b: b.Dataset.counter().shuffle(3),
    "prefetch": lambda b: b.Dataset.counter().prefetch(3),
    "cache": lambda b: b.Dataset.counter().cache(),
    "random": lambda b: b.Dataset.random(1),
    "window": lambda b: b.Dataset.counter().window(3, 2),
    "scan": lambda b: b.Dataset.counter().scan(np.int64(0), lambda s, x: (s, x)),
    "padded_batch": lambda b: b.Dataset.counter().padded_batch(3),
    "sample_from_datasets": lambda b: b.Dataset.sample_from_datasets([b.Dataset.range(3), b.Dataset.counter()]),
    "flat_map": lambda b: b.Dataset.counter().flat_map(lambda x: b.Dataset.range(3)),
}  # fmt: skip


@pytest.mark.parametrize("name", ENDLESS)
def test_endless_data_sets_have_the_same_cardinality(name: str) -> None:
    build = ENDLESS[name]
    assert build(PLAIN).cardinality() == tensorflow().run(build).cardinality().numpy()


def test_reduce_and_get_single_element_are_the_same() -> None:
    def results(b: Any) -> list[Any]:
        numbers = b.Dataset.range(6)
        return [
            numbers.reduce(np.int64(1), lambda s, x: s + x),
            numbers.enumerate().reduce(
                (np.int64(0), np.int64(1)), lambda s, x: (s[0] + x[0], s[1] * 2)
            ),
            b.Dataset.range(0).reduce(np.float32(5), lambda s, x: s),
            numbers.batch(9).get_single_element(),
        ]

    theirs = tensorflow().tf.nest.map_structure(
        lambda leaf: leaf.numpy(), tensorflow().run(results)
    )
    assert_elements_equal(results(PLAIN), theirs)


REFUSED: dict[str, Callable[[Any], Any]] = {
    "range without numbers": lambda b: b.Dataset.range(),
    "range step 0": lambda b: b.Dataset.range(0, 5, 0),
    "slices of unequal lengths": lambda b: b.Dataset.from_tensor_slices((np.arange(3), np.arange(4))),
    "slices of a scalar": lambda b: b.Dataset.from_tensor_slices(np.int64(3)),
    "generator object": lambda b: b.Dataset.from_generator(iter([1]), output_signature=b.tensor_spec([], "int64")),
    "generator of another shape": lambda b: b.Dataset.from_generator(lambda: iter([[1]]), output_signature=b.tensor_spec([], "int64")),
    "generator of another structure": lambda b: b.Dataset.from_generator(lambda: iter([(1, 2)]), output_signature=b.tensor_spec([], "int64")),
    "generator of another dtype": lambda b: b.Dataset.from_generator(lambda: iter(["a"]), output_signature=b.tensor_spec([], "int64")),
    "batch 0": lambda b: b.Dataset.range(3).batch(0),
    "batch of unequal shapes": lambda b: fours(b).batch(3),
    "padded_batch too small": lambda b: fours(b).padded_batch(4, padded_shapes=[2]),
    "unbatch scalars": lambda b: b.Dataset.range(3).unbatch(),
    "shuffle 0": lambda b: b.Dataset.range(3).shuffle(0),
    "shard beyond": lambda b: b.Dataset.range(3).shard(2, 2),
    "shard of none": lambda b: b.Dataset.range(3).shard(0, 0),
    "concatenate of another dtype": lambda b: b.Dataset.range(3).concatenate(b.Dataset.from_tensors(1.0)),
    "concatenate of another structure": lambda b: b.Dataset.range(3).concatenate(b.Dataset.range(3).enumerate()),
    "zip with an array": lambda b: b.Dataset.zip((b.Dataset.range(3), np.arange(3))),
    "window 0": lambda b: b.Dataset.range(3).window(0),
    "window shift 0": lambda b: b.Dataset.range(3).window(2, 0),
    "window stride 0": lambda b: b.Dataset.range(3).window(2, 1, 0),
    "interleave cycle 0": lambda b: b.Dataset.range(3).interleave(lambda x: b.Dataset.range(x), 0),
    "interleave block 0": lambda b: b.Dataset.range(3).interleave(lambda x: b.Dataset.range(x), 1, 0),
    "flat_map to an element": lambda b: b.Dataset.range(3).flat_map(lambda x: x),
    "group_by_window without a size": lambda b: b.Dataset.range(3).group_by_window(lambda x: x, lambda k, w: w),
    "group_by_window with two sizes": lambda b: b.Dataset.range(3).group_by_window(lambda x: x, lambda k, w: w, 2, lambda k: 2),
    "bucket sizes of another number": lambda b: fours(b).bucket_by_sequence_length(b.length, [1], [2]),
    "bucket boundary exceeded": lambda b: fours(b).bucket_by_sequence_length(b.length, [1, 2], [2, 2, 2], pad_to_bucket_boundary=True),
    "choose beyond": lambda b: b.Dataset.choose_from_datasets([b.Dataset.range(3)], b.Dataset.from_tensor_slices(np.array([5]))),
    "choose from none": lambda b: b.Dataset.choose_from_datasets([], b.Dataset.range(3)),
    "sample weights of another number": lambda b: b.Dataset.sample_from_datasets([b.Dataset.range(3)], [0.5, 0.5]),
    "assert_cardinality too few": lambda b: b.assert_cardinality(some(b), 9),
    "assert_cardinality too many": lambda b: b.assert_cardinality(some(b), 2),
    "list_files without match": lambda b: b.Dataset.list_files("/nowhere/*"),
    "scan changes its state": lambda b: b.Dataset.range(3).scan(np.int64(0), lambda s, x: ((s, s), x)),
    "unique of floats": lambda b: b.Dataset.range(3).map(b.floats).unique(),
    "sparse_batch too small": lambda b: fours(b).sparse_batch(4, [2]),
    "prefetch below -1": lambda b: b.Dataset.range(3).prefetch(-2),
    "map calls 0": lambda b: b.Dataset.range(3).map(lambda x: x, num_parallel_calls=0),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_both_refuse_the_same(name: str) -> None:
    for backend in (tensorflow(), PLAIN):
        with pytest.raises(Exception):  # noqa: B017, PT011  # the classes differ, of course
            list(REFUSED[name](backend))
