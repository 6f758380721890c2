from __future__ import annotations

from typing import Any

import pytest

import keepset.tf as tf


class TwoStepNet(tf.Module):
    def __init__(self, name: str | None = None) -> None:
        super().__init__(name)
        self.second = [tf.Variable(2, trainable=False), {"z": tf.Variable(3)}]
        self.first = tf.Variable(1)


def test_a_module_finds_its_variables() -> None:
    outer: Any = tf.Module("outer")
    outer.net = TwoStepNet()
    outer.again = outer.net  # counts once
    assert [each.numpy() for each in outer.variables] == [1, 2, 3]
    assert [each.numpy() for each in outer.trainable_variables] == [1, 3]
    assert [each.numpy() for each in outer.non_trainable_variables] == [2]
    assert outer.submodules == (outer.net,)


def test_a_module_has_the_name_of_its_class() -> None:
    assert (TwoStepNet().name, TwoStepNet("mine").name) == ("two_step_net", "mine")
    with pytest.raises(ValueError, match="not a valid module name"):
        tf.Module("1st")
    with TwoStepNet("mine").name_scope as scope:
        assert scope == "mine/"
