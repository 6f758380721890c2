"""Dataset: the fluent face over all stages.

``base`` iterates, addresses and describes; ``sources`` begins a pipeline; ``elements``, ``groups``
and ``order`` add stages to it; ``keeping`` keeps it; those that end in ``_doors`` lead to
other people's files and frameworks. Each method checks its arguments and wraps one node.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keepset import nodes
from keepset.core.structure import structure_of
from keepset.dataset.array_doors import ArrayDoors
from keepset.dataset.base import node_of
from keepset.dataset.elements import ElementStages
from keepset.dataset.framework_doors import FrameworkDoors
from keepset.dataset.groups import GroupStages
from keepset.dataset.image_doors import ImageDoors
from keepset.dataset.keeping import Keeping
from keepset.dataset.memory_doors import MemoryDoors
from keepset.dataset.order import OrderStages
from keepset.dataset.sources import Sources
from keepset.dataset.table_doors import TableDoors
from keepset.dataset.telling import Telling
from keepset.dataset.tensorflow_doors import TensorflowDoors
from keepset.errors import InvalidArgumentError


class _StaticOrMethod:
    """``Dataset.zip(a, b)`` and ``a.zip(b)`` alike."""

    def __init__(self, function: Callable[..., Dataset]) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    def __get__(self, instance: Dataset | None, owner: type[Dataset]) -> Callable[..., Dataset]:
        given = () if instance is None else (instance,)

        def zipped(*args: Any, datasets: Any = None, name: str | None = None) -> Dataset:
            return self._function(owner, (*given, *args), datasets, name)

        zipped.__doc__ = self.__doc__
        return zipped


def _zip(kind: type[Dataset], args: tuple[Any, ...], datasets: Any, name: str | None) -> Dataset:
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
    given = args[0] if len(args) == 1 else args
    layout = structure_of(given)
    if not layout.num_leaves:
        raise InvalidArgumentError("zip takes Datasets, or a tuple or dict of Datasets")
    parents = tuple(map(node_of, layout.leaves(given)))
    return kind(nodes.Zip(parents=parents, layout=layout, name=name))


class Dataset(
    Sources,
    ElementStages,
    GroupStages,
    OrderStages,
    Keeping,
    ArrayDoors,
    FrameworkDoors,
    ImageDoors,
    MemoryDoors,
    TableDoors,
    Telling,
    TensorflowDoors,
):
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

    __slots__ = ()

    zip = _StaticOrMethod(_zip)
