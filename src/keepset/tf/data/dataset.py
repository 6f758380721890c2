"""The same Dataset, whose elements and functions speak of tensors."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

from keepset.core.cursor import State
from keepset.core.element import to_element
from keepset.core.fingerprint import fingerprint_of_value
from keepset.core.iterate import DatasetIterator, iterate
from keepset.core.node import Node, name_of
from keepset.core.options import Options as EngineOptions
from keepset.core.spec import TensorSpec
from keepset.core.structure import structure_of
from keepset.dataset import Dataset as KeepsetDataset
from keepset.dataset.base import BaseDataset, node_of
from keepset.errors import CardinalityError, DtypeError, InvalidArgumentError
from keepset.nodes import WithOptions
from keepset.nodes.autotune import AUTOTUNE
from keepset.nodes.interleave import ONE_FOR_THREE_CORES
from keepset.tf.composites.ragged_tensor import RaggedTensor
from keepset.tf.composites.sparse_tensor import SparseTensor
from keepset.tf.data.arguments import (
    OnTensors,
    Plain,
    Steady,
    flag,
    number,
    path,
    plain,
    taking_tensors,
)
from keepset.tf.data.class_names import class_name
from keepset.tf.data.iterator import Iterator as TensorIterator
from keepset.tf.data.options import Options, engine_options, shown_options
from keepset.tf.data.ragged_rows import gives_ragged_rows
from keepset.tf.data.specs import DatasetSpec, engine_spec, shown_spec
from keepset.tf.error_names import translated, translation
from keepset.tf.tensors.elements import literals, tensored, untensored
from keepset.tf.tensors.of_tensorflow import composite_of_tensorflow
from keepset.tf.tensors.tensor import Tensor, tensor


class Dataset(KeepsetDataset):
    """A :class:`keepset.Dataset` as code for TensorFlow expects it.

    Elements have ``numpy()``; functions are called with tensors; numbers of Python's own become
    int32 and float32. What sources and stages return is a ``Dataset``, also where they are called
    on a class that extends it.
    """

    __slots__ = ()

    def __init__(self, variant_tensor: Any) -> None:
        given = variant_tensor
        super().__init__(given._node if isinstance(given, BaseDataset) else given)

    @property
    def _variant_tensor(self) -> Node:
        """What classes that extend this one pass to ``super().__init__``."""
        return self._node

    def _then(self, node: Node) -> Any:
        return Dataset(node)

    def __reduce__(self) -> tuple[Any, ...]:
        import cloudpickle  # takes longer to import than this package

        return _unpickle, (type(self), cloudpickle.dumps(self._node))

    def __iter__(self) -> TensorIterator:  # type: ignore[override]
        return TensorIterator.over(self._node)

    def as_numpy_iterator(self) -> DatasetIterator:
        """Plain NumPy, one element after another."""
        return self.iterate()

    def iterate(self, state: State | None = None) -> DatasetIterator:
        """Plain NumPy from a state on; the iterator tells its own."""
        with translation():
            return iterate(self._node, state, translated)

    def __getitem__(self, index: Any) -> Any:
        with translation():
            found = super().__getitem__(number(index))
        return found if isinstance(found, KeepsetDataset) else tensored(found)

    @property
    def element_spec(self) -> Any:
        """The types of the elements; where nothing else can tell, the first element is run."""
        with translation():
            return shown_spec(super().element_spec)

    def __len__(self) -> int:
        with translation():
            return super().__len__()

    def cardinality(self) -> Tensor:  # type: ignore[override]
        """The number of elements as a tensor, or one of the two constants."""
        return tensor(super().cardinality(), "int64")

    def fingerprint(self) -> Tensor:
        """A number that is equal for pipelines of the same stages, functions and sources.

        It is that of Keepset, not of TensorFlow.
        """
        return tensor(int(fingerprint_of_value(self).digest[:16], 16), "uint64")

    @classmethod
    def from_generator(
        cls,
        generator: Callable[..., Any],
        output_types: Any = None,
        output_shapes: Any = None,
        args: Any = None,
        output_signature: Any = None,
        name: str | None = None,
    ) -> Any:
        if not callable(generator):
            raise DtypeError(
                f"generator must be a function that makes an iterator, not {generator!r:.60}; "
                "pass lambda: values"
            )
        if args is not None and not isinstance(args, tuple | list):
            raise DtypeError(f"args must be a tuple, not {args!r:.60}; pass ({args!r:.30},)")
        given = None if args is None else tuple(map(literals, args))
        return KeepsetDataset.from_generator.__func__(  # type: ignore[attr-defined]
            Dataset,
            Generator(generator),
            output_types,
            plain(output_shapes),
            given,
            engine_spec(output_signature),
            name,
        )

    @staticmethod
    def choose_from_datasets(
        datasets: Any, choice_dataset: Any, stop_on_empty_dataset: bool = True
    ) -> Any:
        known = node_of(choice_dataset).known_spec()
        if known is not None and known[0] != TensorSpec([], "int64"):
            raise DtypeError(
                f"the elements of choice_dataset must be scalars of int64, not {known[0]}; "
                "use tf.cast, or Dataset.range"
            )
        return KeepsetDataset.choose_from_datasets.__func__(  # type: ignore[attr-defined]
            Dataset, datasets, choice_dataset, stop_on_empty_dataset
        )

    @classmethod
    def range(cls, *args: Any, **kwargs: Any) -> Any:
        if not 1 <= len(args) <= 3:
            raise InvalidArgumentError(f"range takes 1 to 3 numbers, not {len(args)}")
        kind = kwargs.pop("output_type", None)
        kwargs |= {} if kind is None else {"output_type": getattr(kind, "core", kind)}
        bounds = map(number, args)
        return KeepsetDataset.range.__func__(Dataset, *bounds, **kwargs)  # type: ignore[attr-defined]

    def shuffle(
        self,
        buffer_size: Any,
        seed: Any = None,
        reshuffle_each_iteration: Any = True,
        name: str | None = None,
    ) -> Any:
        again = flag(reshuffle_each_iteration)
        return super().shuffle(number(buffer_size), number(seed), again, name)

    def interleave(
        self,
        map_func: Callable[..., Any],
        cycle_length: Any = None,
        block_length: Any = None,
        num_parallel_calls: Any = None,
        deterministic: Any = None,
        name: str | None = None,
        **named: Any,
    ) -> Any:
        calls, cycle = number(num_parallel_calls), number(cycle_length)
        if cycle in (None, AUTOTUNE) and calls is not None:
            # As in TensorFlow, where the order depends on the machine only with AUTOTUNE.
            cycle = ONE_FOR_THREE_CORES if calls == AUTOTUNE else calls
        block, in_order = number(block_length), flag(deterministic)
        return super().interleave(Plain(map_func), cycle, block, calls, in_order, name, **named)

    def scan(
        self,
        initial_state: Any,
        scan_func: Callable[..., Any],
        name: str | None = None,
        *,
        output_signature: Any = None,
    ) -> Any:
        state = to_element(literals(initial_state))
        function, signature = Steady(scan_func, state, True), engine_spec(output_signature)
        return super().scan(state, function, name, output_signature=signature)

    def reduce(
        self, initial_state: Any, reduce_func: Callable[..., Any], name: str | None = None
    ) -> Any:
        state = to_element(literals(initial_state))
        function = Steady(reduce_func, state, False)
        structure = structure_of(state)
        for element in self.as_numpy_iterator():
            state = to_element(function(state, element))
            if structure_of(state) != structure:
                raise InvalidArgumentError(
                    f"the state of reduce must keep its structure {structure}, but it became "
                    f"{structure_of(state)}"
                )
        return tensored(state)

    def get_single_element(self, name: str | None = None) -> Any:
        try:
            with translation():
                return tensored(super().get_single_element(name))
        except CardinalityError as error:
            raise InvalidArgumentError(f"{error}") from error

    def with_options(self, options: Any, name: str | None = None) -> Any:
        if isinstance(options, Options):
            chosen: EngineOptions = engine_options(options)
        elif isinstance(options, EngineOptions):
            chosen = options
        else:
            raise DtypeError(f"with_options takes tf.data.Options, not {options!r:.60}")
        return self._then(WithOptions(parent=self._node, chosen=chosen, name=name))

    def options(self) -> Any:
        """The options in force."""
        return shown_options(super().options())

    def apply(self, transformation_func: Callable[[Any], Any]) -> Any:
        if not callable(transformation_func):
            raise DtypeError(f"apply takes a function, not {transformation_func!r:.60}")
        made = transformation_func(self)
        if not isinstance(made, BaseDataset):
            raise DtypeError(
                f"the function given to apply must return a Dataset, not {type(made).__name__}"
            )
        return made

    def cache(self, filename: Any = "", name: str | None = None) -> Any:
        """Keep the elements of the first complete pass, in memory or in a file.

        Where ``filename`` is a directory, the file stands beside it as TensorFlow's do, whose
        names begin with that of the directory: ``filename`` with ``.keepset`` behind it.
        """
        place = path(filename)
        if isinstance(place, str | os.PathLike) and place and os.path.isdir(place):
            place = f"{os.fsdecode(place)}.keepset"
        return super().cache(place, name)

    def batch(
        self,
        batch_size: Any,
        drop_remainder: Any = False,
        num_parallel_calls: Any = None,
        deterministic: Any = None,
        name: str | None = None,
    ) -> Any:
        """Stack elements; rows of ragged tensors become ragged tensors again."""
        if gives_ragged_rows(self._node):
            return self.ragged_batch(batch_size, drop_remainder, name=name)
        return _batch(self, batch_size, drop_remainder, num_parallel_calls, deterministic, name)

    def snapshot(
        self,
        path: Any,
        compression: str | None = "AUTO",
        reader_func: Callable[[Any], Any] | None = None,
        shard_func: Callable[..., Any] | None = None,
        name: str | None = None,
        **named: Any,
    ) -> Any:
        return _snapshot(self, path, compression, reader_func, shard_func, **named)

    def save(
        self,
        path: Any,
        compression: str | None = None,
        shard_func: Callable[..., Any] | None = None,
        checkpoint_args: Any = None,
        **named: Any,
    ) -> None:
        with translation():
            _save(self, path, compression, shard_func, **named)

    def __repr__(self) -> str:
        found = self._node.found_spec()
        spec = "<unknown>" if found is None else shown_spec(found[0])
        return f"<{class_name(type(self), self._node)} element_spec={spec}>"


DatasetSpec._value_type = Dataset

_batch = taking_tensors(KeepsetDataset.batch)
_snapshot = taking_tensors(KeepsetDataset.snapshot)
_save = taking_tensors(KeepsetDataset.save)

# Methods that differ from those of the library in nothing but what they take.
_STAGES = [
    "assert_cardinality",
    "bucket_by_sequence_length",
    "concatenate",
    "enumerate",
    "filter",
    "flat_map",
    "group_by_window",
    "ignore_errors",
    "padded_batch",
    "prefetch",
    "ragged_batch",
    "rebatch",
    "rejection_resample",
    "repeat",
    "shard",
    "skip",
    "sparse_batch",
    "take",
    "take_while",
    "to_tf",
    "unbatch",
    "unique",
    "window",
]
_SOURCES = [
    "counter",
    "from_tensor_slices",
    "from_tensors",
    "list_files",
    "load",
    "random",
    "sample_from_datasets",
]
setattr(Dataset, "map", taking_tensors(KeepsetDataset.map, map_func=OnTensors))  # noqa: B010
for _name in _STAGES:
    setattr(Dataset, _name, taking_tensors(getattr(KeepsetDataset, _name)))


def _source(name: str) -> Any:
    """A class method that makes a ``Dataset``, whatever class it is called on."""
    function = taking_tensors(getattr(KeepsetDataset, name).__func__)
    return staticmethod(_bound(function))


def _bound(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def source(*given: Any, **named: Any) -> Any:
        return function(Dataset, *given, **named)

    shown = inspect.signature(function)
    source.__signature__ = shown.replace(  # type: ignore[attr-defined]
        parameters=list(shown.parameters.values())[1:]
    )
    return source


for _name in _SOURCES:
    setattr(Dataset, _name, _source(_name))


class _Zip:
    """``Dataset.zip(a, b)``, ``Dataset.zip((a, b))`` and ``a.zip(b)``."""

    def __get__(self, instance: Any, owner: Any) -> Callable[..., Dataset]:
        function = KeepsetDataset.__dict__["zip"].__get__(instance, Dataset)

        @wraps(function)
        def zip(*args: Any, datasets: Any = None, name: str | None = None) -> Any:
            for each in (*args, datasets):
                _check_zipped(each)
            if instance is None and not args and datasets is None:
                raise DtypeError("zip needs at least one dataset")
            return function(*args, datasets=datasets, name=name)

        return zip


def _check_zipped(given: Any) -> None:
    if isinstance(given, dict | tuple):
        for each in given.values() if isinstance(given, dict) else given:
            _check_zipped(each)
    elif given is not None and not isinstance(given, BaseDataset):
        raise DtypeError(f"zip takes Datasets, or a tuple or dict of them, not {given!r:.60}")


Dataset.zip = _Zip()  # type: ignore[assignment]


class Generator:
    """A user's generator, whose values may be tensors."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.__name__ = name_of(function)

    def __call__(self, *arguments: Any) -> Iterator[Any]:
        try:
            yield from map(_yielded, self.function(*arguments))
        except Exception as error:
            raise translated(error, is_of_function=True) from error

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
    if isinstance(value, RaggedTensor | SparseTensor):
        return untensored(value)
    return composite_of_tensorflow(value)


def _unpickle(kind: type[Dataset], data: bytes) -> Dataset:
    import cloudpickle

    made = object.__new__(kind)  # those that extend it have a constructor of their own
    Dataset.__init__(made, cloudpickle.loads(data))
    return made
