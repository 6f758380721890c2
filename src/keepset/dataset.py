"""Dataset: the fluent face over all stages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, SupportsIndex

import numpy as np

from keepset.core.chunk import Chunk
from keepset.core.cursor import State
from keepset.core.describe import count_text, describe, describe_html, spec_text
from keepset.core.dtypes import StringType, as_dtype
from keepset.core.element import to_element
from keepset.core.iterate import DatasetIterator, iterate
from keepset.core.node import INFINITE, UNKNOWN, Node
from keepset.core.options import Options
from keepset.core.random import Randomness
from keepset.core.run import look
from keepset.core.spec import Spec, TensorSpec, check_spec, structure_and_leaves
from keepset.core.structure import structure_of
from keepset.errors import (
    CardinalityError,
    ElementIndexError,
    InvalidArgumentError,
    NotAddressableError,
)
from keepset.nodes.assert_cardinality import AssertCardinality
from keepset.nodes.batch import Batch
from keepset.nodes.bucket_by_sequence_length import bucket_by_sequence_length
from keepset.nodes.cache import Cache
from keepset.nodes.choose_from_datasets import ChooseFromDatasets
from keepset.nodes.concatenate import Concatenate
from keepset.nodes.counter import Counter
from keepset.nodes.enumerate import Enumerate
from keepset.nodes.filter import Filter
from keepset.nodes.flat_map import FlatMap
from keepset.nodes.from_generator import FromGenerator
from keepset.nodes.from_tensors import FromTensors
from keepset.nodes.global_shuffle import GlobalShuffle
from keepset.nodes.group_by_window import GroupByWindow
from keepset.nodes.ignore_errors import IgnoreErrors
from keepset.nodes.interleave import Interleave
from keepset.nodes.list_files import list_files
from keepset.nodes.map import Map
from keepset.nodes.padded_batch import PaddedBatch
from keepset.nodes.parallel import AUTOTUNE, Parallelism
from keepset.nodes.prefetch import Prefetch
from keepset.nodes.ragged_batch import RaggedBatch
from keepset.nodes.random_map import RandomMap
from keepset.nodes.random_source import RandomSource
from keepset.nodes.range import Range
from keepset.nodes.rebatch import Rebatch
from keepset.nodes.rejection_resample import RejectionResample
from keepset.nodes.repeat import FOREVER, Repeat
from keepset.nodes.sample_from_datasets import SampleFromDatasets
from keepset.nodes.scan import Scan
from keepset.nodes.shard import Shard
from keepset.nodes.shuffle import Shuffle
from keepset.nodes.slice import Slice
from keepset.nodes.slices import FromTensorSlices
from keepset.nodes.sparse_batch import SparseBatch
from keepset.nodes.take import Skip, Take
from keepset.nodes.take_while import TakeWhile
from keepset.nodes.unbatch import Unbatch
from keepset.nodes.unique import Unique
from keepset.nodes.window import Window
from keepset.nodes.with_options import WithOptions
from keepset.nodes.zip import Zip

INFINITE_CARDINALITY: Final = INFINITE
UNKNOWN_CARDINALITY: Final = UNKNOWN


class _Global:
    """The type of ``keepset.GLOBAL``."""

    def __repr__(self) -> str:
        return "keepset.GLOBAL"


GLOBAL: Final = _Global()


class _StaticOrMethod:
    """``Dataset.zip(a, b)`` and ``a.zip(b)`` alike."""

    def __init__(self, function: Callable[..., Dataset]) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    def __get__(self, instance: Dataset | None, owner: type) -> Callable[..., Dataset]:
        if instance is None:
            return self._function
        function = self._function

        def with_self(*args: Any, **kwargs: Any) -> Dataset:
            return function(instance, *args, **kwargs)

        with_self.__doc__ = function.__doc__
        return with_self


def _zip(*args: Any, datasets: Any = None, name: str | None = None) -> Dataset:
    """Put the elements of several data sets side by side, until the shortest ends.

    Works as ``Dataset.zip(a, b)``, as ``Dataset.zip((a, b))`` with any nesting, and as
    ``a.zip(b)``.

    Example:
        >>> a, b = Dataset.range(3), Dataset.range(10, 13)
        >>> [(int(x), int(y)) for x, y in Dataset.zip(a, b)]
        [(0, 10), (1, 11), (2, 12)]
    """
    if datasets is not None:
        args = (*args, datasets)
    given = args[0] if len(args) == 1 else tuple(args)
    layout = structure_of(given)
    leaves = layout.leaves(given)
    if not leaves or not all(isinstance(leaf, Dataset) for leaf in leaves):
        raise InvalidArgumentError("zip takes Datasets, or a tuple or dict of Datasets")
    return Dataset(Zip(parents=tuple(leaf._node for leaf in leaves), layout=layout, name=name))


class Dataset:
    """A sequence of elements and the stages that make them. Immutable; nothing runs until asked.

    Build one from a source (``Dataset.range``, ``from_tensor_slices``, ``from_generator``, ...),
    chain stages, and iterate. Elements are NumPy arrays and scalars, ``bytes``, ``Ragged`` or
    ``Sparse``, nested in dicts, tuples, named tuples and dataclasses.

    Example:
        >>> ds = Dataset.range(10).filter(lambda x: x % 2 == 1).map(lambda x: x * x).batch(3)
        >>> for batch in ds:
        ...     print(batch)
        [ 1  9 25]
        [49 81]
    """

    __slots__ = ("__weakref__", "_node")

    def __init__(self, node: Node) -> None:
        if not isinstance(node, Node):
            raise InvalidArgumentError(
                "a Dataset is built by Dataset.range, from_tensor_slices, from_generator and such"
            )
        self._node = node

    def __keepset_node__(self) -> Node:
        return self._node

    def __reduce__(self) -> tuple[Any, ...]:
        import cloudpickle  # takes longer to import than this package

        return _unpickle, (cloudpickle.dumps(self._node),)

    # Sources.

    @staticmethod
    def range(*args: SupportsIndex, output_type: Any = np.int64, name: str | None = None) -> Dataset:
        """Integers as Python's ``range`` gives them: ``stop``, or ``start, stop[, step]``.

        Example:
            >>> [int(x) for x in Dataset.range(2, 10, 3)]
            [2, 5, 8]
        """
        if not 1 <= len(args) <= 3:
            raise InvalidArgumentError(f"range takes 1 to 3 numbers, not {len(args)}")
        bounds = [_whole(arg, "a bound of range") for arg in args]
        start, stop = (0, bounds[0]) if len(bounds) == 1 else bounds[:2]
        step = bounds[2] if len(bounds) == 3 else 1
        dtype = _number_type(output_type)
        return Dataset(Range(start=start, stop=stop, step=step, dtype=dtype, name=name))

    @staticmethod
    def from_tensors(tensors: Any, name: str | None = None) -> Dataset:
        """A data set of one element.

        Example:
            >>> next(iter(Dataset.from_tensors({"a": [1, 2]})))
            {'a': array([1, 2])}
        """
        return Dataset(FromTensors(tensors=tensors, name=name))

    @staticmethod
    def from_tensor_slices(tensors: Any, name: str | None = None) -> Dataset:
        """Element ``i`` is row ``i`` of every array. Arrays are not copied; do not change them.

        Example:
            >>> ds = Dataset.from_tensor_slices({"x": np.eye(2), "y": ["a", "b"]})
            >>> next(iter(ds))
            {'x': array([1., 0.]), 'y': b'a'}
        """
        return Dataset(FromTensorSlices(tensors=tensors, name=name))

    @staticmethod
    def from_generator(
        generator: Callable[..., Iterable[Any]],
        output_types: Any = None,
        output_shapes: Any = None,
        args: Sequence[Any] | None = None,
        output_signature: Any = None,
        name: str | None = None,
    ) -> Dataset:
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
            output_signature = _signature_of(output_types, output_shapes)
        if output_signature is not None:
            check_spec(output_signature)
        given = tuple(map(to_element, args or ()))
        return Dataset(
            FromGenerator(
                generator=generator, args=given, output_signature=output_signature, name=name
            )
        )

    @staticmethod
    def list_files(
        file_pattern: Any,
        shuffle: bool | None = None,
        seed: int | None = None,
        name: str | None = None,
    ) -> Dataset:
        """The names of the files that match one or more patterns, as ``bytes``.

        The files are listed at once. As in TensorFlow the order is random unless
        ``shuffle=False``, which sorts by name. No match at all is an error.
        """
        return Dataset(list_files(file_pattern, shuffle=shuffle, seed=seed, name=name))

    @staticmethod
    def random(
        seed: int | None = None,
        rerandomize_each_iteration: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Endless random integers from 0 up to 2**32.

        Example:
            >>> a, b = (list(Dataset.random(seed=4).take(2)) for _ in range(2))
            >>> a == b
            True
        """
        source = Randomness(_seed(seed), bool(rerandomize_each_iteration))
        return Dataset(RandomSource(source=source, name=name))

    @staticmethod
    def counter(
        start: int = 0, step: int = 1, dtype: Any = np.int64, name: str | None = None
    ) -> Dataset:
        """Count without end.

        Example:
            >>> [int(x) for x in Dataset.counter(10, 5).take(3)]
            [10, 15, 20]
        """
        return Dataset(Counter(start=start, step=step, dtype=_number_type(dtype), name=name))

    @staticmethod
    def sample_from_datasets(
        datasets: Sequence[Dataset],
        weights: Any = None,
        seed: int | None = None,
        stop_on_empty_dataset: bool = False,
        rerandomize_each_iteration: bool | None = None,
    ) -> Dataset:
        """Take each element from a data set chosen at random, by ``weights``.

        Example:
            >>> a, b = Dataset.range(3), Dataset.range(10, 13)
            >>> sorted(int(x) for x in Dataset.sample_from_datasets([a, b], [0.3, 0.7], seed=1))
            [0, 1, 2, 10, 11, 12]
        """
        source = Randomness(_seed(seed), bool(rerandomize_each_iteration))
        return Dataset(
            SampleFromDatasets(
                parents=_nodes(datasets),
                weights=weights._node if isinstance(weights, Dataset) else weights,
                source=source,
                stop_on_empty_dataset=stop_on_empty_dataset,
            )
        )

    @staticmethod
    def choose_from_datasets(
        datasets: Sequence[Dataset], choice_dataset: Dataset, stop_on_empty_dataset: bool = True
    ) -> Dataset:
        """Take each element from the data set whose number ``choice_dataset`` gives.

        Example:
            >>> a, b = Dataset.range(3), Dataset.range(10, 13)
            >>> choice = Dataset.from_tensor_slices([1, 0, 1])
            >>> [int(x) for x in Dataset.choose_from_datasets([a, b], choice)]
            [10, 0, 11]
        """
        return Dataset(
            ChooseFromDatasets(
                parents=_nodes(datasets),
                choice=_node_of(choice_dataset),
                stop_on_empty_dataset=stop_on_empty_dataset,
            )
        )

    zip = _StaticOrMethod(_zip)

    # One element at a time.

    def map(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
        synchronous: bool | None = None,
        use_unbounded_threadpool: bool = False,
        name: str | None = None,
        *,
        executor: str = "thread",
        output_signature: Any = None,
    ) -> Dataset:
        """Call ``map_func`` on each element; a tuple is unpacked into arguments.

        The function is ordinary Python and is called once per element, in order. With
        ``num_parallel_calls`` it runs on threads, or with ``executor="process"`` on worker
        processes, which is what a function needs that holds the interpreter lock.

        Args:
            num_parallel_calls: Calls at once, ``AUTOTUNE``, or None to call in line.
            deterministic: False lets results overtake each other.
            synchronous: Accepted for TensorFlow's sake; True means ``num_parallel_calls=None``.
            use_unbounded_threadpool: Accepted for TensorFlow's sake; threads are never scarce here.
            executor: ``"thread"`` or ``"process"``.
            output_signature: The spec of the results; converted to and checked.

        Example:
            >>> [int(x) for x in Dataset.range(3).map(lambda x: x + 10)]
            [10, 11, 12]
        """
        if synchronous and num_parallel_calls is not None:
            raise InvalidArgumentError("synchronous=True contradicts num_parallel_calls")
        if output_signature is not None:
            check_spec(output_signature)
        if num_parallel_calls is None and executor != "thread":
            num_parallel_calls = AUTOTUNE
        return Dataset(
            Map(
                parent=self._node,
                function=_callable(map_func, "map"),
                output_signature=output_signature,
                parallelism=_parallelism(num_parallel_calls, deterministic, executor),
                name=name,
            )
        )

    def random_map(
        self,
        map_func: Callable[..., Any],
        seed: int | None = None,
        reshuffle_each_iteration: bool = True,
        name: str | None = None,
        *,
        output_signature: Any = None,
    ) -> Dataset:
        """Call ``map_func(*element, rng)`` with a NumPy generator of each element's own.

        What the generator gives depends on the seed, the pass and the element's position, never
        on timing or on which elements were visited before.

        Example:
            >>> ds = Dataset.range(3).random_map(lambda x, rng: x + rng.integers(100), seed=1)
            >>> ds[2] == list(ds)[2]
            np.True_
        """
        return Dataset(
            RandomMap(
                parent=self._node,
                function=_callable(map_func, "random_map"),
                source=Randomness(_seed(seed), reshuffle_each_iteration),
                output_signature=output_signature,
                name=name,
            )
        )

    def map_batches(
        self,
        function: Callable[..., Any],
        batch_size: int = 1024,
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
        name: str | None = None,
        *,
        executor: str = "thread",
    ) -> Dataset:
        """Call ``function`` on whole batches, for functions that NumPy does all at once.

        The elements stay single: the function gets up to ``batch_size`` of them stacked and
        returns a stack, of the same or another length.

        Example:
            >>> [int(x) for x in Dataset.range(4).map_batches(lambda x: x * x, batch_size=2)]
            [0, 1, 4, 9]
        """
        stacked = self.batch(batch_size).map(
            function, num_parallel_calls, deterministic, name=name, executor=executor
        )
        return stacked.unbatch()

    def filter(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """Keep the elements for which ``predicate`` is true.

        Example:
            >>> [int(x) for x in Dataset.range(6).filter(lambda x: x % 3 == 0)]
            [0, 3]
        """
        return Dataset(
            Filter(parent=self._node, predicate=_callable(predicate, "filter"), name=name)
        )

    def take_while(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """Stop before the first element for which ``predicate`` is false.

        Example:
            >>> [int(x) for x in Dataset.range(9).take_while(lambda x: x < 2)]
            [0, 1]
        """
        return Dataset(
            TakeWhile(parent=self._node, predicate=_callable(predicate, "take_while"), name=name)
        )

    def scan(
        self,
        initial_state: Any,
        scan_func: Callable[..., Any],
        name: str | None = None,
        *,
        output_signature: Any = None,
    ) -> Dataset:
        """A map that carries a value along: ``state, output = scan_func(state, element)``.

        Example:
            >>> [int(x) for x in Dataset.range(5).scan(0, lambda s, x: (s + x, s + x))]
            [0, 1, 3, 6, 10]
        """
        return Dataset(
            Scan(
                parent=self._node,
                initial_state=initial_state,
                function=_callable(scan_func, "scan"),
                output_signature=output_signature,
                name=name,
            )
        )

    def enumerate(self, start: int = 0, name: str | None = None) -> Dataset:
        """Pair each element with its number.

        Example:
            >>> [(int(i), int(x)) for i, x in Dataset.range(5, 7).enumerate()]
            [(0, 5), (1, 6)]
        """
        return Dataset(Enumerate(parent=self._node, start=int(start), name=name))

    def unique(self, name: str | None = None) -> Dataset:
        """Leave out elements that were there before. Remembers all it has seen.

        Example:
            >>> [int(x) for x in Dataset.from_tensor_slices([1, 2, 1, 3]).unique()]
            [1, 2, 3]
        """
        return Dataset(Unique(parent=self._node, name=name))

    def ignore_errors(self, log_warning: bool = False, name: str | None = None) -> Dataset:
        """Leave out elements whose computation raises an error.

        Example:
            >>> ds = Dataset.range(3).map(lambda x: 1 // int(x)).ignore_errors()
            >>> [int(x) for x in ds]
            [1, 0]
        """
        return Dataset(IgnoreErrors(parent=self._node, log_warning=log_warning, name=name))

    def rejection_resample(
        self,
        class_func: Callable[..., Any],
        target_dist: Any,
        initial_dist: Any = None,
        seed: int | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Drop elements so that classes occur as often as ``target_dist`` says.

        Gives ``(class, element)``. Without ``initial_dist`` the classes are counted on the way.
        """
        return Dataset(
            RejectionResample(
                parent=self._node,
                class_func=_callable(class_func, "rejection_resample"),
                target_dist=target_dist,
                initial_dist=initial_dist,
                source=Randomness(_seed(seed), rerandomize=False),
                name=name,
            )
        )

    # Data sets out of elements.

    def flat_map(self, map_func: Callable[..., Dataset], name: str | None = None) -> Dataset:
        """Make a data set of each element, and put these one after another.

        Example:
            >>> [int(x) for x in Dataset.range(4).flat_map(lambda n: Dataset.range(n))]
            [0, 0, 1, 0, 1, 2]
        """
        return Dataset(
            FlatMap(parent=self._node, function=_callable(map_func, "flat_map"), name=name)
        )

    def interleave(
        self,
        map_func: Callable[..., Dataset],
        cycle_length: int | None = None,
        block_length: int | None = None,
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Make a data set of each element, and take a few elements from several of them in turn.

        Example:
            >>> ds = Dataset.range(4).interleave(
            ...     lambda x: Dataset.from_tensors(x).repeat(3), cycle_length=2, block_length=2
            ... )
            >>> [int(x) for x in ds]
            [0, 0, 1, 1, 0, 1, 2, 2, 3, 3, 2, 3]
        """
        return Dataset(
            Interleave(
                parent=self._node,
                function=_callable(map_func, "interleave"),
                cycle_length=AUTOTUNE if cycle_length is None else cycle_length,
                block_length=1 if block_length is None else block_length,
                parallelism=_parallelism(num_parallel_calls, deterministic, "thread"),
                name=name,
            )
        )

    def window(
        self,
        size: int,
        shift: int | None = None,
        stride: int = 1,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Data sets of ``size`` neighbouring elements each.

        Example:
            >>> for window in Dataset.range(5).window(3, shift=2):
            ...     print([int(x) for x in window])
            [0, 1, 2]
            [2, 3, 4]
            [4]
        """
        return Dataset(
            Window(
                parent=self._node,
                size=size,
                shift=size if shift is None else shift,
                stride=stride,
                drop_remainder=drop_remainder,
                wrap=Dataset,
                name=name,
            )
        )

    def group_by_window(
        self,
        key_func: Callable[..., Any],
        reduce_func: Callable[[Any, Dataset], Dataset],
        window_size: int | None = None,
        window_size_func: Callable[[Any], int] | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Collect elements of equal key, and hand every full group to ``reduce_func``.

        Example:
            >>> ds = Dataset.range(7).group_by_window(
            ...     lambda x: x % 2, lambda key, group: group.batch(2), window_size=2
            ... )
            >>> [batch.tolist() for batch in ds]
            [[0, 2], [1, 3], [4, 6], [5]]
        """
        return Dataset(
            GroupByWindow(
                parent=self._node,
                key_func=_callable(key_func, "group_by_window"),
                reduce_func=_callable(reduce_func, "group_by_window"),
                window_size=window_size,
                window_size_func=window_size_func,
                wrap=Dataset,
                name=name,
            )
        )

    def bucket_by_sequence_length(
        self,
        element_length_func: Callable[..., Any],
        bucket_boundaries: Sequence[int],
        bucket_batch_sizes: Sequence[int],
        padded_shapes: Any = None,
        padding_values: Any = None,
        pad_to_bucket_boundary: bool = False,
        no_padding: bool = False,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Batch elements of similar length together, so that little is padded.

        Example:
            >>> ds = Dataset.range(1, 6).map(lambda n: np.full(n, n))
            >>> for batch in ds.bucket_by_sequence_length(len, [3], [2, 2]):
            ...     print(batch.shape)
            (2, 2)
            (2, 4)
            (1, 5)
        """
        node = bucket_by_sequence_length(
            self._node,
            element_length_func=_callable(element_length_func, "bucket_by_sequence_length"),
            bucket_boundaries=bucket_boundaries,
            bucket_batch_sizes=bucket_batch_sizes,
            padded_shapes=padded_shapes,
            padding_values=padding_values,
            pad_to_bucket_boundary=pad_to_bucket_boundary,
            no_padding=no_padding,
            drop_remainder=drop_remainder,
            wrap=Dataset,
            name=name,
        )
        return Dataset(node)

    # Batches.

    def batch(
        self,
        batch_size: int,
        drop_remainder: bool = False,
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Stack ``batch_size`` elements along a new first axis.

        ``num_parallel_calls`` and ``deterministic`` are checked and otherwise without effect:
        a batch is cut out of whole columns, and there is nothing left to share out.

        Example:
            >>> [x.tolist() for x in Dataset.range(5).batch(2)]
            [[0, 1], [2, 3], [4]]
        """
        _parallelism(num_parallel_calls, deterministic, "thread")
        size = _whole(batch_size, "batch_size")
        return Dataset(
            Batch(parent=self._node, batch_size=size, drop_remainder=drop_remainder, name=name)
        )

    def padded_batch(
        self,
        batch_size: int,
        padded_shapes: Any = None,
        padding_values: Any = None,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Batch elements of unequal shape, filled up to the largest or to ``padded_shapes``.

        Example:
            >>> ds = Dataset.range(1, 3).map(lambda n: np.full(n, n))
            >>> next(iter(ds.padded_batch(2)))
            array([[1, 0],
                   [2, 2]])
        """
        return Dataset(
            PaddedBatch(
                parent=self._node,
                batch_size=_whole(batch_size, "batch_size"),
                padded_shapes=padded_shapes,
                padding_values=padding_values,
                drop_remainder=drop_remainder,
                name=name,
            )
        )

    def ragged_batch(
        self,
        batch_size: int,
        drop_remainder: bool = False,
        row_splits_dtype: Any = np.int64,
        name: str | None = None,
    ) -> Dataset:
        """Batch elements of unequal shape into a ``Ragged``, with nothing filled up.

        Example:
            >>> ds = Dataset.range(3).map(lambda n: np.full(n, n))
            >>> next(iter(ds.ragged_batch(3)))
            Ragged([[], [1], [2, 2]], dtype=int64)
        """
        return Dataset(
            RaggedBatch(
                parent=self._node,
                batch_size=_whole(batch_size, "batch_size"),
                drop_remainder=drop_remainder,
                row_splits_dtype=np.dtype(row_splits_dtype),
                name=name,
            )
        )

    def sparse_batch(self, batch_size: int, row_shape: Any, name: str | None = None) -> Dataset:
        """Batch elements of unequal shape into a ``Sparse`` of shape ``[n, *row_shape]``."""
        return Dataset(
            SparseBatch(
                parent=self._node,
                batch_size=_whole(batch_size, "batch_size"),
                row_shape=row_shape,
                name=name,
            )
        )

    def unbatch(self, name: str | None = None) -> Dataset:
        """Take batches apart into their rows.

        Example:
            >>> [int(x) for x in Dataset.range(3).batch(2).unbatch()]
            [0, 1, 2]
        """
        return Dataset(Unbatch(parent=self._node, name=name))

    def rebatch(
        self, batch_size: int | Sequence[int], drop_remainder: bool = False, name: str | None = None
    ) -> Dataset:
        """Regroup batches to another size, or to sizes that take turns.

        Example:
            >>> [x.tolist() for x in Dataset.range(6).batch(4).rebatch(3)]
            [[0, 1, 2], [3, 4, 5]]
        """
        sizes = batch_size if isinstance(batch_size, int | np.integer) else tuple(batch_size)
        return Dataset(
            Rebatch(parent=self._node, batch_size=sizes, drop_remainder=drop_remainder, name=name)
        )

    # Order and length.

    def shuffle(
        self,
        buffer_size: int | _Global,
        seed: int | None = None,
        reshuffle_each_iteration: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Put elements in random order.

        A number draws from a buffer of that many elements, as TensorFlow does. ``keepset.GLOBAL``
        reorders the whole data set without a buffer, where elements can be had by position.

        Example:
            >>> from keepset import GLOBAL
            >>> ds = Dataset.range(1000).shuffle(GLOBAL, seed=1)
            >>> sorted(int(x) for x in ds) == list(range(1000))
            True
        """
        source = Randomness(_seed(seed), reshuffle_each_iteration is not False)
        if isinstance(buffer_size, _Global):
            return Dataset(GlobalShuffle(parent=self._node, source=source, name=name))
        size = _whole(buffer_size, "buffer_size")
        return Dataset(Shuffle(parent=self._node, buffer_size=size, source=source, name=name))

    def repeat(self, count: int | None = None, name: str | None = None) -> Dataset:
        """Go over the elements ``count`` times, or endlessly.

        Example:
            >>> [int(x) for x in Dataset.range(2).repeat(2)]
            [0, 1, 0, 1]
        """
        times = FOREVER if count is None else _whole(count, "count")
        return Dataset(Repeat(parent=self._node, count=times, name=name))

    def take(self, count: int, name: str | None = None) -> Dataset:
        """The first ``count`` elements; -1 takes all.

        Example:
            >>> [int(x) for x in Dataset.counter().take(2)]
            [0, 1]
        """
        return Dataset(Take(parent=self._node, count=_whole(count, "count"), name=name))

    def skip(self, count: int, name: str | None = None) -> Dataset:
        """All but the first ``count`` elements.

        Where elements can be had by position, those skipped are not computed.

        Example:
            >>> [int(x) for x in Dataset.range(4).skip(2)]
            [2, 3]
        """
        return Dataset(Skip(parent=self._node, count=_whole(count, "count"), name=name))

    def shard(self, num_shards: int, index: int, name: str | None = None) -> Dataset:
        """Keep every ``num_shards``-th element, starting at ``index``.

        Shard before you shuffle, so that workers keep disjoint elements.

        Example:
            >>> [int(x) for x in Dataset.range(7).shard(3, 1)]
            [1, 4]
        """
        shards, place = _whole(num_shards, "num_shards"), _whole(index, "index")
        return Dataset(Shard(parent=self._node, num_shards=shards, index=place, name=name))

    def concatenate(self, dataset: Dataset, name: str | None = None) -> Dataset:
        """The elements of this data set, then those of another.

        Example:
            >>> [int(x) for x in Dataset.range(2).concatenate(Dataset.range(5, 7))]
            [0, 1, 5, 6]
        """
        return Dataset(Concatenate(parents=(self._node, _node_of(dataset)), name=name))

    # Running.

    def prefetch(self, buffer_size: int, name: str | None = None) -> Dataset:
        """Compute up to ``buffer_size`` elements ahead, in a thread, while the consumer is busy."""
        size = _whole(buffer_size, "buffer_size")
        return Dataset(Prefetch(parent=self._node, buffer_size=size, name=name))

    def cache(self, filename: Any = "", name: str | None = None) -> Dataset:
        """Keep the elements of the first complete pass, in memory or in a file, for later ones.

        Example:
            >>> calls = []
            >>> ds = Dataset.range(3).map(lambda x: calls.append(x) or x).cache()
            >>> len(list(ds)), len(list(ds)), len(calls)
            (3, 3, 3)
        """
        return Dataset(Cache(parent=self._node, filename=str(filename), name=name))

    def with_options(self, options: Options, name: str | None = None) -> Dataset:
        """Set options for the whole pipeline; what is set later wins."""
        if not isinstance(options, Options):
            raise InvalidArgumentError(f"with_options takes keepset.Options, not {options!r:.60}")
        return Dataset(WithOptions(parent=self._node, chosen=options, name=name))

    def options(self) -> Options:
        """The options in force."""
        return self._node.options()

    def assert_cardinality(self, expected_cardinality: int, name: str | None = None) -> Dataset:
        """State the number of elements where it cannot be known; checked while running.

        Example:
            >>> len(Dataset.range(9).filter(lambda x: x < 3).assert_cardinality(3))
            3
        """
        return Dataset(
            AssertCardinality(parent=self._node, expected=int(expected_cardinality), name=name)
        )

    def apply(self, transformation_func: Callable[[Dataset], Any]) -> Any:
        """``transformation_func(self)``, for stages written as functions."""
        result = transformation_func(self)
        if not isinstance(result, Dataset):
            raise InvalidArgumentError(
                f"the function given to apply must return a Dataset, not {type(result).__name__}"
            )
        return result

    def reduce(self, initial_state: Any, reduce_func: Callable[..., Any]) -> Any:
        """Fold all elements into one value: ``state = reduce_func(state, element)``.

        Example:
            >>> int(Dataset.range(5).reduce(0, lambda state, x: state + x))
            10
        """
        state = to_element(initial_state)
        structure = structure_of(state)
        for element in self:
            state = to_element(reduce_func(state, element))
            if structure_of(state) != structure:
                raise InvalidArgumentError(
                    f"the state of reduce must keep its structure {structure}, but it became "
                    f"{structure_of(state)}"
                )
        return state

    def get_single_element(self, name: str | None = None) -> Any:
        """The one element of this data set; an error if there are none or more.

        Example:
            >>> int(Dataset.range(5).reduce(0, max)), int(Dataset.range(1).get_single_element())
            (4, 0)
        """
        with iterate(self._node) as iterator:
            found = [element for element, _ in zip(iterator, range(2), strict=False)]
        if len(found) != 1:
            amount = "none" if not found else "more"
            raise CardinalityError(
                f"get_single_element needs exactly one element, there are {amount}"
            )
        return found[0]

    def __iter__(self) -> DatasetIterator:
        return iterate(self._node)

    def iterate(self, state: State | None = None) -> DatasetIterator:
        """Iterate from the beginning, or from where another iterator stood: ``it.state()``.

        Example:
            >>> it = iter(Dataset.range(4))
            >>> next(it)
            np.int64(0)
            >>> [int(x) for x in Dataset.range(4).iterate(it.state())]
            [1, 2, 3]
        """
        return iterate(self._node, state)

    def as_numpy_iterator(self) -> DatasetIterator:
        """The same as ``iter``: elements are NumPy already."""
        return iterate(self._node)

    # Addressing.

    def __getitem__(self, index: Any) -> Any:
        """``ds[i]`` is one element, ``ds[a:b]`` a data set; an error where there is no jumping."""
        self._check_addressable()
        if isinstance(index, slice):
            return self._sliced(index)
        try:
            position = index.__index__()
        except AttributeError as error:
            raise InvalidArgumentError(
                f"a data set is indexed by an integer or a slice, not {type(index).__name__}; "
                "gather(indices) takes many"
            ) from error
        return self.gather([position])[0]

    def gather(self, indices: Any) -> list[Any]:
        """The elements at these positions, in this order, as a list.

        Example:
            >>> [int(x) for x in Dataset.range(100).gather([7, -1, 7])]
            [7, 99, 7]
        """
        self._check_addressable()
        wanted = np.asarray(indices)
        if wanted.size == 0:
            return []
        if wanted.ndim != 1 or wanted.dtype.kind not in "iu":
            raise InvalidArgumentError("gather takes a one-dimensional list of integers")
        return self._gathered(wanted.astype(np.int64)).rows

    def _gathered(self, wanted: Any) -> Chunk:
        length = self._node.cardinality()
        if length >= 0:
            positions = np.where(wanted < 0, wanted + length, wanted)
            outside = (positions < 0) | (positions >= length)
        else:
            positions, outside = wanted, wanted < 0
        if outside.any():
            raise ElementIndexError(
                f"position {wanted[outside][0]} is outside a data set of {count_text(length)}"
            )
        run = look(self._node)
        try:
            return self._node.gather(positions, run)
        finally:
            run.session.close()

    def _sliced(self, index: slice) -> Dataset:
        length = self._node.cardinality()
        if length < 0:
            start, step = index.start or 0, index.step or 1
            if start < 0 or step < 1 or (index.stop or 0) < 0:
                raise InvalidArgumentError("a data set without end can only be sliced forward")
            if step == 1:
                ahead = self.skip(start)
                return ahead if index.stop is None else ahead.take(max(0, index.stop - start))
            length = index.stop if index.stop is not None else np.iinfo(np.int64).max // 2
        places = range(*index.indices(length))
        if places.step == 1:
            return self.skip(places.start).take(len(places))
        return Dataset(
            Slice(parent=self._node, start=places.start, step=places.step, count=len(places))
        )

    def _check_addressable(self) -> None:
        obstacle = self._node.obstacle()
        if obstacle is None and self._node.cardinality() == UNKNOWN:
            obstacle = f"{self._node.title} does not know its length"
        if obstacle is not None:
            raise NotAddressableError(f"elements cannot be had by position: {obstacle}")

    # What it is.

    @property
    def element_spec(self) -> Spec:
        """The type of the elements; where nothing else can tell, the first element is run."""
        return self._node.spec()

    def cardinality(self) -> int:
        """The number of elements, ``INFINITE_CARDINALITY`` or ``UNKNOWN_CARDINALITY``."""
        return self._node.cardinality()

    def __len__(self) -> int:
        length = self._node.cardinality()
        if length == INFINITE:
            raise TypeError("the data set is infinite; take(count) makes it finite")
        if length == UNKNOWN:
            raise TypeError(
                "the length of the data set is unknown until it has run; "
                "assert_cardinality(n) states it"
            )
        return length

    def __bool__(self) -> bool:
        return True

    def describe(self) -> str:
        """The pipeline as text, the last stage first, with counts and specs.

        Example:
            >>> print(Dataset.range(10).batch(4).describe())
            batch(4)      3 elements  int64[?]
            range(0, 10)  10 elements  int64
        """
        return describe(self._node)

    def __repr__(self) -> str:
        node = self._node
        return f"<Dataset {node.title}: {count_text(node.cardinality())}, {spec_text(node)}>"

    def _repr_html_(self) -> str:
        return describe_html(self._node)


def _unpickle(data: bytes) -> Dataset:
    import cloudpickle

    return Dataset(cloudpickle.loads(data))


def _node_of(dataset: Any) -> Node:
    if not isinstance(dataset, Dataset):
        raise InvalidArgumentError(f"a Dataset is needed, not {type(dataset).__name__}")
    return dataset._node


def _nodes(datasets: Sequence[Any]) -> tuple[Node, ...]:
    return tuple(map(_node_of, datasets))


def _callable(function: Any, stage: str) -> Callable[..., Any]:
    if not callable(function):
        raise InvalidArgumentError(f"{stage} needs a function, not {type(function).__name__}")
    return function  # type: ignore[no-any-return]


def _whole(value: Any, what: str) -> int:
    """An integer argument, also one of NumPy; anything else is refused."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise InvalidArgumentError(f"{what} must be an integer, not {value!r:.60}")
    return int(value.__index__())


def _number_type(dtype: Any) -> np.dtype[Any]:
    wanted = as_dtype(dtype)
    if isinstance(wanted, StringType):
        raise InvalidArgumentError("the elements are numbers; their dtype cannot be string")
    return wanted


def _seed(seed: Any) -> int | None:
    return None if seed is None else _whole(seed, "seed")


def _parallelism(calls: Any, deterministic: bool | None, executor: str) -> Parallelism | None:
    if calls is None:
        return None
    return Parallelism(_whole(calls, "num_parallel_calls"), deterministic, executor)


def _signature_of(types: Any, shapes: Any) -> Spec:
    """The signature that TensorFlow's older ``output_types, output_shapes`` spell out."""
    if isinstance(types, Mapping | tuple):
        structure, dtypes = structure_and_leaves(types)
        sizes = [None] * len(dtypes) if shapes is None else _flat_shapes(types, shapes)
        pairs = zip(sizes, dtypes, strict=True)
        return structure.build([TensorSpec(size, dtype) for size, dtype in pairs])
    return TensorSpec(shapes, types)


def _flat_shapes(types: Any, shapes: Any) -> list[Any]:
    if isinstance(types, Mapping):
        return [s for key in sorted(types) for s in _flat_shapes(types[key], shapes[key])]
    if isinstance(types, tuple):
        pairs = zip(types, shapes, strict=True)
        return [s for inner, shape in pairs for s in _flat_shapes(inner, shape)]
    return [shapes]
