"""Batches of elements of similar length."""

from functools import partial
from typing import Any

import numpy as np
import pytest

from keepset import Dataset, TensorSpec
from keepset.core.iterate import iterate
from keepset.core.node import UNKNOWN, Node
from keepset.errors import ElementError, InvalidArgumentError
from keepset.nodes.bucket_by_sequence_length import bucketed
from keepset.testing import check_dataset

ELEMENTS = [[0], [1, 2, 3, 4], [5, 6, 7], [7, 8, 9, 10, 11], [13, 14, 15, 16, 19, 20], [21, 22]]


def element(i: Any) -> Any:
    return np.array(ELEMENTS[i])


def source(signature: Any = None) -> Node:
    return Dataset.range(6).map(element, output_signature=signature).__keepset_node__()


VARIABLE = TensorSpec([None], "int64")


def buckets(
    boundaries: list[int], sizes: list[int], parent: Node | None = None, **how: Any
) -> Node:
    return bucketed(
        source(VARIABLE) if parent is None else parent,
        element_length_func=len,
        bucket_boundaries=boundaries,
        bucket_batch_sizes=sizes,
        wrap=Dataset,
        **how,
    )


def plain(node: Node) -> Any:
    return [batch.tolist() for batch in iterate(node)]


LONG = [[7, 8, 9, 10, 11, 0], [13, 14, 15, 16, 19, 20]]


# What tf.data 2.21 gives.
def test_batches_are_those_of_tensorflow() -> None:
    expected = [[[1, 2, 3, 4], [5, 6, 7, 0]], LONG, [[0, 0], [21, 22]]]
    for signature in (VARIABLE, None):
        node = buckets([3, 5], [2, 2, 2], source(signature))
        assert plain(node) == expected
        check_dataset(partial(Dataset, node), expected=expected)


def test_one_bucket() -> None:
    assert plain(buckets([], [4])) == [
        [[0, 0, 0, 0, 0], [1, 2, 3, 4, 0], [5, 6, 7, 0, 0], [7, 8, 9, 10, 11]],
        [[13, 14, 15, 16, 19, 20], [21, 22, 0, 0, 0, 0]],
    ]


def test_padding_to_the_boundary() -> None:
    expected = [[[1, 2, 3, 4], [5, 6, 7, 0]], LONG, [[0, 0], [21, 22]]]
    for signature in (VARIABLE, None):
        node = buckets([3, 5, 7], [2, 2, 2, 2], source(signature), pad_to_bucket_boundary=True)
        assert plain(node) == expected
    node = buckets([4, 8], [1, 1, 1], pad_to_bucket_boundary=True)
    assert [b.shape for b in iterate(node)] == [(1, n) for n in (3, 7, 3, 7, 7, 3)]


def test_only_unknown_dimensions_are_padded_to_the_boundary() -> None:
    spec = TensorSpec([None, 2], "float64")
    parent = Dataset.range(1, 4).map(lambda x: np.ones((int(x), 2)), output_signature=spec)
    node = buckets([6], [3, 3], parent.__keepset_node__(), pad_to_bucket_boundary=True)
    assert [b.shape for b in iterate(node)] == [(3, 5, 2)]
    unknown = Dataset.range(1, 4).map(lambda x: np.ones((int(x), 2))).__keepset_node__()
    node = buckets([6], [3, 3], unknown, pad_to_bucket_boundary=True)
    assert [b.shape for b in iterate(node)] == [(3, 5, 2)]


def test_an_element_beyond_the_last_boundary_cannot_be_padded_to_it() -> None:
    node = buckets([3, 5], [1, 1, 1], pad_to_bucket_boundary=True)
    it = iterate(node)
    assert len([next(it) for _ in range(3)]) == 3
    with pytest.raises(
        ElementError, match=r"length 5.*shorter than the last boundary, 5"
    ) as caught:
        next(it)
    assert "bucket_by_sequence_length" in caught.value.__notes__[0]


def test_given_shapes_and_values() -> None:
    node = buckets([3, 5], [2, 2, 2], padded_shapes=[6], padding_values=np.int64(-1))
    assert plain(node)[2] == [[0, -1, -1, -1, -1, -1], [21, 22, -1, -1, -1, -1]]
    assert node.spec() == TensorSpec([None, 6], "int64")


def test_without_padding_shapes_must_agree() -> None:
    assert len(plain(buckets([3, 5], [1, 1, 1], no_padding=True))) == 6
    with pytest.raises(ElementError, match="one dtype and shape"):
        plain(buckets([3, 5], [2, 2, 2], no_padding=True))


def test_short_batches_are_dropped_on_request() -> None:
    assert len(plain(buckets([3, 5], [3, 3, 3]))) == 3
    assert plain(buckets([3, 5], [3, 3, 3], drop_remainder=True)) == []


def test_tuples_are_unpacked_for_the_length() -> None:
    parent = Dataset.range(6).map(element).enumerate().__keepset_node__()
    node = bucketed(
        parent,
        element_length_func=lambda i, x: len(x),
        bucket_boundaries=range(4, 5),
        bucket_batch_sizes=(3, 3),
        wrap=Dataset,
    )
    assert [b[0].tolist() for b in iterate(node)] == [[1, 3, 4], [0, 2, 5]]


@pytest.mark.parametrize(
    ("boundaries", "sizes", "how"),
    [
        ([3, 5], [2, 2], {}),
        ([3, 5], [2, 2, 0], {}),
        ([5, 3], [2, 2, 2], {}),
        ([], [2], {"pad_to_bucket_boundary": True}),
        ([3], [2, 2], {"padding_values": "x"}),
    ],
)
def test_arguments_are_checked_at_once(boundaries: Any, sizes: Any, how: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentError):
        buckets(boundaries, sizes, **how)


def test_the_spec_and_the_cardinality() -> None:
    for how in ({}, {"no_padding": True}, {"drop_remainder": True}):
        for signature in (VARIABLE, None):
            node = buckets([3, 5], [2, 2, 2], source(signature), **how)
            assert node.spec() == TensorSpec([None, None], "int64")
            assert node.cardinality() == UNKNOWN
