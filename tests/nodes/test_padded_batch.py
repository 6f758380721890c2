"""Batches of unequal elements, filled up."""

from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepset import Dataset, Ragged, TensorSpec, string
from keepset.core.iterate import iterate
from keepset.core.node import Node
from keepset.errors import ElementError, InvalidArgumentError
from keepset.nodes.map import Map
from keepset.nodes.padded_batch import PaddedBatch
from keepset.nodes.range import Range
from keepset.testing import check_dataset


class Pair(NamedTuple):
    a: Any
    b: Any


def numbers(start: int, stop: int) -> Node:
    return Range(start=start, stop=stop, dtype=np.dtype(np.int64))


def mapped(function: Any, count: int = 4, signature: Any = None) -> Node:
    return Map(parent=numbers(1, count + 1), function=function, output_signature=signature)


def uneven(x: Any) -> Any:
    return np.full(int(x), x)


def batches(parent: Node, size: int, **how: Any) -> list[Any]:
    return list(iterate(PaddedBatch(parent=parent, batch_size=size, **how)))


def plain(value: Any) -> Any:
    return [batch.tolist() for batch in value]


def test_elements_are_padded_to_the_longest_of_their_batch() -> None:
    expected = [[[1, 0], [2, 2]], [[3, 3, 3, 0], [4, 4, 4, 4]]]
    assert plain(batches(mapped(uneven), 2)) == expected
    check_dataset(
        lambda: Dataset(PaddedBatch(parent=mapped(uneven), batch_size=2)), expected=expected
    )


@pytest.mark.parametrize("shape", [5, [5], (5,), np.array([5])])
def test_elements_are_padded_to_a_given_shape(shape: Any) -> None:
    assert [b.shape for b in batches(mapped(uneven), 3, padded_shapes=shape)] == [(3, 5), (1, 5)]


@pytest.mark.parametrize("unknown", [None, -1])
def test_an_open_dimension_means_the_longest(unknown: Any) -> None:
    parent = mapped(lambda x: np.ones((2, int(x))))
    assert [b.shape for b in batches(parent, 4, padded_shapes=[3, unknown])] == [(4, 3, 4)]


def test_an_element_larger_than_the_shape_is_named_and_its_batch_lost() -> None:
    it = iterate(PaddedBatch(parent=mapped(uneven, 6), batch_size=2, padded_shapes=[3]))
    assert next(it).tolist() == [[1, 0, 0], [2, 2, 0]]
    with pytest.raises(ElementError, match=r"element 3: this has shape \(4,\).*\(3,\)"):
        next(it)


def test_the_remainder_is_dropped_on_request() -> None:
    assert len(batches(mapped(uneven, 5), 2, drop_remainder=True)) == 2


def test_scalars_strings_and_extended_types() -> None:
    parent = mapped(
        lambda x: (x, str(x), [str(x)] * int(x), np.ones(int(x), ml_dtypes.bfloat16)), 2
    )
    ((x, s, strings, halves),) = batches(parent, 2)
    assert x.tolist() == [1, 2]
    assert s.tolist() == [b"1", b"2"]
    assert strings.tolist() == [[b"1", b""], [b"2", b"2"]]
    assert halves.dtype == ml_dtypes.bfloat16
    assert halves.tolist() == [[1, 0], [1, 1]]


def nested(x: Any) -> Any:
    return {"a": uneven(x), "b": Pair(uneven(x).astype(np.float32), [str(x)] * int(x))}


def test_shapes_and_values_are_nested_like_the_elements() -> None:
    (batch,) = batches(
        mapped(nested, 2),
        2,
        padded_shapes={"a": [3], "b": Pair(None, [None])},
        padding_values={"a": -1, "b": Pair(np.nan, "x")},
    )
    assert batch["a"].tolist() == [[1, -1, -1], [2, 2, -1]]
    assert np.isnan(batch["b"].a[0, 1])
    assert batch["b"].b.tolist() == [[b"1", b"x"], [b"2", b"2"]]


def test_one_padding_value_serves_all_leaves() -> None:
    (batch,) = batches(mapped(lambda x: (uneven(x), uneven(x) * 0.5), 2), 2, padding_values=-7)
    assert [leaf[0, 1] for leaf in batch] == [-7, -7.0]


@pytest.mark.parametrize(
    "how",
    [
        {"padding_values": 1.5},
        {"padding_values": "x"},
        {"padding_values": [1, 2]},
        {"padded_shapes": [2]},
        {"padded_shapes": [5, 5]},
        {"batch_size": 0},
    ],
)
def test_arguments_that_do_not_fit_a_known_spec_are_refused_at_once(how: dict[str, Any]) -> None:
    parent = mapped(uneven, 3, TensorSpec([3], "int64"))
    with pytest.raises(InvalidArgumentError):
        PaddedBatch(**{"parent": parent, "batch_size": 2, **how})


def test_a_shape_for_one_leaf_is_not_taken_for_all() -> None:
    with pytest.raises(InvalidArgumentError, match="nested like the elements"):
        batches(mapped(nested), 2, padded_shapes=[5])


def test_ragged_elements_are_refused() -> None:
    with pytest.raises(ElementError, match="RaggedTensorSpec"):
        batches(mapped(lambda x: Ragged([1, 2], [0, 2])), 2, padded_shapes=[None, None])


def test_mixed_ranks_are_refused() -> None:
    with pytest.raises(ElementError, match="one dtype and rank"):
        batches(mapped(lambda x: np.ones((1,) * int(x))), 2)


@pytest.mark.parametrize(
    ("signature", "how", "shape"),
    [
        (TensorSpec([None], "int64"), {}, (None, None)),
        (TensorSpec([None], "int64"), {"drop_remainder": True}, (2, None)),
        (TensorSpec([None], "int64"), {"padded_shapes": [5]}, (None, 5)),
        (TensorSpec([3], "int64"), {}, (None, 3)),
        (TensorSpec([3], "int64"), {"padded_shapes": [None]}, (None, None)),
        (TensorSpec(None, "int64"), {}, None),
        (None, {}, (None, None)),
    ],
)
def test_the_spec_says_what_is_known(signature: Any, how: dict[str, Any], shape: Any) -> None:
    node = PaddedBatch(parent=mapped(uneven, 4, signature), batch_size=2, **how)
    assert node.spec() == TensorSpec(shape, "int64")
    assert node.cardinality() == 2


def test_the_spec_of_strings() -> None:
    node = PaddedBatch(parent=mapped(lambda x: np.full(int(x), "a")), batch_size=2)
    assert node.spec() == TensorSpec([None, None], string)


@given(
    shapes=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=9),
    size=st.integers(1, 4),
)
def test_every_element_stands_in_its_corner_and_padding_around_it(shapes, size) -> None:
    arrays = [np.arange(1, 1 + a * b).reshape(a, b) for a, b in shapes]
    parent = Map(parent=numbers(0, len(arrays)), function=lambda i: arrays[int(i)])
    rows = [row for batch in batches(parent, size, padding_values=-1) for row in batch]
    for row, array in zip(rows, arrays, strict=True):
        a, b = array.shape
        assert row[:a, :b].tolist() == array.tolist()
        assert (row == -1).sum() == row.size - array.size
