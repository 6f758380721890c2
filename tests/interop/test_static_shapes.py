"""Static shapes and cardinalities beside TensorFlow's."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

pytestmark = pytest.mark.interop

SHAPES: dict[str, Callable[[ModuleType], Any]] = {
    "same size": lambda tf: batches(tf).map(lambda x: x + 1),
    "drop_remainder": lambda tf: rows(tf).batch(2, drop_remainder=True).map(lambda x: x + 1),
    "padded_batch": lambda tf: rows(tf).padded_batch(2, padded_shapes=[]).map(lambda x: x + 1),
    "nested": lambda tf: batches(tf).map(lambda x: {"a": x, "b": (x, tf.reduce_sum(x))}),
    "reduced": lambda tf: batches(tf).map(tf.reduce_sum),
    "new axis": lambda tf: batches(tf).map(lambda x: x[:, tf.newaxis]),
    "one_hot": lambda tf: batches(tf).map(lambda x: tf.one_hot(x, 7)),
    "concat": lambda tf: batches(tf).map(lambda x: tf.concat([x, x], 0)),
    "stack": lambda tf: batches(tf).map(lambda x: tf.stack([x, x], 1)),
    "prefetch": lambda tf: batches(tf).map(lambda x: x).prefetch(1).map(lambda x: x),
    "unbatch": lambda tf: batches(tf).map(lambda x: x[:, tf.newaxis]).unbatch(),
    "scalars": lambda tf: rows(tf).map(lambda x: x + 1),
}
# What TensorFlow finds by tracing the function, and a first element cannot tell.
WIDER = {
    "constant": lambda tf: batches(tf).map(lambda x: tf.constant([1, 2, 3])),
    "reduced to a row": lambda tf: batches(tf).map(
        lambda x: tf.reduce_sum(tf.one_hot(x, 7), axis=0)
    ),
}


def rows(tf: ModuleType) -> Any:
    return tf.data.Dataset.range(5)


def batches(tf: ModuleType) -> Any:
    return rows(tf).batch(2)


def libraries() -> tuple[ModuleType, ModuleType]:
    import tensorflow

    import keepset.tf

    return keepset.tf, tensorflow


def shapes(tf: ModuleType, spec: Any) -> Any:
    return [
        None if leaf.shape is None else [None if n is None else int(n) for n in leaf.shape]
        for leaf in tf.nest.flatten(spec)
    ]


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_behind_functions_are_tensorflows(name: str) -> None:
    ours, theirs = libraries()
    found = SHAPES[name](ours).element_spec
    assert shapes(theirs, found) == shapes(theirs, SHAPES[name](theirs).element_spec)


@pytest.mark.parametrize("name", WIDER)
def test_where_tensorflow_knows_more_we_promise_less(name: str) -> None:
    ours, theirs = libraries()
    [found] = shapes(theirs, WIDER[name](ours).element_spec)
    [wanted] = shapes(theirs, WIDER[name](theirs).element_spec)
    assert found == [None, *wanted[1:]]


def test_the_last_smaller_batch_reaches_tensorflow() -> None:
    ours, theirs = libraries()
    ds = batches(ours).map(lambda x: x + 1).to_tf()
    assert isinstance(ds, theirs.data.Dataset)
    assert [x.numpy().tolist() for x in ds] == [[1, 2], [3, 4], [5]]


STAGES: dict[str, Callable[[Any, Any], Any]] = {
    "map": lambda of, d: d.map(lambda x: x),
    "batch": lambda of, d: d.batch(3),
    "batch, whole": lambda of, d: d.batch(3, drop_remainder=True),
    "padded_batch": lambda of, d: d.padded_batch(3, padded_shapes=[]),
    "ragged_batch": lambda of, d: d.ragged_batch(3),
    "cache": lambda of, d: d.cache(),
    "concatenate": lambda of, d: d.concatenate(of.range(3)),
    "enumerate": lambda of, d: d.enumerate(),
    "filter": lambda of, d: d.filter(lambda x: True),
    "flat_map": lambda of, d: d.flat_map(of.from_tensors),
    "interleave": lambda of, d: d.interleave(of.from_tensors),
    "parallel interleave": lambda of, d: d.interleave(of.from_tensors, num_parallel_calls=2),
    "group_by_window": lambda of, d: d.group_by_window(
        lambda x: x % 2, lambda key, w: w.batch(2), window_size=2
    ),
    "prefetch": lambda of, d: d.prefetch(1),
    "repeat": lambda of, d: d.repeat(),
    "repeat 0": lambda of, d: d.repeat(0),
    "repeat 2": lambda of, d: d.repeat(2),
    "shard": lambda of, d: d.shard(3, 1),
    "shuffle": lambda of, d: d.shuffle(3),
    "skip": lambda of, d: d.skip(3),
    "skip more": lambda of, d: d.skip(20),
    "take": lambda of, d: d.take(3),
    "take all": lambda of, d: d.take(-1),
    "take none": lambda of, d: d.take(0),
    "take_while": lambda of, d: d.take_while(lambda x: True),
    "unique": lambda of, d: d.unique(),
    "window": lambda of, d: d.window(3),
    "window, whole": lambda of, d: d.window(3, drop_remainder=True),
    "window, shifted": lambda of, d: d.window(3, 1, 1, True),
    "unbatch": lambda of, d: d.batch(3).unbatch(),
    "unbatch, whole": lambda of, d: d.batch(3, drop_remainder=True).unbatch(),
    "rebatch": lambda of, d: d.batch(2).rebatch(3),
    "rejection_resample": lambda of, d: d.rejection_resample(lambda x: 0, [0.5, 0.5]),
    "ignore_errors": lambda of, d: d.ignore_errors(),
    "zip": lambda of, d: of.zip((d, of.range(4))),
    "zip, infinite": lambda of, d: of.zip((d, of.range(4).repeat())),
    "choose": lambda of, d: of.choose_from_datasets(
        [d, of.range(3)], of.range(2).repeat(), stop_on_empty_dataset=False
    ),
    "sample": lambda of, d: of.sample_from_datasets([d, of.range(3)]),
    "generator": lambda of, d: of.from_generator(lambda: [1], output_types="int64"),
    "counter": lambda of, d: of.counter(),
    "random": lambda of, d: of.random(seed=1),
}
# An infinite dataset of which nothing is left has no elements; TensorFlow says that it is infinite.
# And where a dataset that ends can stop the whole, the number is not known.
OTHERS: dict[str, tuple[Callable[[Any, Any], Any], int]] = {
    "skip all": (lambda of, d: d.skip(-1), 0),
    "choose until one ends": (
        lambda of, d: of.choose_from_datasets([d, of.range(3)], of.range(2).repeat()),
        -2,
    ),
    "sample until one ends": (
        lambda of, d: of.sample_from_datasets([d, of.range(3)], stop_on_empty_dataset=True),
        -2,
    ),
}


def inputs(tf: ModuleType) -> list[Any]:
    ten = tf.data.Dataset.range(10)
    return [ten, ten.repeat(), ten.filter(lambda x: True)]


def cardinalities(tf: ModuleType, stage: Callable[[Any, Any], Any]) -> list[int]:
    return [int(stage(tf.data.Dataset, ds).cardinality()) for ds in inputs(tf)]


@pytest.mark.parametrize("name", STAGES)
def test_cardinalities_are_tensorflows(name: str) -> None:
    ours, theirs = libraries()
    assert cardinalities(ours, STAGES[name]) == cardinalities(theirs, STAGES[name])


@pytest.mark.parametrize("name", OTHERS)
def test_where_tensorflow_is_wrong_about_infinity(name: str) -> None:
    ours, theirs = libraries()
    stage, wanted = OTHERS[name]
    found = cardinalities(ours, stage)
    assert found[1] == wanted
    assert cardinalities(theirs, stage) == [found[0], -1, found[2]]


@pytest.mark.parametrize("calls", [1, 2])
def test_interleave_takes_as_many_at_once_as_it_reads_in_parallel(calls: int) -> None:
    ours, theirs = libraries()

    def found(tf: ModuleType) -> list[int]:
        ds = tf.data.Dataset.range(4)
        repeated = lambda x: tf.data.Dataset.from_tensors(x).repeat(3)  # noqa: E731
        return [int(x) for x in ds.interleave(repeated, num_parallel_calls=calls)]

    assert found(ours) == found(theirs)
