"""``tf.distribute``: the strategy of one machine, which scripts fall back to without a TPU."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any, Final

from keepset.errors import InvalidArgumentError
from keepset.tf.functions.reductions import FUNCTIONS as REDUCTIONS
from keepset.tf.not_covered import not_covered


class ReduceOp(enum.Enum):
    """How the values of several replicas become one."""

    SUM = "SUM"
    MEAN = "MEAN"


class InputContext:
    """Which part of the input a function of data makes: all of it, where there is one pipeline."""

    def __init__(
        self,
        num_input_pipelines: int = 1,
        input_pipeline_id: int = 0,
        num_replicas_in_sync: int = 1,
    ) -> None:
        self.num_input_pipelines = num_input_pipelines
        self.input_pipeline_id = input_pipeline_id
        self.num_replicas_in_sync = num_replicas_in_sync

    def get_per_replica_batch_size(self, global_batch_size: int) -> int:
        """The part of a batch that each replica gets."""
        size, rest = divmod(global_batch_size, self.num_replicas_in_sync)
        if rest:
            raise InvalidArgumentError(
                f"a batch of {global_batch_size} cannot be divided among "
                f"{self.num_replicas_in_sync} replicas; pass a multiple"
            )
        return size


class Strategy:
    """One replica on this machine: data and functions stay what they are.

    Example:
        >>> import keepset.tf as tf
        >>> strategy = tf.distribute.get_strategy()
        >>> with strategy.scope():
        ...     batch_size = 16 * strategy.num_replicas_in_sync
        >>> batch_size, strategy.run(lambda x: x + 1, args=(1,))
        (16, 2)
    """

    num_replicas_in_sync = 1
    cluster_resolver = None

    @contextmanager
    def scope(self) -> Iterator[Strategy]:
        """Nothing changes inside of it."""
        yield self

    def run(
        self,
        fn: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        options: Any = None,
    ) -> Any:
        """What a function returns."""
        return fn(*args, **(kwargs or {}))

    def experimental_distribute_dataset(self, dataset: Any, options: Any = None) -> Any:
        """The dataset itself."""
        return dataset

    def distribute_datasets_from_function(
        self, dataset_fn: Callable[[InputContext], Any], options: Any = None
    ) -> Any:
        """The dataset that a function makes for the only pipeline."""
        return dataset_fn(InputContext())

    def reduce(self, reduce_op: Any, value: Any, axis: int | None) -> Any:
        """The value of the only replica, added up or averaged along an axis if there is one."""
        how = ReduceOp(reduce_op if isinstance(reduce_op, ReduceOp) else str(reduce_op).upper())
        return value if axis is None else REDUCTIONS[f"reduce_{how.value.lower()}"](value, axis)

    def gather(self, value: Any, axis: int) -> Any:
        """The value of the only replica."""
        return value

    def experimental_local_results(self, value: Any) -> tuple[Any]:
        """The value of the only replica, in a tuple."""
        return (value,)


_STRATEGY: Final = Strategy()


def get_strategy() -> Strategy:
    """The strategy of one machine, which is the only one here."""
    return _STRATEGY


def has_strategy() -> bool:
    """Whether another strategy is in force: never."""
    return False


class _TPUClusterResolver:
    """Scripts look for a TPU with it; there is none here, which they are prepared for."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise InvalidArgumentError(
            "Please provide a TPU Name to connect to. keepset.tf knows no TPUs; catch this "
            "ValueError and use tf.distribute.get_strategy()"
        )

    @classmethod
    def connect(cls, *args: Any, **kwargs: Any) -> _TPUClusterResolver:
        """The same error."""
        return cls(*args, **kwargs)


cluster_resolver: Final = ModuleType("keepset.tf.distribute.cluster_resolver", "No clusters.")
vars(cluster_resolver).update(
    TPUClusterResolver=_TPUClusterResolver,
    __all__=["TPUClusterResolver"],
    __getattr__=not_covered("tf.distribute.cluster_resolver"),
)

__all__ = [
    "InputContext",
    "ReduceOp",
    "Strategy",
    "cluster_resolver",
    "get_strategy",
    "has_strategy",
]

__getattr__ = not_covered("tf.distribute")
