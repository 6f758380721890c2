"""Candidates of the tutorial about word2vec: TensorFlow's own, with a seed."""

from __future__ import annotations

import pytest

import keepset.tf as tf


def test_candidates_are_those_of_tensorflow() -> None:
    tf.random.set_seed(1)
    draw = tf.random.log_uniform_candidate_sampler
    found = [draw([[3]], 1, 6, False, 1000, seed=5)[0].numpy().tolist() for _ in range(2)]
    assert found == [[48, 572, 7, 20, 67, 158], [4, 648, 6, 190, 404, 2]]
    once = draw([[3]], 1, 6, True, 8, seed=5)
    assert once.sampled_candidates.numpy().tolist() == [2, 6, 0, 1, 4, 7]
    assert once.true_expected_count.numpy().item() == pytest.approx(0.52746534)


def test_errors_say_what_to_pass() -> None:
    draw = tf.random.log_uniform_candidate_sampler
    with pytest.raises(ValueError, match=r"use tf\.expand_dims"):
        draw([3], 1, 3, True, 10)
    with pytest.raises(ValueError, match="larger range_max"):
        draw([[10]], 1, 3, True, 10)
    with pytest.raises(ValueError, match="at most range_max: 11 of 10 classes"):
        draw([[1]], 1, 11, True, 10)
