"""What is not covered says so, and what to use in its place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from keepset.errors import NotCoveredError

_HINTS = {
    "keras": "build models with the framework that you train with; it takes data sets as they are",
    "function": "plain functions are called as they are",
    "nn": "build models with the framework that you train with",
    "math": "use NumPy, which works on tensors",
    "linalg": "use numpy.linalg, which works on tensors",
    "signal": "use numpy.fft or scipy.signal, which work on tensors",
    "lookup": "use a dict in the function that you pass to map",
    "distribute": "use shard(), one shard for each worker",
    "make_saveable_from_iterator": "use tf.train.Checkpoint(iterator=iterator)",
    "make_initializable_iterator": "use iter(dataset), which needs no session",
    "table_from_dataset": "use a dict in the function that you pass to map",
    "index_table_from_dataset": "use a dict in the function that you pass to map",
    "distributed_save": "use shard() and snapshot(), which several processes may use at once",
    "CheckpointInputPipelineHook": "use tf.train.Checkpoint(iterator=iterator)",
    "StatsAggregator": "use dataset.describe(), which names the stages",
    "service": "use shard() and snapshot(), which several processes may use at once",
}


def not_covered(module: str) -> Callable[[str], NoReturn]:
    """The ``__getattr__`` of a module that has some of TensorFlow's names."""

    def refuse(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        hint = _HINTS.get(name, "use NumPy, or TensorFlow itself, in its place")
        raise NotCoveredError(
            f"{module}.{name} is not part of keepset.tf, which covers TensorFlow's data side: "
            f"{hint}; docs/guide/keepset-tf.md lists what there is"
        )

    return refuse
