# a table is read by its columns: one line per case, however long
"""The same pipelines in Keepset and in TensorFlow: elements, specs and cardinalities."""

from functools import cache
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from tests.interop.tensorflow_backend import TensorFlow
from tests.model import PLAIN, Pipeline, pipelines

import keepset as ks
from keepset.core.spec import is_compatible, map_spec
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
        "behind a Python function, shapes in element_spec are those of a first element",
        "Python functions have no static types; dtypes and structure still agree",
    ),
    "rank-0 ragged": Difference(
        "rows of a Ragged are arrays, not ragged tensors of rank 0",
        "they are the same thing",
    ),
    "endless batch": Difference(
        "an endless data set batched has the batch size in its spec, without drop_remainder",
        "no batch of an endless data set is short",
    ),
    "rebatch size": Difference(
        "rebatch has the size in its spec with drop_remainder only",
        "TensorFlow also finds it where all batches are known to be multiples of it",
    ),
    "known to be empty": Difference(
        "take(0) and skip(-1) of an unknown number, and unbatch of empty batches, have cardinality "
        "0, not UNKNOWN; so what follows may be known as well",
        "there is nothing to find out",
    ),
}


def compare(ours: Any, theirs: Any, differs: str | None = None) -> None:
    """Assert that a Keepset and a TensorFlow data set are the same."""
    assert differs is None or differs in DIFFERENCES
    expected = tensorflow().elements(theirs)
    got = [element_with_lists(element) for element in ours]
    assert_elements_equal(got, expected)
    cardinality = theirs.cardinality().numpy()
    if differs in ("known to be empty", "rebatch size") and cardinality == ks.UNKNOWN_CARDINALITY:
        assert ours.cardinality() in (cardinality, len(expected))
    else:
        assert ours.cardinality() == cardinality
    compare_specs(ours, theirs, bool(expected), differs)


def element_with_lists(element: Any) -> Any:
    """A data set within an element becomes the list of its elements, as on the other side."""
    return list(element) if isinstance(element, ks.Dataset) else element


def compare_specs(ours: Any, theirs: Any, is_filled: bool, differs: str | None) -> None:
    wanted = tensorflow().spec(theirs.element_spec)
    known = ours.__keepset_node__().known_spec()
    if known is not None and differs in ("endless batch", "rebatch size"):
        assert is_compatible(known[0], wanted)
    elif known is not None:
        assert known[0] == wanted
    elif is_filled:
        # "found spec": sizes may differ, everything else may not.
        found = ours.element_spec
        assert is_compatible(map_spec(without_sizes, wanted), map_spec(without_sizes, found))


def without_sizes(leaf: Any) -> Any:
    return leaf if isinstance(leaf, ks.DatasetSpec) else leaf.with_shape(None)


@settings(max_examples=600)
@given(pipelines())
def test_random_pipelines_are_the_same_in_tensorflow(pipeline: Pipeline) -> None:
    differs = "rebatch size" if ".rebatch(" in repr(pipeline) else "known to be empty"
    compare(pipeline.build(PLAIN), pipeline.build(tensorflow()), differs)
