"""tf.data.Options: set, checked, merged, and with their effect."""

from __future__ import annotations

import pytest

import keepset as ks
import keepset.tf as tf

Dataset = tf.data.Dataset


def test_options_are_set_and_given_back() -> None:
    options = tf.data.Options()
    options.deterministic = False
    options.threading.private_threadpool_size = 2
    options.experimental_slack = True
    ds = Dataset.range(3).with_options(options).map(lambda x: x)
    found = ds.options()
    assert found == options
    assert found.experimental_slack is True
    engine = ds.__keepset_node__().options()
    assert (engine.deterministic, engine.threads) == (False, 2)


def test_those_of_the_library_are_shown_too() -> None:
    ds = Dataset.range(3).with_options(ks.Options(threads=3))
    more = tf.data.Options()
    more.deterministic = True
    found = ds.with_options(more).options()
    assert (found.deterministic, found.threading.private_threadpool_size) == (True, 3)


def test_unknown_names_and_wrong_types_are_errors() -> None:
    options = tf.data.Options()
    with pytest.raises(AttributeError, match="Cannot set the property foo on Options"):
        options.foo = 1
    with pytest.raises(TypeError, match='Property "deterministic" must be of type'):
        options.deterministic = 1
    with pytest.raises(AttributeError, match="no attribute 'foo'"):
        _ = options.foo
