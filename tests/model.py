"""Random pipelines, and what each stage does to a plain Python list.

A stage is written once for a backend: ``Plain`` runs it in Keepset, and ``tests/interop`` has one
that runs it in TensorFlow. Its model works on a list of elements. A pipeline prints as code.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

import keepset as ks
from keepset.core.spec import TensorSpec, map_spec
from keepset.core.structure import map_structure, structure_of

Draw = Callable[[st.SearchStrategy[Any]], Any]
# Stages that multiply elements are left out beyond this many.
MANY = 40


class Rows(NamedTuple):
    """Elements, and their spec with the ranks and dtypes but no sizes."""

    elements: list[Any]
    spec: Any

    def keep(self, elements: Any) -> Rows:
        return Rows(list(elements), self.spec)

    @property
    def leaf_specs(self) -> list[Any]:
        return structure_of(self.spec).leaves(self.spec)

    def leaves(self, element: Any) -> list[Any]:
        return structure_of(self.spec).leaves(element)

    @property
    def is_uniform(self) -> bool:
        """Whether all elements have the same shapes, so that they can be stacked."""
        return len({tuple(map(np.shape, self.leaves(e))) for e in self.elements}) <= 1

    @property
    def has_rows(self) -> bool:
        """Whether every element can be taken apart: leaves of one length along the first axis."""
        return all(leaf.rank for leaf in self.leaf_specs) and all(
            len({len(leaf) for leaf in self.leaves(e)}) == 1 for e in self.elements
        )

    @property
    def is_numeric(self) -> bool:
        return all(leaf.dtype != ks.string for leaf in self.leaf_specs)


class Stage(NamedTuple):
    """A step of a pipeline: as code, in a backend, and on a list."""

    code: str
    build: Callable[[Any, Any], Any]
    model: Callable[[Rows], Rows]


class Pipeline:
    """A source and its stages. ``repr`` is the code that builds it."""

    def __init__(self, source: Stage, stages: tuple[Stage, ...]) -> None:
        self.source, self.stages = source, stages

    def build(self, backend: Any) -> Any:
        dataset = self.source.build(None, backend)
        for stage in self.stages:
            dataset = stage.build(dataset, backend)
        return dataset

    def rows(self) -> Rows:
        rows = self.source.model(Rows([], None))
        for stage in self.stages:
            rows = stage.model(rows)
        return rows

    def __repr__(self) -> str:
        return "".join(stage.code for stage in (self.source, *self.stages))


# Functions ---------------------------------------------------------------------------------


def whole(function: Callable[[Any], Any]) -> Callable[..., Any]:
    """A function of one element, for stages that unpack tuples into arguments."""
    return lambda *parts: function(parts[0] if len(parts) == 1 else parts)


class Plain:
    """The backend that builds Keepset pipelines; its functions serve the model as well."""

    Dataset = ks.Dataset
    zip_nested = staticmethod(map_structure)

    def key(self, element: Any) -> Any:
        """A number that depends on the element."""
        leaf = structure_of(element).leaves(element)[0]
        if isinstance(leaf, bytes):
            return np.int64(len(leaf))
        if leaf.dtype == object:
            return np.int64(sum(map(len, leaf.ravel())))
        return np.int64(np.sum(leaf))

    def double(self, element: Any) -> Any:
        return map_structure(lambda leaf: leaf * 2, element)

    def floats(self, element: Any) -> Any:
        return map_structure(lambda leaf: leaf.astype(np.float32), element)

    def first(self, element: Any) -> Any:
        return structure_of(element).leaves(element)[0]

    def pair(self, element: Any) -> Any:
        return element, self.key(element)

    def named(self, element: Any) -> Any:
        return {"b": element, "a": self.key(element)}

    def lengthen(self, element: Any) -> Any:
        return np.full(self.key(element) % 4, self.key(element))

    def text(self, element: Any) -> Any:
        return str(self.key(element)).encode()

    def checked(self, element: Any) -> Any:
        if self.key(element) % 3 == 1:
            raise ValueError("an element that fails")
        return element

    def assert_cardinality(self, dataset: Any, count: int) -> Any:
        return dataset.assert_cardinality(count)

    def signature(self, rows: Rows) -> Any:
        return rows.spec

    # What only the hand-written cases of tests/interop need.

    def tensor_spec(self, shape: Any, dtype: str) -> Any:
        return ks.TensorSpec(shape, dtype)

    def dtype(self, name: str) -> Any:
        return np.dtype(name)

    def ragged(self, values: Any, row_splits: Any) -> Any:
        return ks.Ragged(values, row_splits)

    def sparse(self, dense: Any) -> Any:
        return ks.Sparse.from_dense(dense)

    def length(self, array: Any) -> Any:
        return len(array)

    def fill(self, shape: Any, value: Any) -> Any:
        return np.full([int(size) for size in shape], value)


PLAIN = Plain()


def _key_spec() -> TensorSpec:
    return TensorSpec((), np.int64)


# name -> what it does to the spec, and which specs it takes
MAPPED: dict[str, tuple[Callable[[Any], Any], Callable[[Rows], bool]]] = {
    "double": (lambda spec: spec, lambda rows: rows.is_numeric),
    "floats": (
        lambda spec: map_spec(lambda leaf: TensorSpec(leaf.shape, np.float32), spec),
        lambda rows: rows.is_numeric,
    ),
    "first": (lambda spec: structure_of(spec).leaves(spec)[0], lambda rows: True),
    "pair": (lambda spec: (spec, _key_spec()), lambda rows: len(rows.leaf_specs) < 4),
    "named": (
        lambda spec: {"b": spec, "a": _key_spec()},
        lambda rows: len(rows.leaf_specs) < 4,
    ),
    "lengthen": (lambda spec: TensorSpec([None], np.int64), lambda rows: True),
    "text": (lambda spec: TensorSpec((), ks.string), lambda rows: True),
}


def stack(elements: list[Any]) -> Any:
    return map_structure(_stack_leaves, elements[0], *elements[1:])


def _stack_leaves(*leaves: Any) -> Any:
    if isinstance(leaves[0], bytes):
        column = np.empty(len(leaves), object)
        column[:] = leaves
        return column
    return np.stack(leaves)


def pad(elements: list[Any]) -> Any:
    return map_structure(_pad_leaves, elements[0], *elements[1:])


def _pad_leaves(*leaves: Any) -> Any:
    arrays = [np.asarray(leaf, object) if isinstance(leaf, bytes) else leaf for leaf in leaves]
    shape = np.max([np.shape(array) for array in arrays], axis=0).astype(int)
    filler = b"" if arrays[0].dtype == object else 0
    padded = np.full((len(arrays), *shape), filler, arrays[0].dtype)
    for row, array in zip(padded if len(shape) else [], arrays, strict=False):
        row[tuple(map(slice, array.shape))] = array
    return padded if len(shape) else _stack_leaves(*leaves)


def unstack(rows: Rows, element: Any) -> list[Any]:
    leaves = rows.leaves(element)
    build = structure_of(rows.spec).build
    return [build([leaf[i] for leaf in leaves]) for i in range(len(leaves[0]))]


def groups(elements: list[Any], size: int, drop_remainder: bool) -> list[list[Any]]:
    cut = [elements[i : i + size] for i in range(0, len(elements), size)]
    return [group for group in cut if len(group) == size or not drop_remainder]


def batched(spec: Any) -> Any:
    return map_spec(lambda leaf: leaf.batched(None), spec)


def unbatched(spec: Any) -> Any:
    return map_spec(lambda leaf: leaf.unbatched(), spec)


# Sources -----------------------------------------------------------------------------------

SCALAR = TensorSpec((), np.int64)


def _rows_of(tensors: Any) -> Rows:
    spec = map_structure(
        lambda a: TensorSpec((None,) * (a.ndim - 1), ks.string if a.dtype == object else a.dtype),
        tensors,
    )
    rows = Rows([], spec)
    return rows.keep(unstack(rows, tensors))


def _strings(values: list[bytes]) -> Any:
    array = np.empty(len(values), object)
    array[:] = values
    return array


SLICED = {
    "np.arange(7)": np.arange(7),
    "np.arange(12).reshape(6, 2)": np.arange(12).reshape(6, 2),
    "np.zeros((0, 3), 'int64')": np.zeros((0, 3), "int64"),
    "(np.arange(5), np.eye(5, dtype='float32'))": (np.arange(5), np.eye(5, dtype="float32")),
    "{'x': np.arange(6), 'y': np.arange(6) * 10}": {"x": np.arange(6), "y": np.arange(6) * 10},
    "[b'a', b'', b'ccc\\0']": _strings([b"a", b"", b"ccc\0"]),
}


@st.composite
def sources(draw: Draw) -> Stage:
    kind = draw(st.sampled_from(["range", "slices", "tensors", "generator"]))
    if kind == "range":
        start, stop = draw(st.integers(-5, 5)), draw(st.integers(-5, 20))
        step = draw(st.sampled_from([1, 2, -1, -3]))
        values = [np.int64(x) for x in range(start, stop, step)]
        return Stage(
            f"Dataset.range({start}, {stop}, {step})",
            lambda _, b: b.Dataset.range(start, stop, step),
            lambda _: Rows(values, SCALAR),
        )
    text, tensors = draw(st.sampled_from(sorted(SLICED.items())))
    rows = _rows_of(tensors)
    if kind == "slices":
        return Stage(
            f"Dataset.from_tensor_slices({text})",
            lambda _, b: b.Dataset.from_tensor_slices(tensors),
            lambda _: rows,
        )
    if kind == "tensors":
        return Stage(
            f"Dataset.from_tensors({text})",
            lambda _, b: b.Dataset.from_tensors(tensors),
            lambda _: Rows([tensors], batched(rows.spec)),
        )
    return Stage(
        f"Dataset.from_generator(lambda: iter(rows of {text}), output_signature={rows.spec})",
        lambda _, b: b.Dataset.from_generator(
            lambda: iter(rows.elements), output_signature=b.signature(rows)
        ),
        lambda _: rows,
    )


# Stages ------------------------------------------------------------------------------------
#
# Each gives a stage that fits the rows so far, or None.

StageMaker = Callable[[Draw, Rows], Stage | None]
STAGES: list[StageMaker] = []


def stage(maker: StageMaker) -> StageMaker:
    STAGES.append(maker)
    return maker


@stage
def map_(draw: Draw, rows: Rows) -> Stage:
    name = draw(st.sampled_from([n for n, (_, fits) in MAPPED.items() if fits(rows)]))
    calls = draw(st.sampled_from([None, None, 2]))
    parallel = "" if calls is None else f", num_parallel_calls={calls}"
    return Stage(
        f".map({name}{parallel})",
        lambda ds, b: ds.map(whole(getattr(b, name)), num_parallel_calls=calls),
        lambda r: Rows([getattr(PLAIN, name)(e) for e in r.elements], MAPPED[name][0](r.spec)),
    )


@stage
def map_checked(draw: Draw, rows: Rows) -> Stage:
    return Stage(
        ".map(checked).ignore_errors()",
        lambda ds, b: ds.map(whole(b.checked)).ignore_errors(),
        lambda r: r.keep(e for e in r.elements if PLAIN.key(e) % 3 != 1),
    )


@stage
def filter_(draw: Draw, rows: Rows) -> Stage:
    rest = draw(st.integers(0, 2))
    return Stage(
        f".filter(lambda x: key(x) % 3 != {rest})",
        lambda ds, b: ds.filter(whole(lambda x: b.key(x) % 3 != rest)),
        lambda r: r.keep(e for e in r.elements if PLAIN.key(e) % 3 != rest),
    )


@stage
def take_while(draw: Draw, rows: Rows) -> Stage:
    limit = draw(st.integers(-3, 30))
    return Stage(
        f".take_while(lambda x: key(x) < {limit})",
        lambda ds, b: ds.take_while(whole(lambda x: b.key(x) < limit)),
        lambda r: r.keep(itertools.takewhile(lambda e: PLAIN.key(e) < limit, r.elements)),
    )


@stage
def take(draw: Draw, rows: Rows) -> Stage:
    count = draw(st.integers(-1, 12))
    return Stage(
        f".take({count})",
        lambda ds, b: ds.take(count),
        lambda r: r.keep(r.elements if count < 0 else r.elements[:count]),
    )


@stage
def skip(draw: Draw, rows: Rows) -> Stage:
    count = draw(st.integers(-1, 8))
    return Stage(
        f".skip({count})",
        lambda ds, b: ds.skip(count),
        lambda r: r.keep([] if count < 0 else r.elements[count:]),
    )


@stage
def shard(draw: Draw, rows: Rows) -> Stage:
    count = draw(st.integers(1, 4))
    index = draw(st.integers(0, count - 1))
    return Stage(
        f".shard({count}, {index})",
        lambda ds, b: ds.shard(count, index),
        lambda r: r.keep(r.elements[index::count]),
    )


@stage
def repeat(draw: Draw, rows: Rows) -> Stage | None:
    count = draw(st.integers(0, 3))
    if len(rows.elements) > MANY // 2:
        return None
    return Stage(
        f".repeat({count})", lambda ds, b: ds.repeat(count), lambda r: r.keep(r.elements * count)
    )


@stage
def enumerate_(draw: Draw, rows: Rows) -> Stage | None:
    if len(rows.leaf_specs) > 4:
        return None
    start = draw(st.sampled_from([0, 7]))
    return Stage(
        f".enumerate({start})",
        lambda ds, b: ds.enumerate(start),
        lambda r: Rows(
            [(np.int64(i), e) for i, e in enumerate(r.elements, start)], (SCALAR, r.spec)
        ),
    )


@stage
def scan(draw: Draw, rows: Rows) -> Stage | None:
    if len(rows.leaf_specs) > 4:
        return None

    def model(r: Rows) -> Rows:
        sums = itertools.accumulate(map(PLAIN.key, r.elements), initial=np.int64(1))
        pairs = zip(sums, r.elements, strict=False)
        return Rows(list(pairs), (SCALAR, r.spec))

    return Stage(
        ".scan(1, lambda s, x: (s + key(x), (s, x)))",
        lambda ds, b: ds.scan(np.int64(1), lambda s, x: (s + b.key(x), (s, x))),
        model,
    )


@stage
def prefetch(draw: Draw, rows: Rows) -> Stage:
    size = draw(st.sampled_from([0, 1, 3]))
    return Stage(f".prefetch({size})", lambda ds, b: ds.prefetch(size), lambda r: r)


@stage
def cache(draw: Draw, rows: Rows) -> Stage:
    return Stage(".cache()", lambda ds, b: ds.cache(), lambda r: r)


@stage
def assert_cardinality(draw: Draw, rows: Rows) -> Stage:
    count = len(rows.elements)
    return Stage(
        f".assert_cardinality({count})",
        lambda ds, b: b.assert_cardinality(ds, count),
        lambda r: r,
    )


@stage
def unique(draw: Draw, rows: Rows) -> Stage | None:
    spec = rows.spec
    if not isinstance(spec, TensorSpec) or spec.rank != 0 or spec.dtype == np.float32:
        return None
    return Stage(
        ".unique()", lambda ds, b: ds.unique(), lambda r: r.keep(dict.fromkeys(r.elements))
    )


@stage
def batch(draw: Draw, rows: Rows) -> Stage | None:
    size, drop = draw(st.integers(1, 5)), draw(st.booleans())
    if not rows.is_uniform:
        return None
    return Stage(
        f".batch({size}, drop_remainder={drop})",
        lambda ds, b: ds.batch(size, drop_remainder=drop),
        lambda r: Rows([stack(g) for g in groups(r.elements, size, drop)], batched(r.spec)),
    )


@stage
def padded_batch(draw: Draw, rows: Rows) -> Stage:
    size, drop = draw(st.integers(1, 5)), draw(st.booleans())
    return Stage(
        f".padded_batch({size}, drop_remainder={drop})",
        lambda ds, b: ds.padded_batch(size, drop_remainder=drop),
        lambda r: Rows([pad(g) for g in groups(r.elements, size, drop)], batched(r.spec)),
    )


@stage
def unbatch(draw: Draw, rows: Rows) -> Stage | None:
    if not rows.has_rows:
        return None

    def model(r: Rows) -> Rows:
        return Rows([x for e in r.elements for x in unstack(r, e)], unbatched(r.spec))

    return Stage(".unbatch()", lambda ds, b: ds.unbatch(), model)


@stage
def rebatch(draw: Draw, rows: Rows) -> Stage | None:
    sizes = draw(st.lists(st.integers(1, 5), min_size=1, max_size=3))
    drop = draw(st.booleans())
    if not rows.has_rows:
        return None
    singles = [x for e in rows.elements for x in unstack(rows, e)]
    if not Rows(singles, unbatched(rows.spec)).is_uniform:
        return None
    size = sizes[0] if len(sizes) == 1 else sizes

    def model(r: Rows) -> Rows:
        left, cut = list(singles), list[Any]()
        for wanted in itertools.cycle(sizes):
            if not left or (drop and len(left) < wanted):
                return r.keep(map(stack, cut))
            cut.append(left[:wanted])
            left = left[wanted:]
        raise AssertionError

    return Stage(
        f".rebatch({size}, drop_remainder={drop})",
        lambda ds, b: ds.rebatch(size, drop_remainder=drop),
        model,
    )


class Branch(NamedTuple):
    """A second data set made from the first."""

    code: str
    build: Callable[[Any, Any], Any]
    model: Callable[[list[Any]], list[Any]]


BRANCHES = [
    Branch("ds", lambda ds, b: ds, lambda e: e),
    Branch("ds.skip(2)", lambda ds, b: ds.skip(2), lambda e: e[2:]),
    Branch("ds.take(3)", lambda ds, b: ds.take(3), lambda e: e[:3]),
    Branch("ds.repeat(2)", lambda ds, b: ds.repeat(2), lambda e: e * 2),
    Branch(
        "ds.filter(lambda x: key(x) % 2 == 0)",
        lambda ds, b: ds.filter(whole(lambda x: b.key(x) % 2 == 0)),
        lambda es: [e for e in es if PLAIN.key(e) % 2 == 0],
    ),
]
branches = st.sampled_from(BRANCHES)


@stage
def concatenate(draw: Draw, rows: Rows) -> Stage | None:
    other = draw(branches)
    if len(rows.elements) > MANY:
        return None
    return Stage(
        f".apply(lambda ds: ds.concatenate({other.code}))",
        lambda ds, b: ds.apply(lambda d: d.concatenate(other.build(d, b))),
        lambda r: r.keep(r.elements + other.model(r.elements)),
    )


@stage
def zip_(draw: Draw, rows: Rows) -> Stage | None:
    one, other = draw(branches), draw(branches)
    as_dict = draw(st.booleans())
    if len(rows.leaf_specs) > 3:
        return None

    def nest(a: Any, b: Any) -> Any:
        return {"q": a, "p": b} if as_dict else (a, b)

    layout = "{'q': %s, 'p': %s}" if as_dict else "(%s, %s)"
    return Stage(
        f".apply(lambda ds: Dataset.zip({layout % (one.code, other.code)}))",
        lambda ds, b: ds.apply(lambda d: b.Dataset.zip(nest(one.build(d, b), other.build(d, b)))),
        lambda r: Rows(
            [
                nest(x, y)
                for x, y in zip(one.model(r.elements), other.model(r.elements), strict=False)
            ],
            nest(r.spec, r.spec),
        ),
    )


@stage
def choose_from_datasets(draw: Draw, rows: Rows) -> Stage | None:
    one, other = draw(branches), draw(branches)
    choices = draw(st.lists(st.integers(0, 1), max_size=12))
    stop = draw(st.booleans())
    if not choices:
        return None

    def model(r: Rows) -> Rows:
        sides = [iter(one.model(r.elements)), iter(other.model(r.elements))]
        return r.keep(_choose(sides, choices, stop))

    return Stage(
        f".apply(lambda ds: Dataset.choose_from_datasets([{one.code}, {other.code}], "
        f"Dataset.from_tensor_slices(np.array({choices})), stop_on_empty_dataset={stop}))",
        lambda ds, b: ds.apply(
            lambda d: b.Dataset.choose_from_datasets(
                [one.build(d, b), other.build(d, b)],
                b.Dataset.from_tensor_slices(np.array(choices, np.int64)),
                stop_on_empty_dataset=stop,
            )
        ),
        model,
    )


def _choose(sides: list[Iterator[Any]], choices: list[int], stop: bool) -> Iterator[Any]:
    nothing = object()
    for choice in choices:
        element = next(sides[choice], nothing)
        if element is not nothing:
            yield element
        elif stop:
            return


class Nest(NamedTuple):
    """A data set made from one element."""

    code: str
    build: Callable[[Any, Any], Any]
    model: Callable[[Rows, Any], list[Any]]
    spec: Callable[[Any], Any]


NESTS = [
    Nest(
        "lambda x: Dataset.from_tensors(x).repeat(key(x) % 3)",
        lambda x, b: b.Dataset.from_tensors(x).repeat(b.key(x) % 3),
        lambda rows, x: [x] * int(PLAIN.key(x) % 3),
        lambda spec: spec,
    ),
    Nest(
        "lambda x: Dataset.range(key(x) % 5)",
        lambda x, b: b.Dataset.range(b.key(x) % 5),
        lambda rows, x: [np.int64(i) for i in range(PLAIN.key(x) % 5)],
        lambda spec: SCALAR,
    ),
    Nest(
        "lambda x: Dataset.from_tensors(x).batch(2).repeat(2)",
        lambda x, b: b.Dataset.from_tensors(x).batch(2).repeat(2),
        lambda rows, x: [stack([x])] * 2,
        batched,
    ),
]
SLICE = Nest(
    "lambda x: Dataset.from_tensor_slices(x)",
    lambda x, b: b.Dataset.from_tensor_slices(x),
    unstack,
    unbatched,
)


def _nest(draw: Draw, rows: Rows) -> Nest:
    nest: Nest = draw(st.sampled_from([*NESTS, SLICE] if rows.has_rows else NESTS))
    return nest


@stage
def flat_map(draw: Draw, rows: Rows) -> Stage | None:
    nest = _nest(draw, rows)
    if len(rows.elements) > MANY:
        return None
    return Stage(
        f".flat_map({nest.code})",
        lambda ds, b: ds.flat_map(whole(lambda x: nest.build(x, b))),
        lambda r: Rows([y for x in r.elements for y in nest.model(r, x)], nest.spec(r.spec)),
    )


@stage
def interleave(draw: Draw, rows: Rows) -> Stage | None:
    nest = _nest(draw, rows)
    cycle, block = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    calls = draw(st.sampled_from([None, 2])) if cycle > 1 else None  # as TensorFlow wants it
    if len(rows.elements) > MANY:
        return None
    return Stage(
        f".interleave({nest.code}, {cycle}, {block}, num_parallel_calls={calls})",
        lambda ds, b: ds.interleave(
            whole(lambda x: nest.build(x, b)), cycle, block, num_parallel_calls=calls
        ),
        lambda r: Rows(
            list(_interleave([nest.model(r, x) for x in r.elements], cycle, block)),
            nest.spec(r.spec),
        ),
    )


def _interleave(inputs: list[list[Any]], cycle: int, block: int) -> Iterator[Any]:
    waiting = iter(inputs)
    slots: list[Iterator[Any] | None] = [None] * cycle
    ended, turn = False, 0
    while not ended or any(slot is not None for slot in slots):
        if slots[turn] is None:
            following = next(waiting, None)
            ended = following is None
            slots[turn] = None if following is None else iter(following)
        if (slot := slots[turn]) is not None:
            given = list(itertools.islice(slot, block))
            yield from given
            if len(given) < block:
                slots[turn] = None
        turn = (turn + 1) % cycle


@stage
def window(draw: Draw, rows: Rows) -> Stage | None:
    size, shift = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    stride, drop = draw(st.integers(1, 2)), draw(st.booleans())
    if not rows.is_uniform or len(rows.elements) > MANY:
        return None

    def model(r: Rows) -> Rows:
        starts = range(0, len(r.elements), shift)
        cut = [r.elements[i : i + size * stride : stride] for i in starts]
        kept = [w for w in cut if len(w) == size or not drop]
        return Rows([stack(w) for w in kept], batched(r.spec))

    def join(windows: Any, b: Any) -> Any:
        return b.Dataset.zip(b.zip_nested(lambda w: w.batch(size), windows))

    return Stage(
        f".window({size}, {shift}, {stride}, drop_remainder={drop})"
        f".flat_map(lambda w: zip of the leaves' batch({size}))",
        lambda ds, b: ds.window(size, shift, stride, drop_remainder=drop).flat_map(
            whole(lambda windows: join(windows, b))
        ),
        model,
    )


@stage
def group_by_window(draw: Draw, rows: Rows) -> Stage | None:
    size, keys = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    if not rows.is_uniform:
        return None

    def model(r: Rows) -> Rows:
        return Rows([stack(g) for g in _grouped(r.elements, keys, size)], batched(r.spec))

    return Stage(
        f".group_by_window(lambda x: key(x) % {keys}, lambda key, w: w.batch({size}), {size})",
        lambda ds, b: ds.group_by_window(
            whole(lambda x: b.key(x) % keys), lambda key, w: w.batch(size), size
        ),
        model,
    )


def _grouped(elements: list[Any], keys: int, size: int) -> Iterator[list[Any]]:
    waiting: dict[int, list[Any]] = defaultdict(list)
    for element in elements:
        group = waiting[int(PLAIN.key(element) % keys)]
        group.append(element)
        if len(group) == size:
            yield group.copy()
            group.clear()
    yield from (waiting[key] for key in sorted(waiting) if waiting[key])


@st.composite
def pipelines(draw: Draw, max_stages: int = 6) -> Pipeline:
    """A source and up to ``max_stages`` stages that fit one another."""
    source = draw(sources())
    rows = source.model(Rows([], None))
    stages: list[Stage] = []
    for _ in range(draw(st.integers(0, max_stages))):
        made = draw(st.sampled_from(STAGES))(draw, rows)
        if made is not None:
            stages.append(made)
            rows = made.model(rows)
    return Pipeline(source, tuple(stages))
