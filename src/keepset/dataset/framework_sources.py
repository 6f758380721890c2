"""Data sets of other frameworks, as data sets of ours."""

from __future__ import annotations

import sys
from typing import Any

from keepset.adapters.frameworks import framework
from keepset.core.node import UNKNOWN
from keepset.dataset import Dataset
from keepset.nodes.from_generator import FromGenerator
from keepset.nodes.from_sequence import FromSequence
from keepset.nodes.iterating import Iterating


def from_torch(dataset: Any) -> Dataset:
    """The items of a PyTorch data set, with NumPy arrays in place of tensors.

    One with ``__len__`` and ``__getitem__`` has elements by position here too; ``__getitems__`` is
    used where there is one. An ``IterableDataset``, or a DataLoader, is iterated over anew in each
    pass, as in the main process: it sees no worker info. A list of several things becomes a tuple.

    Before ``snapshot`` such a data set counts by its attributes and by its class's code. One that
    holds something without content, such as an open file, needs ``snapshot(fingerprint=...)``.

    Example:
        >>> class Squares:
        ...     def __len__(self):
        ...         return 5
        ...
        ...     def __getitem__(self, i):
        ...         return {"x": i, "square": i * i}
        >>> ds = from_torch(Squares())
        >>> len(ds), int(ds[3]["square"])
        (5, 9)
    """
    torch = sys.modules.get("torch.utils.data")  # if it is none of theirs, there may be none
    # Theirs have a __getitem__ too, which only says that there is none.
    if torch is not None and isinstance(dataset, torch.IterableDataset):
        return _iterated(dataset)
    return _items(dataset)


def from_grain(source: Any) -> Dataset:
    """The records of a grain ``RandomAccessDataSource``, or of anything like it.

    All that it takes is ``__len__`` and ``__getitem__``; a grain ``MapDataset`` has them. What can
    only be iterated over, such as a grain ``IterDataset``, is taken as that. A ``MapDataset`` that
    was filtered has gaps; pass its ``to_iter_dataset()``.

    Example:
        >>> ds = from_grain([{"x": 1}, {"x": 2}, {"x": 3}])
        >>> [int(row["x"]) for row in ds.take(2)], len(ds)
        ([1, 2], 3)
    """
    return _items(source)


def _items(source: Any) -> Dataset:
    if hasattr(source, "__getitem__") and hasattr(source, "__len__"):
        return Dataset(FromSequence(sequence=source))
    return _iterated(source)


def _iterated(source: Any) -> Dataset:
    return Dataset(FromGenerator(generator=Iterating(source)))


def from_tf(dataset: Any) -> Dataset:
    """The elements of a ``tf.data.Dataset``, with its spec and, where known, its number.

    TensorFlow runs its own stages as ever. Before ``snapshot`` such a data set has no content that
    could be compared: give it a name with ``snapshot(fingerprint=...)``.

    Example:
        >>> import tensorflow as tf
        >>> ds = from_tf(tf.data.Dataset.range(3).map(lambda x: x * x))
        >>> [int(x) for x in ds], len(ds)
        ([0, 1, 4], 3)
    """
    framework("tensorflow", "from_tf")
    import keepset.adapters.tensorflow.source as adapter

    elements = adapter.TfElements(dataset)
    ds = Dataset(FromGenerator(generator=Iterating(elements), output_signature=elements.spec))
    length = elements.cardinality()
    return ds if length == UNKNOWN else ds.assert_cardinality(length)
