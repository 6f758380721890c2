"""The pipelines of ``tests/model.py`` in TensorFlow, and TensorFlow's values as ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from tests.model import Rows

import keepset as ks
from keepset.core.structure import map_structure


class TensorFlow:
    """The backend that builds self.tf.data pipelines: each function as in ``tests.model.Plain``."""

    def __init__(self) -> None:
        # Not at the top: the default suite looks for examples in this file, without TensorFlow.
        import tensorflow

        self.tf: Any = tensorflow
        self.Dataset = tensorflow.data.Dataset

    def run(self, build: Callable[[TensorFlow], Any]) -> Any:
        """Call ``build(self)`` with functions traced as they are.

        Left to itself TensorFlow rewrites their source, and where several lambdas stand in one
        statement it may take one for another.
        """
        return self.tf.autograph.experimental.do_not_convert(build)(self)

    def key(self, element: Any) -> Any:
        leaf = self.tf.nest.flatten(element)[0]
        if leaf.dtype == self.tf.string:
            leaf = self.tf.strings.length(leaf)
        return self.tf.cast(self.tf.reduce_sum(leaf), self.tf.int64)

    def double(self, element: Any) -> Any:
        return self.tf.nest.map_structure(lambda leaf: leaf * 2, element)

    def floats(self, element: Any) -> Any:
        return self.tf.nest.map_structure(lambda leaf: self.tf.cast(leaf, self.tf.float32), element)

    def first(self, element: Any) -> Any:
        return self.tf.nest.flatten(element)[0]

    def pair(self, element: Any) -> Any:
        return element, self.key(element)

    def named(self, element: Any) -> Any:
        return {"b": element, "a": self.key(element)}

    def lengthen(self, element: Any) -> Any:
        return self.tf.fill([self.key(element) % 4], self.key(element))

    def text(self, element: Any) -> Any:
        return self.tf.strings.as_string(self.key(element))

    def checked(self, element: Any) -> Any:
        check = self.tf.debugging.assert_none_equal(self.key(element) % 3, np.int64(1))
        with self.tf.control_dependencies([check]):
            return self.tf.nest.map_structure(self.tf.identity, element)

    def assert_cardinality(self, dataset: Any, count: int) -> Any:
        return dataset.apply(self.tf.data.experimental.assert_cardinality(count))

    def zip_nested(self, function: Any, windows: Any) -> Any:
        return self.tf.nest.map_structure(function, windows)

    def signature(self, rows: Rows) -> Any:
        return map_structure(self._signature, rows.spec)

    def _signature(self, spec: Any) -> Any:
        is_string = spec.dtype == ks.string
        dtype = self.tf.string if is_string else self.tf.as_dtype(spec.dtype)
        return self.tf.TensorSpec(spec.shape, dtype)

    def tensor_spec(self, shape: Any, dtype: str) -> Any:
        return self.tf.TensorSpec(shape, dtype)

    def dtype(self, name: str) -> Any:
        return self.tf.as_dtype(name)

    def ragged(self, values: Any, row_splits: Any) -> Any:
        return self.tf.RaggedTensor.from_row_splits(values, row_splits)

    def sparse(self, dense: Any) -> Any:
        return self.tf.sparse.from_dense(dense)

    def length(self, array: Any) -> Any:
        return self.tf.shape(array)[0]

    def fill(self, shape: Any, value: Any) -> Any:
        return self.tf.fill(shape, value)

    # TensorFlow's values as ours.

    def spec(self, spec: Any) -> Any:
        """A nested spec of TensorFlow as one of ours."""
        return self.tf.nest.map_structure(self._leaf_spec, spec)

    def _leaf_spec(self, spec: Any) -> Any:
        if isinstance(spec, self.tf.data.DatasetSpec):
            return ks.DatasetSpec(self.spec(spec.element_spec))
        dtype = ks.string if spec.dtype == self.tf.string else spec.dtype.as_numpy_dtype
        shape = None if spec.shape.rank is None else spec.shape.as_list()
        if isinstance(spec, self.tf.RaggedTensorSpec):
            if spec.ragged_rank == 0:  # an array of varying length, by another name
                return ks.TensorSpec(shape, dtype)
            splits = spec.row_splits_dtype.as_numpy_dtype
            return ks.RaggedTensorSpec(shape, dtype, spec.ragged_rank, splits)
        if isinstance(spec, self.tf.SparseTensorSpec):
            return ks.SparseTensorSpec(shape, dtype)
        return ks.TensorSpec(shape, dtype)

    def elements(self, dataset: Any) -> list[Any]:
        """All elements, as Keepset would give them."""
        options = self.tf.data.Options()
        # Fused, a batch loses other elements to an error than it does otherwise.
        options.experimental_optimization.map_and_batch_fusion = False
        dataset = dataset.with_options(options)
        return [
            self.tf.nest.map_structure(self._leaf, element, expand_composites=False)
            for element in dataset
        ]

    def _leaf(self, value: Any) -> Any:
        if isinstance(value, self.tf.RaggedTensor):
            if value.ragged_rank == 0:
                return value.flat_values.numpy()
            return self._ragged(value)
        if isinstance(value, self.tf.SparseTensor):
            return ks.Sparse(value.indices.numpy(), value.values.numpy(), value.dense_shape.numpy())
        if isinstance(value, self.tf.data.Dataset):
            return self.elements(value)
        return value.numpy()

    def _ragged(self, value: Any) -> ks.Ragged:
        inner = value.values
        values = self._ragged(inner) if isinstance(inner, self.tf.RaggedTensor) else inner.numpy()
        return ks.Ragged(values, value.row_splits.numpy())
