"""tf.print writes to stderr, in TensorFlow's way."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keepset.tf as tf


# As TensorFlow 2.21 prints them.
@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ((tf.constant([1.5, 2]),), "[1.5 2]"),
        (("a", tf.constant("a"), tf.constant(["a", "b"])), 'a "a" ["a" "b"]'),
        (([1, tf.constant(2)], {"a": tf.constant(1)}), "[1, 2] {'a': 1}"),
        ((tf.range(10),), "[0 1 2 ... 7 8 9]"),
        ((np.arange(3), True, None), "array([0, 1, 2]) True None"),
        ((tf.constant(True), tf.constant(0.1)), "1 0.1"),
        ((tf.constant([[1, 2], [3, 4]]),), "[[1 2]\n [3 4]]"),
        ((tf.constant([1e10, 1e-5]), tf.float32), "[1e+10 1e-05] tf.float32"),
        (((1, 2), tf.constant([])), "(1, 2) []"),
    ],
)
def test_values_are_shown(values: Any, shown: str, capsys: Any) -> None:
    tf.print(*values)
    assert capsys.readouterr() == ("", shown + "\n")


def test_options(capsys: Any, tmp_path: Path) -> None:
    tf.print(tf.range(10), "x", summarize=1, sep="|", end="!", output_stream=sys.stdout)
    tf.print(tf.range(8), summarize=-1)
    assert capsys.readouterr() == ("[0 ... 9]|x!", "[0 1 2 3 4 5 6 7]\n")
    tf.print(1, output_stream=f"file://{tmp_path}/log")
    assert (tmp_path / "log").read_text() == "1\n"
    with pytest.raises(ValueError, match="Unrecognized"):
        tf.print(1, colour="red")
