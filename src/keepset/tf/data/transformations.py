"""The transformations of ``tf.data.experimental`` that are methods of a dataset today."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np

from keepset.core.node import INFINITE, UNKNOWN
from keepset.core.spec import spec_of
from keepset.errors import InvalidArgumentError
from keepset.nodes.autotune import AUTOTUNE
from keepset.tf.data.arguments import flag, number
from keepset.tf.data.dataset import Dataset
from keepset.tf.errors import OutOfRangeError
from keepset.tf.tensors.conversion import string_array
from keepset.tf.tensors.elements import literals, tensored, untensored
from keepset.tf.tensors.tensor import tensor, wrapped

Transformation: TypeAlias = Callable[[Dataset], Dataset]


def _as_method(name: str, method: str, signature: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose result, given to ``apply``, calls a method with the same arguments."""
    shown = inspect.signature(signature)

    def transformation(*given: Any, **named: Any) -> Transformation:
        bound = shown.bind(*given, **named)
        bound.apply_defaults()
        return lambda dataset: getattr(dataset, method)(**bound.arguments)

    transformation.__name__ = transformation.__qualname__ = name
    transformation.__doc__ = f"``Dataset.{method}``, for ``apply``."
    transformation.__signature__ = shown  # type: ignore[attr-defined]
    transformation.__module__ = __name__
    return transformation


def _bucket_signature(
    element_length_func: Any,
    bucket_boundaries: Any,
    bucket_batch_sizes: Any,
    padded_shapes: Any = None,
    padding_values: Any = None,
    pad_to_bucket_boundary: Any = False,
    no_padding: Any = False,
    drop_remainder: Any = False,
) -> None:
    pass


# By name: the method, and TensorFlow's signature of the function.
_METHODS: Final[dict[str, tuple[str, Callable[..., Any]]]] = {
    "assert_cardinality": ("assert_cardinality", lambda expected_cardinality: 0),
    "dense_to_ragged_batch": (
        "ragged_batch",
        lambda batch_size, drop_remainder=False, row_splits_dtype="int64": 0,
    ),
    "dense_to_sparse_batch": ("sparse_batch", lambda batch_size, row_shape: 0),
    "enumerate_dataset": ("enumerate", lambda start=0: 0),
    "group_by_window": (
        "group_by_window",
        lambda key_func, reduce_func, window_size=None, window_size_func=None: 0,
    ),
    "ignore_errors": ("ignore_errors", lambda log_warning=False: 0),
    "rejection_resample": (
        "rejection_resample",
        lambda class_func, target_dist, initial_dist=None, seed=None: 0,
    ),
    "scan": ("scan", lambda initial_state, scan_func: 0),
    "snapshot": (
        "snapshot",
        lambda path, compression="AUTO", reader_func=None, shard_func=None: 0,
    ),
    "take_while": ("take_while", lambda predicate: 0),
    "unbatch": ("unbatch", lambda: 0),
    "unique": ("unique", lambda: 0),
    "bucket_by_sequence_length": ("bucket_by_sequence_length", _bucket_signature),
}
METHODS: Final = {name: _as_method(name, *rest) for name, rest in _METHODS.items()}


def shuffle_and_repeat(buffer_size: Any, count: Any = None, seed: Any = None) -> Transformation:
    return lambda dataset: dataset.shuffle(buffer_size, seed).repeat(count)


def map_and_batch(
    map_func: Callable[..., Any],
    batch_size: Any,
    num_parallel_batches: Any = None,
    drop_remainder: Any = False,
    num_parallel_calls: Any = None,
) -> Transformation:
    """``map`` and ``batch``."""
    if num_parallel_batches is not None and num_parallel_calls is not None:
        raise InvalidArgumentError("pass num_parallel_batches or num_parallel_calls, not both")
    calls = num_parallel_calls
    if num_parallel_batches is not None:
        calls = number(batch_size) * number(num_parallel_batches)
    return lambda dataset: dataset.map(map_func, calls).batch(batch_size, drop_remainder)


def parallel_interleave(
    map_func: Callable[..., Any],
    cycle_length: Any,
    block_length: Any = 1,
    sloppy: Any = False,
    buffer_output_elements: Any = None,
    prefetch_input_elements: Any = None,
) -> Transformation:
    """``interleave``, with as many calls at once as ``cycle_length`` says."""
    in_order = None if sloppy is None else not flag(sloppy)
    return lambda dataset: dataset.interleave(
        map_func, cycle_length, block_length, cycle_length, in_order
    )


