"""Static shapes behind functions: what the first element cannot tell is not promised."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import keepset as ks
from keepset import Dataset, TensorSpec
from keepset.core.spec import is_compatible

BATCHES = Dataset.range(5).batch(2)
WHOLE = Dataset.range(5).batch(2, drop_remainder=True)
PADDED = Dataset.range(5).map(lambda x: np.arange(x + 1)).padded_batch(2, padded_shapes=[None])
ROWS = Dataset.from_tensor_slices(np.zeros((5, 3), np.float32)).batch(2)


@pytest.mark.parametrize(
    ("ds", "shape"),
    [
        pytest.param(BATCHES.map(lambda x: x + 1), [None], id="same size"),
        pytest.param(WHOLE.map(lambda x: x + 1), [2], id="drop_remainder"),
        pytest.param(BATCHES.map(lambda x: x.sum()), [], id="reduced"),
        pytest.param(BATCHES.map(lambda x: x[:, None]), [None, 1], id="new axis"),
        pytest.param(BATCHES.map(lambda x: np.eye(10)[x]), [None, 10], id="one hot"),
        pytest.param(BATCHES.map(lambda x: np.concatenate([x, x])), [None], id="concatenated"),
        pytest.param(BATCHES.map(lambda x: x[1:]), [None], id="cut"),
        pytest.param(ROWS.map(lambda x: x * 2), [None, 3], id="rows"),
        pytest.param(ROWS.map(lambda x: x.T), [None, None], id="transposed"),
        pytest.param(ROWS.map(lambda x: x).map(lambda x: x).prefetch(1), [None, 3], id="several"),
        pytest.param(ROWS.map(lambda x: x).unbatch(), [3], id="unbatched"),
        pytest.param(ROWS.map(lambda x: x, num_parallel_calls=2), [None, 3], id="parallel"),
        pytest.param(ROWS.scan(0, lambda s, x: (s, x)), [None, 3], id="scan"),
        pytest.param(ROWS.random_map(lambda x, rng: x, seed=1), [None, 3], id="random_map"),
        pytest.param(PADDED.map(lambda x: x * 2), [None, None], id="padded"),
        pytest.param(PADDED.map(lambda x: np.eye(7)[x]), [None, None, 7], id="padded one hot"),
        pytest.param(BATCHES.flat_map(Dataset.from_tensors), [None], id="flat_map"),
        pytest.param(BATCHES.flat_map(Dataset.from_tensor_slices), [], id="flat_map of slices"),
        pytest.param(
            Dataset.range(3).flat_map(lambda x: Dataset.range(5).batch(2)), [None], id="inner batch"
        ),
        pytest.param(
            Dataset.range(3).interleave(lambda x: Dataset.range(5).batch(2)),
            [None],
            id="interleave",
        ),
        pytest.param(
            Dataset.range(5).group_by_window(
                lambda x: x % 2, lambda key, window: window.batch(2), window_size=2
            ),
            [None],
            id="group_by_window",
        ),
    ],
)
def test_a_size_that_the_last_batch_breaks_is_not_promised(ds: Dataset, shape: list[Any]) -> None:
    assert ds.element_spec.shape == tuple(shape)
    assert all(is_compatible(ds.element_spec, element) for element in ds)


def test_nested_results_are_opened_leaf_by_leaf() -> None:
    ds = ROWS.map(lambda x: {"x": x, "sums": (x.sum(1), x.sum())})
    assert ds.element_spec == {
        "x": TensorSpec([None, 3], "float32"),
        "sums": (TensorSpec([None], "float32"), TensorSpec([], "float32")),
    }


def test_sizes_that_no_batch_has_made_stay() -> None:
    pictures = Dataset.from_generator(
        lambda: iter([np.zeros((4, 6, 3))] * 2),
        output_signature=TensorSpec([None, None, 3], "float64"),
    )
    assert pictures.map(lambda x: np.zeros((8, 8, 3))).element_spec.shape == (8, 8, 3)
    assert pictures.map(lambda x: x / 255).element_spec.shape == (None, None, 3)


def test_a_promise_is_kept_as_it_is() -> None:
    signature = TensorSpec([2], "int64")
    assert BATCHES.map(lambda x: x, output_signature=signature).element_spec == signature


def test_a_ragged_batch_that_is_padded_has_an_open_length() -> None:
    ragged = Dataset.range(5).map(lambda x: np.arange(x + 1)).ragged_batch(2)

    def padded(x: ks.Ragged) -> Any:
        widest = max(map(len, x.to_list()))
        return np.array([[*row, *[0] * (widest - len(row))] for row in x.to_list()])

    ds = ragged.map(padded)
    assert ds.element_spec.shape == (None, None)
    assert ragged.map(lambda x: x).element_spec.shape == (None, None)


def test_a_function_may_write_to_the_element_that_is_looked_at() -> None:
    def doubled(x: Any) -> Any:
        x *= 2
        return x

    assert BATCHES.map(doubled).element_spec.shape == (None,)
    assert [x.tolist() for x in BATCHES.map(doubled)] == [[0, 2], [4, 6], [8]]


def test_each_function_sees_the_first_element_once() -> None:
    seen: list[int] = []

    def noted(x: Any) -> Any:
        seen.append(len(x))
        return x

    ds = BATCHES.map(lambda x: x).map(noted)
    assert ds.element_spec.shape == (None,)
    assert seen == [2]


STAGES: list[Callable[[Dataset], Dataset]] = [
    lambda ds: ds.batch(2),
    lambda ds: ds.batch(3, drop_remainder=True),
    lambda ds: ds.map(lambda x: x + 1),
    lambda ds: ds.map(lambda x: np.asarray(x).sum()),
    lambda ds: ds.map(lambda x: np.asarray(x)[..., None]),
    lambda ds: ds.map(lambda x: np.concatenate([np.atleast_1d(x)] * 2)),
    lambda ds: ds.map(lambda x: np.zeros(3, np.int64)),
    lambda ds: ds.map(lambda x: np.asarray(x).reshape(-1)),
    lambda ds: ds.flat_map(Dataset.from_tensors),
    lambda ds: ds.prefetch(1),
    lambda ds: ds.take(3),
]


@given(size=st.integers(3, 13), stages=st.lists(st.sampled_from(STAGES), max_size=5))
def test_every_element_is_what_the_spec_promises(
    size: int, stages: list[Callable[[Dataset], Dataset]]
) -> None:
    ds = Dataset.range(size)
    for stage in stages:
        ds = stage(ds)
    try:
        elements = list(ds)
    except ks.ElementError:
        return  # batches of batches that differ in size
    if not elements:
        return
    spec = ds.element_spec
    for element in elements:
        assert is_compatible(spec, element), (spec, element)
