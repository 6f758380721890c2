"""The same Dataset, whose elements and functions speak of tensors; and those of files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Self

import numpy as np

from keepset.core.cursor import State
from keepset.core.dtypes import PLAIN_SCALARS
from keepset.core.iterate import DatasetIterator
from keepset.core.node import name_of
from keepset.dataset import Dataset as KeepsetDataset
from keepset.dataset.base import node_of
from keepset.dataset.tensorflow_files import TFRecordDataset as _Records
from keepset.dataset.tensorflow_files import raw_files
from keepset.exchange.text.fixed_length import ReadFixedLength
from keepset.exchange.text.lines import ReadText
from keepset.tf.elements import literals, tensored, untensored
from keepset.tf.ragged_tensor import RaggedTensor
from keepset.tf.sparse_tensor import SparseTensor
from keepset.tf.tensor import Tensor


class OnTensors:
    """A user's function, called with tensors; what it gives is plain again."""

    def __init__(self, function: Callable[..., Any]) -> None:
        if not callable(function):
            raise TypeError(f"a function is needed, not {type(function).__name__}")
        self.function = function
        self.__name__ = name_of(function)

    def __call__(self, *arguments: Any) -> Any:
        if len(arguments) == 1:
            [argument] = arguments
            kind = type(argument)
            # The usual leaves without another call, which is a third of what they cost.
            if kind in PLAIN_SCALARS or (kind is np.ndarray and argument.dtype.kind != "O"):
                result = self.function(Tensor(argument))
            else:
                result = self.function(tensored(argument))
        else:
            result = self.function(*map(tensored, arguments))
        if type(result) is Tensor:
            return result._value
        # A list that a function returns is several components, as in TensorFlow.
        return untensored(tuple(result) if type(result) is list else result)

    def __keepset_fingerprint__(self) -> Any:
        return self.function


class _Plain(OnTensors):
    """As its parent, for functions whose result is a Dataset or a condition."""

    def __call__(self, *arguments: Any) -> Any:
        result = self.function(*map(tensored, arguments))
        return result._value if type(result) is Tensor else result