def prefetch_to_device(device: Any, buffer_size: Any = None) -> Transformation:
    """``prefetch``: frameworks copy to their devices themselves."""
    return lambda dataset: dataset.prefetch(AUTOTUNE if buffer_size is None else buffer_size)


def copy_to_device(target_device: Any, source_device: Any = "/cpu:0") -> Transformation:
    """Nothing: frameworks copy to their devices themselves."""
    return lambda dataset: dataset


def parse_example_dataset(
    features: Any, num_parallel_calls: Any = 1, deterministic: bool | None = None
) -> Transformation:
    return lambda dataset: dataset.parse_example(features)


def pad_to_cardinality(cardinality: Any, mask_key: str = "valid") -> Transformation:
    """Add elements of zeros up to a number of elements; ``mask_key`` says which are real."""
    wanted = number(cardinality)

    def pad(dataset: Dataset) -> Dataset:
        count = int(dataset.cardinality())
        if count in (INFINITE, UNKNOWN) or count > wanted:
            raise InvalidArgumentError(
                f"pad_to_cardinality({wanted}) needs a dataset of at most that many elements, and "
                f"this one has {count}; take({wanted}) cuts it"
            )
        if not isinstance(dataset.element_spec, dict):
            raise InvalidArgumentError("pad_to_cardinality needs elements that are dicts")
        real = dataset.map(lambda element: {**element, mask_key: tensor(True)})
        more = dataset.take(1).repeat(wanted - count)
        false = more.map(lambda element: {**_zeros(element), mask_key: tensor(False)})
        padded: Dataset = real.concatenate(false)
        return padded

    return pad


def _zeros(element: Any) -> Any:
    if isinstance(element, dict):
        return {key: _zeros(item) for key, item in element.items()}
    if isinstance(element, tuple):
        return tuple(map(_zeros, element))
    value = element._value
    if isinstance(value, bytes):
        return tensor(b"")
    if value.dtype.kind == "O":
        return wrapped(string_array([b""] * value.size, value.shape))
    return wrapped(np.zeros_like(value))


class Reducer:
    """How ``group_by_reducer`` folds the elements of a key."""

    def __init__(
        self,
        init_func: Callable[..., Any],
        reduce_func: Callable[..., Any],
        finalize_func: Callable[..., Any],
    ) -> None:
        self.init_func, self.reduce_func = init_func, reduce_func
        self.finalize_func = finalize_func


def group_by_reducer(key_func: Callable[..., Any], reducer: Reducer) -> Transformation:
    """Fold the elements of each key into one; the keys come in ascending order."""

    def fold(dataset: Dataset) -> Dataset:
        def results() -> Any:
            states: dict[int, Any] = {}
            for element in dataset:
                parts = element if isinstance(element, tuple) else (element,)
                key = int(key_func(*parts))
                if key not in states:
                    states[key] = reducer.init_func(tensor(key, "int64"))
                states[key] = reducer.reduce_func(states[key], *parts)
            for key in sorted(states):
                yield reducer.finalize_func(states[key])

        signature = _signature(dataset, reducer)
        folded: Dataset = Dataset.from_generator(results, output_signature=signature)
        return folded

    return fold


def _signature(dataset: Dataset, reducer: Reducer) -> Any:
    """The type of what a reducer makes, as its functions show it on a state of key 0."""
    state = reducer.init_func(tensor(0, "int64"))
    for element in dataset.take(1):
        parts = element if isinstance(element, tuple) else (element,)
        state = reducer.reduce_func(state, *parts)
    return spec_of(untensored(literals(reducer.finalize_func(state))))


def at(dataset: Dataset, index: Any) -> Any:
    """The element at a position; an OutOfRangeError outside of the data, also before it."""
    place = number(index)
    if place < 0:
        raise OutOfRangeError(f"position {place} is before the first element; positions begin at 0")
    return dataset[place]


def from_list(elements: Any, name: str | None = None) -> Dataset:
    """The elements of a list, each of which may be a structure."""
    given = list(elements)
    if not given:
        raise InvalidArgumentError("from_list needs at least one element")
    return Dataset.from_tensor_slices(_stacked([tensored(literals(each)) for each in given]))


def _stacked(elements: list[Any]) -> Any:
    first = elements[0]
    if isinstance(first, dict):
        return {key: _stacked([each[key] for each in elements]) for key in first}
    if isinstance(first, tuple):
        return tuple(_stacked(list(each)) for each in zip(*elements, strict=True))
    return elements
