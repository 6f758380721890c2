"""Stages that look at one element at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from keepset import nodes
from keepset.core.random import Randomness
from keepset.core.spec import check_spec
from keepset.dataset.arguments import function_for, parallelism_for, seed_or_none, whole_number
from keepset.dataset.base import BaseDataset
from keepset.errors import InvalidArgumentError


class ElementStages(BaseDataset):
    """Methods that call a function on each element, or count and filter them."""

    __slots__ = ()

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
    ) -> Self:
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
        return self._then(
            nodes.Map(
                parent=self._node,
                function=function_for(map_func, "map"),
                output_signature=output_signature,
                parallelism=parallelism_for(num_parallel_calls, deterministic, executor),
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
    ) -> Self:
        """Call ``map_func(*element, rng)`` with a NumPy generator of each element's own.

        What the generator gives depends on the seed, the pass and the element's position, never
        on timing or on which elements were visited before.

        Example:
            >>> ds = Dataset.range(3).random_map(lambda x, rng: x + rng.integers(100), seed=1)
            >>> ds[2] == list(ds)[2]
            np.True_
        """
        return self._then(
            nodes.RandomMap(
                parent=self._node,
                function=function_for(map_func, "random_map"),
                source=Randomness(seed_or_none(seed), reshuffle_each_iteration),
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
    ) -> Self:
        """Call ``function`` on whole batches, for functions that NumPy does all at once.

        The elements stay single: the function gets up to ``batch_size`` of them stacked and
        returns a stack, of the same or another length.

        Example:
            >>> [int(x) for x in Dataset.range(4).map_batches(lambda x: x * x, batch_size=2)]
            [0, 1, 4, 9]
        """
        batches = nodes.Batch(parent=self._node, batch_size=whole_number(batch_size, "batch_size"))
        mapped = nodes.Map(
            parent=batches,
            function=function_for(function, "map_batches"),
            parallelism=parallelism_for(num_parallel_calls, deterministic, executor),
            name=name,
        )
        return self._then(nodes.Unbatch(parent=mapped))

    def select(self, *keys: Any) -> Self:
        """Keep only some entries of elements that are dicts.

        They may be given as a list, too. What was loaded from disk reads only those.

        Example:
            >>> ds = Dataset.from_tensor_slices({"x": [1, 2], "y": [3, 4], "z": [5, 6]})
            >>> next(iter(ds.select("x", "z")))
            {'x': np.int64(1), 'z': np.int64(5)}
        """
        if len(keys) == 1 and isinstance(keys[0], list):
            keys = tuple(keys[0])  # which is no key itself
        if not keys:
            raise InvalidArgumentError("select needs at least one key")
        projected = self._node.project(keys)
        return self._then(projected or nodes.Select(parent=self._node, keys=keys))

    def filter(self, predicate: Callable[..., Any], name: str | None = None) -> Self:
        """Keep the elements for which ``predicate`` is true.

        It must return a single bool (of Python or NumPy, or 0 or 1); anything else, such as a list,
        an array or None, is an InvalidArgumentError.

        Example:
            >>> [int(x) for x in Dataset.range(6).filter(lambda x: x % 3 == 0)]
            [0, 3]
        """
        return self._then(
            nodes.Filter(parent=self._node, predicate=function_for(predicate, "filter"), name=name)
        )

    def take_while(self, predicate: Callable[..., Any], name: str | None = None) -> Self:
        """Stop before the first element for which ``predicate`` is false.

        It must return a single bool, as that of ``filter``.

        Example:
            >>> [int(x) for x in Dataset.range(9).take_while(lambda x: x < 2)]
            [0, 1]
        """
        return self._then(
            nodes.TakeWhile(
                parent=self._node, predicate=function_for(predicate, "take_while"), name=name
            )
        )

    def scan(
        self,
        initial_state: Any,
        scan_func: Callable[..., Any],
        name: str | None = None,
        *,
        output_signature: Any = None,
    ) -> Self:
        """A map that carries a value along: ``state, output = scan_func(state, element)``.

        Example:
            >>> [int(x) for x in Dataset.range(5).scan(0, lambda s, x: (s + x, s + x))]
            [0, 1, 3, 6, 10]
        """
        return self._then(
            nodes.Scan(
                parent=self._node,
                initial_state=initial_state,
                function=function_for(scan_func, "scan"),
                output_signature=output_signature,
                name=name,
            )
        )

    def enumerate(self, start: int = 0, name: str | None = None) -> Self:
        """Pair each element with its number.

        Example:
            >>> [(int(i), int(x)) for i, x in Dataset.range(5, 7).enumerate()]
            [(0, 5), (1, 6)]
        """
        return self._then(nodes.Enumerate(parent=self._node, start=int(start), name=name))

    def unique(self, name: str | None = None) -> Self:
        """Leave out elements that were there before. Remembers all it has seen.

        Example:
            >>> [int(x) for x in Dataset.from_tensor_slices([1, 2, 1, 3]).unique()]
            [1, 2, 3]
        """
        return self._then(nodes.Unique(parent=self._node, name=name))

    def ignore_errors(self, log_warning: bool = False, name: str | None = None) -> Self:
        """Leave out elements whose computation raises an error.

        Each is logged by the logger ``keepset``: as a warning if ``log_warning`` says so, else the
        first few as information and the others for debugging. At the end of a pass it logs how
        many there were, as a warning if they were more than half. Errors of the program
        rather than of an element are raised: NameError, AttributeError, ImportError, SyntaxError,
        MemoryError and RecursionError, and those of functions that take another number of
        arguments or return what no stage can use (``ResultError``). So are errors of the pipeline
        itself, such as ``WorkerDiedError`` and ``CardinalityError``, and any error that its input
        raises again without having passed an element, such as one of a file that is gone.

        Example:
            >>> ds = Dataset.range(3).map(lambda x: 1 // int(x)).ignore_errors()
            >>> [int(x) for x in ds]
            [1, 0]
        """
        return self._then(nodes.IgnoreErrors(parent=self._node, log_warning=log_warning, name=name))

    def rejection_resample(
        self,
        class_func: Callable[..., Any],
        target_dist: Any,
        initial_dist: Any = None,
        seed: int | None = None,
        name: str | None = None,
    ) -> Self:
        """Drop elements so that classes occur as often as ``target_dist`` says.

        Gives ``(class, element)``. Without ``initial_dist`` the classes are counted on the way.
        """
        return self._then(
            nodes.RejectionResample(
                parent=self._node,
                class_func=function_for(class_func, "rejection_resample"),
                target_dist=target_dist,
                initial_dist=initial_dist,
                source=Randomness(seed_or_none(seed), rerandomize=False),
                name=name,
            )
        )
