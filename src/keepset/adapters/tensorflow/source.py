"""The elements of a ``tf.data.Dataset``, as a pipeline iterates over them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from keepset.adapters.tensorflow.specs import spec_of_tf
from keepset.adapters.tensorflow.values import leaf_of_tf
from keepset.core.fingerprint.sketch import Uncountable
from keepset.core.spec import Spec
from keepset.core.structure import structure_of
from keepset.errors import InvalidArgumentError


class TfElements:
    """Iterates over a ``tf.data.Dataset`` anew for each pass, and gives NumPy."""

    def __init__(self, dataset: Any) -> None:
        if not isinstance(dataset, tf.data.Dataset):
            raise InvalidArgumentError(
                f"from_tf takes a tf.data.Dataset, not {type(dataset).__name__}"
            )
        self.dataset = dataset

    def __keepset_fingerprint__(self) -> Any:
        raise Uncountable("a tf.data.Dataset")

    @property
    def spec(self) -> Spec:
        return spec_of_tf(self.dataset.element_spec)

    def cardinality(self) -> int:
        return int(self.dataset.cardinality().numpy())

    def __iter__(self) -> Iterator[Any]:
        for element in self.dataset:
            structure = structure_of(element)
            yield structure.build([leaf_of_tf(leaf) for leaf in structure.leaves(element)])
