"""Checkpoints of iterators: files that are whole, and errors that say what does not fit."""

from __future__ import annotations

from pathlib import Path

import pytest

import keepset.tf as tf
from keepset.errors import InvalidArgumentError, NotCoveredError, StateError

Dataset = tf.data.Dataset


def test_an_iterator_goes_on_where_the_checkpoint_was_written(tmp_path: Path) -> None:
    ds = Dataset.range(20).shuffle(5, seed=1).batch(2)
    it = iter(ds)
    next(it)
    path = tf.train.Checkpoint(iterator=it).save(str(tmp_path / "ckpt"))
    assert path == str(tmp_path / "ckpt-1")
    wanted = [x.numpy().tolist() for x in it]
    again = iter(ds)
    status = tf.train.Checkpoint(iterator=again).restore(path)
    status.assert_consumed()
    status.expect_partial()
    assert [x.numpy().tolist() for x in again] == wanted
    # Also one that has come to its end.
    tf.train.Checkpoint(iterator=it).restore(path)
    assert [x.numpy().tolist() for x in it] == wanted


def test_a_manager_keeps_the_last_ones(tmp_path: Path) -> None:
    it = iter(Dataset.range(9))
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(iterator=it), str(tmp_path), 2)
    assert manager.restore_or_initialize() is None
    for _ in range(3):
        next(it)
        manager.save()
    assert [Path(each).name for each in manager.checkpoints] == ["ckpt-2", "ckpt-3"]
    assert sorted(each.name for each in tmp_path.iterdir()) == [
        "checkpoint",
        "ckpt-2.keepset.json",
        "ckpt-3.keepset.json",
    ]
    assert tf.train.latest_checkpoint(str(tmp_path)) == str(tmp_path / "ckpt-3")
    other = iter(Dataset.range(9))
    checkpoint = tf.train.Checkpoint(iterator=other)
    resumed = tf.train.CheckpointManager(checkpoint, tmp_path, max_to_keep=2)
    assert resumed.restore_or_initialize() == manager.latest_checkpoint
    assert int(next(other)) == 3
    assert resumed.save() == str(tmp_path / "ckpt-4")
    assert int(checkpoint.save_counter) == 4
    with pytest.raises(InvalidArgumentError, match="max_to_keep must be at least 1"):
        tf.train.CheckpointManager(checkpoint, tmp_path, 0)


def test_what_does_not_fit_is_an_error(tmp_path: Path) -> None:
    path = tf.train.Checkpoint(iterator=iter(Dataset.range(3))).write(str(tmp_path / "one"))
    with pytest.raises(StateError, match=r"has no train: it holds iterator; name the parts"):
        tf.train.Checkpoint(train=iter(Dataset.range(3))).restore(path)
    with pytest.raises(StateError):
        tf.train.Checkpoint(iterator=iter(Dataset.range(3).batch(2))).restore(path)
    with pytest.raises(tf.errors.NotFoundError, match="there is no checkpoint"):
        tf.train.Checkpoint(iterator=iter(Dataset.range(3))).restore(str(tmp_path / "two"))
    (tmp_path / "one.keepset.json").write_text("{")
    with pytest.raises(tf.errors.DataLossError, match="is damaged"):
        tf.train.Checkpoint(iterator=iter(Dataset.range(3))).restore(path)
    with pytest.raises(NotCoveredError, match=r"save models .* with the framework that trains"):
        tf.train.Checkpoint(model=object())
    with pytest.raises(InvalidArgumentError, match=r"pass iter\(dataset\)"):
        tf.train.Checkpoint(iterator=iter([1]))
    tf.train.Checkpoint(iterator=iter(Dataset.range(3))).restore(None)
    assert tf.train.latest_checkpoint(str(tmp_path / "none")) is None
