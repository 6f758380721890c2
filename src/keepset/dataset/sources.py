"""Sources: data sets out of numbers, arrays, generators and files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self, SupportsIndex

import numpy as np

from keepset import nodes
from keepset.core.element import to_element
from keepset.core.random import Randomness
from keepset.core.spec import check_spec
from keepset.dataset.arguments import number_type, seed_or_none, signature_of, whole_number
from keepset.dataset.base import BaseDataset, node_of
from keepset.errors import InvalidArgumentError


class Sources(BaseDataset):
    """The class methods that begin a pipeline."""

    __slots__ = ()

    @classmethod
    def range(
        cls, *args: SupportsIndex, output_type: Any = np.int64, name: str | None = None
    ) -> Self:
        """Integers as Python's ``range`` gives them: ``stop``, or ``start, stop[, step]``.

        Example:
            >>> [int(x) for x in Dataset.range(2, 10, 3)]
            [2, 5, 8]
        """
        if not 1 <= len(args) <= 3:
            raise InvalidArgumentError(f"range takes 1 to 3 numbers, not {len(args)}")
        bounds = [whole_number(arg, "a bound of range") for arg in args]
        start, stop = (0, bounds[0]) if len(bounds) == 1 else bounds[:2]
        step = bounds[2] if len(bounds) == 3 else 1
        dtype = number_type(output_type)
        return cls(nodes.Range(start=start, stop=stop, step=step, dtype=dtype, name=name))

    @classmethod
    def from_tensors(cls, tensors: Any, name: str | None = None) -> Self:
        """A data set of one element.

        Example:
            >>> next(iter(Dataset.from_tensors({"a": [1, 2]})))
            {'a': array([1, 2])}
        """
        return cls(nodes.FromTensors(tensors=tensors, name=name))

    @classmethod
    def from_tensor_slices(cls, tensors: Any, name: str | None = None) -> Self:
        """Element ``i`` is row ``i`` of every array. Arrays are not copied; do not change them.

        Example:
            >>> ds = Dataset.from_tensor_slices({"x": np.eye(2), "y": ["a", "b"]})
            >>> next(iter(ds))
            {'x': array([1., 0.]), 'y': b'a'}
        """
        return cls(nodes.FromTensorSlices(tensors=tensors, name=name))

    @classmethod
    def from_generator(
        cls,
        generator: Callable[..., Iterable[Any]],
        output_types: Any = None,
        output_shapes: Any = None,
        args: Sequence[Any] | None = None,
        output_signature: Any = None,
        name: str | None = None,
    ) -> Self:
        """What ``generator(*args)`` yields; it is called anew for each pass.

        The generator never runs ahead of its consumer. With an ``output_signature``, values are
        converted to it and checked; without one, the first value tells the ``element_spec``.

        Example:
            >>> def count(stop):
            ...     yield from range(stop)
            >>> [int(x) for x in Dataset.from_generator(count, args=(3,))]
            [0, 1, 2]
        """
        if output_signature is not None and (output_types, output_shapes) != (None, None):
            raise InvalidArgumentError("pass output_signature, or output_types and output_shapes")
        if output_signature is None and output_types is not None:
            output_signature = signature_of(output_types, output_shapes)
        if output_signature is not None:
            check_spec(output_signature)
        given = tuple(map(to_element, args or ()))
        return cls(
            nodes.FromGenerator(
                generator=generator, args=given, output_signature=output_signature, name=name
            )
        )

    @classmethod
    def list_files(
        cls,
        file_pattern: Any,
        shuffle: bool | None = None,
        seed: int | None = None,
        name: str | None = None,
    ) -> Self:
        """The names of the files that match one or more patterns, as ``bytes``.

        The files are listed at once. As in TensorFlow the order is random unless
        ``shuffle=False``, which sorts by name. No match at all is an error.
        """
        return cls(nodes.listed_files(file_pattern, shuffle=shuffle, seed=seed, name=name))

    @classmethod
    def random(
        cls,
        seed: int | None = None,
        rerandomize_each_iteration: bool | None = None,
        name: str | None = None,
    ) -> Self:
        """Endless random integers from 0 up to 2**32.

        Example:
            >>> a, b = (list(Dataset.random(seed=4).take(2)) for _ in range(2))
            >>> a == b
            True
        """
        source = Randomness(seed_or_none(seed), bool(rerandomize_each_iteration))
        return cls(nodes.RandomSource(source=source, name=name))

    @classmethod
    def counter(
        cls, start: int = 0, step: int = 1, dtype: Any = np.int64, name: str | None = None
    ) -> Self:
        """Count without end.

        Example:
            >>> [int(x) for x in Dataset.counter(10, 5).take(3)]
            [10, 15, 20]
        """
        return cls(nodes.Counter(start=start, step=step, dtype=number_type(dtype), name=name))

    @classmethod
    def sample_from_datasets(
        cls,
        datasets: Sequence[BaseDataset],
        weights: Any = None,
        seed: int | None = None,
        stop_on_empty_dataset: bool = False,
        rerandomize_each_iteration: bool | None = None,
    ) -> Self:
        """Take each element from a data set chosen at random, by ``weights``.

        Example:
            >>> a, b = Dataset.range(3), Dataset.range(10, 13)
            >>> sorted(int(x) for x in Dataset.sample_from_datasets([a, b], [0.3, 0.7], seed=1))
            [0, 1, 2, 10, 11, 12]
        """
        source = Randomness(seed_or_none(seed), bool(rerandomize_each_iteration))
        return cls(
            nodes.SampleFromDatasets(
                parents=tuple(map(node_of, datasets)),
                weights=weights.__keepset_node__() if isinstance(weights, BaseDataset) else weights,
                source=source,
                stop_on_empty_dataset=stop_on_empty_dataset,
            )
        )

    @classmethod
    def choose_from_datasets(
        cls,
        datasets: Sequence[BaseDataset],
        choice_dataset: BaseDataset,
        stop_on_empty_dataset: bool = True,
    ) -> Self:
        """Take each element from the data set whose number ``choice_dataset`` gives.

        Example:
            >>> a, b = Dataset.range(3), Dataset.range(10, 13)
            >>> choice = Dataset.from_tensor_slices([1, 0, 1])
            >>> [int(x) for x in Dataset.choose_from_datasets([a, b], choice)]
            [10, 0, 11]
        """
        return cls(
            nodes.ChooseFromDatasets(
                parents=tuple(map(node_of, datasets)),
                choice=node_of(choice_dataset),
                stop_on_empty_dataset=stop_on_empty_dataset,
            )
        )
