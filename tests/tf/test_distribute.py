"""Scripts that look for a TPU go on with the strategy of one machine."""

from __future__ import annotations

import pytest

import keepset.tf as tf
from keepset.errors import NotCoveredError


def test_a_script_that_finds_no_tpu_goes_on() -> None:
    with pytest.raises(ValueError, match=r"use tf\.distribute\.get_strategy\(\)"):
        tf.distribute.cluster_resolver.TPUClusterResolver()
    strategy = tf.distribute.get_strategy()
    with strategy.scope() as entered:
        assert entered is strategy
    dataset = tf.data.Dataset.range(4).batch(2 * strategy.num_replicas_in_sync)
    batches = strategy.experimental_distribute_dataset(dataset)
    assert [strategy.run(tf.reduce_sum, (batch,)).numpy() for batch in batches] == [1, 5]


def test_reducing_is_along_an_axis() -> None:
    reduce = tf.distribute.get_strategy().reduce
    assert reduce("MEAN", tf.constant([1.0, 2.0]), axis=0).numpy() == 1.5
    assert reduce(tf.distribute.ReduceOp.SUM, 3.0, axis=None) == 3.0


def test_batches_are_divided_among_replicas() -> None:
    assert tf.distribute.InputContext(2, 1, 4).get_per_replica_batch_size(8) == 2
    with pytest.raises(ValueError, match="pass a multiple"):
        tf.distribute.InputContext(2, 1, 3).get_per_replica_batch_size(8)


def test_other_strategies_are_not_covered() -> None:
    with pytest.raises(NotCoveredError, match=r"use tf\.distribute\.get_strategy"):
        _ = tf.distribute.MirroredStrategy