class Dataset(KeepsetDataset):
    """A :class:`keepset.Dataset` as code for TensorFlow expects it.

    Elements have ``numpy()``; functions are called with tensors; numbers of Python's own become
    int32 and float32.
    """

    __slots__ = ()

    def __iter__(self) -> Iterator[Any]:  # type: ignore[override]
        return map(tensored, super().__iter__())

    def as_numpy_iterator(self) -> DatasetIterator:
        """Plain NumPy, one element after another."""
        return super().__iter__()

    def iterate(self, state: State | None = None) -> DatasetIterator:
        """Plain NumPy from a state on; the iterator tells its own."""
        return super().iterate(state)

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        return found if isinstance(found, KeepsetDataset) else tensored(found)

    @classmethod
    def from_tensors(cls, tensors: Any, name: str | None = None) -> Self:
        return super().from_tensors(literals(tensors), name)

    @classmethod
    def from_tensor_slices(cls, tensors: Any, name: str | None = None) -> Self:
        return super().from_tensor_slices(literals(tensors), name)

    @classmethod
    def from_generator(
        cls,
        generator: Callable[..., Any],
        output_types: Any = None,
        output_shapes: Any = None,
        args: Any = None,
        output_signature: Any = None,
        name: str | None = None,
    ) -> Self:
        given = None if args is None else tuple(map(literals, args))
        return super().from_generator(
            _Generator(generator), output_types, output_shapes, given, output_signature, name
        )

    @classmethod
    def load(cls, path: Any, *arguments: Any, **named: Any) -> Self:
        return super().load(path, *arguments, **named)

    def map(self, map_func: Callable[..., Any], *arguments: Any, **named: Any) -> Self:
        return super().map(OnTensors(map_func), *arguments, **named)

    def filter(self, predicate: Callable[..., Any], name: str | None = None) -> Self:
        return super().filter(_Plain(predicate), name)

    def take_while(self, predicate: Callable[..., Any], name: str | None = None) -> Self:
        return super().take_while(_Plain(predicate), name)

    def flat_map(self, map_func: Callable[..., Any], name: str | None = None) -> Self:
        return super().flat_map(_Plain(map_func), name)

    def interleave(self, map_func: Callable[..., Any], *arguments: Any, **named: Any) -> Self:
        return super().interleave(_Plain(map_func), *arguments, **named)

    def scan(
        self, initial_state: Any, scan_func: Callable[..., Any], *arguments: Any, **named: Any
    ) -> Self:
        return super().scan(literals(initial_state), OnTensors(scan_func), *arguments, **named)

    def reduce(
        self, initial_state: Any, reduce_func: Callable[..., Any], name: str | None = None
    ) -> Any:
        return tensored(super().reduce(literals(initial_state), OnTensors(reduce_func)))

    def get_single_element(self, name: str | None = None) -> Any:
        return tensored(super().get_single_element(name))

    def group_by_window(
        self,
        key_func: Callable[..., Any],
        reduce_func: Callable[..., Any],
        window_size: Any = None,
        window_size_func: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> Self:
        sizes = None if window_size_func is None else _Plain(window_size_func)
        size = untensored(window_size)
        return super().group_by_window(_Plain(key_func), _Plain(reduce_func), size, sizes, name)

    def bucket_by_sequence_length(
        self, element_length_func: Callable[..., Any], *arguments: Any, **named: Any
    ) -> Self:
        return super().bucket_by_sequence_length(_Plain(element_length_func), *arguments, **named)

    def rejection_resample(
        self, class_func: Callable[..., Any], *arguments: Any, **named: Any
    ) -> Self:
        return super().rejection_resample(_Plain(class_func), *arguments, **named)

    def snapshot(
        self,
        path: Any,
        compression: str | None = "AUTO",
        reader_func: Callable[[Any], Any] | None = None,
        shard_func: Callable[..., Any] | None = None,
        name: str | None = None,
        **named: Any,
    ) -> Self:
        shards = None if shard_func is None else _Plain(shard_func)
        return super().snapshot(path, compression, reader_func, shards, **named)

    def save(
        self,
        path: Any,
        compression: str | None = None,
        shard_func: Callable[..., Any] | None = None,
        checkpoint_args: Any = None,
        **named: Any,
    ) -> None:
        shards = None if shard_func is None else _Plain(shard_func)
        super().save(path, compression, shards, **named)

    def __repr__(self) -> str:
        return super().__repr__()


class _Generator:
    """A user's generator, whose values may be tensors."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.__name__ = name_of(function)

    def __call__(self, *arguments: Any) -> Iterator[Any]:
        return map(_yielded, self.function(*arguments))

    def __keepset_fingerprint__(self) -> Any:
        return self.function


def _yielded(value: Any) -> Any:
    """Tensors become plain; the promised types decide about Python's own numbers."""
    if isinstance(value, Tensor):
        return value.numpy()
    if isinstance(value, tuple):
        return type(value)(*map(_yielded, value)) if hasattr(value, "_fields") else tuple(
            map(_yielded, value)
        )  # fmt: skip
    if isinstance(value, dict):
        return {key: _yielded(item) for key, item in value.items()}
    return untensored(value) if isinstance(value, RaggedTensor | SparseTensor) else value


def TFRecordDataset(  # noqa: N802
    filenames: Any,
    compression_type: str | None = None,
    buffer_size: int | None = None,
    num_parallel_reads: int | None = None,
    name: str | None = None,
) -> Dataset:
    """The records of TFRecord files; see :func:`keepset.TFRecordDataset`."""
    made = _Records(_names(filenames), compression_type, buffer_size, num_parallel_reads, name)
    return Dataset(node_of(made))


def TextLineDataset(  # noqa: N802
    filenames: Any,
    compression_type: str | None = None,
    buffer_size: int | None = None,
    num_parallel_reads: int | None = None,
    name: str | None = None,
) -> Dataset:
    """The lines of text files, without what ends them."""
    return _raw(ReadText, filenames, num_parallel_reads, compression_type)


def FixedLengthRecordDataset(  # noqa: N802
    filenames: Any,
    record_bytes: int,
    header_bytes: int | None = None,
    footer_bytes: int | None = None,
    buffer_size: int | None = None,
    compression_type: str | None = None,
    num_parallel_reads: int | None = None,
    name: str | None = None,
) -> Dataset:
    """Records of so many bytes each."""
    return _raw(
        ReadFixedLength,
        filenames,
        num_parallel_reads,
        compression_type,
        record_bytes=int(record_bytes),
        header_bytes=int(header_bytes or 0),
        footer_bytes=int(footer_bytes or 0),
    )


def _raw(
    kind: Any, filenames: Any, at_once: int | None, compression_type: str | None, **fields: Any
) -> Dataset:
    # Files are what they are said to be: None means that they are not compressed.
    fields["compression_type"] = compression_type or ""
    return Dataset(node_of(raw_files(kind, _names(filenames), at_once, **fields)))


def _names(filenames: Any) -> Any:
    return filenames.numpy() if isinstance(filenames, Tensor) else filenames
