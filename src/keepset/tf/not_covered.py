"""What is not covered says so, and what to use in its place."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable
from typing import Any, Final, NoReturn

from keepset.errors import NotCoveredError

_OTHER_FRAMEWORK = "build models with the framework that you train with"
_ONE_REPLICA = "use tf.distribute.get_strategy(), and shard(), one shard for each worker"
_HINTS: Final = {
    "CheckpointInputPipelineHook": "use tf.train.Checkpoint(iterator=iterator)",
    "GradientTape": "compute gradients with the framework that you train with",
    "Graph": "functions run as they are, and there are no graphs",
    "Session": "call .numpy() on a tensor",
    "StatsAggregator": "use dataset.describe(), which names the stages",
    "distributed_save": "use shard() and snapshot(), which several processes may use at once",
    "feature_column": "use map() with tf.one_hot or a tf.lookup table",
    "get_concrete_function": "call the function",
    "gradients": "compute gradients with the framework that you train with",
    "index_table_from_dataset": "use tf.lookup.StaticHashTable in your map",
    "keras": "import keras (Keras 3) and pass ds.to_keras() to fit, evaluate and predict",
    "layers": _OTHER_FRAMEWORK,
    "losses": _OTHER_FRAMEWORK,
    "make_initializable_iterator": "use iter(dataset), which needs no session",
    "make_saveable_from_iterator": "use tf.train.Checkpoint(iterator=iterator)",
    "metrics": _OTHER_FRAMEWORK,
    "optimizers": _OTHER_FRAMEWORK,
    "placeholder": "functions run as they are: pass the value itself",
    "profiler": "use Dataset.explain() or cProfile",
    "queue": "use queue.Queue",
    "saved_model": _OTHER_FRAMEWORK,
    "service": "use shard() and snapshot(), which several processes may use at once",
    "summary": "use the logging of the framework that you train with",
    "table_from_dataset": "use tf.lookup.StaticHashTable in your map",
    "tpu": _OTHER_FRAMEWORK,
}


def not_covered(module: str) -> Callable[[str], Any]:
    """The ``__getattr__`` of a module that has some of TensorFlow's names.

    Args:
        module: Its public name, such as ``tf.data``.
    """

    def refuse(name: str) -> NoReturn:
        # Names of Python's own are asked for by pickle, inspect and doctest.
        if name.startswith("_"):
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        raise NotCoveredError(
            f"{module}.{name} is not part of keepset.tf, which covers TensorFlow's data side: "
            f"{_hint(module, name)}; docs/guide/keepset-tf.md lists what there is"
        )

    return refuse


def _hint(module: str, name: str) -> str:
    """What is known about a name, or the names that are like it."""
    if name in _HINTS:
        return _HINTS[name]
    if module.startswith("tf.distribute"):
        return _ONE_REPLICA
    here = _names(module)
    near = [f"{module}.{each}" for each in difflib.get_close_matches(name, here, 2, 0.75)]
    elsewhere = [each for each in ("tf", *_MODULES) if each != module and name in _names(each)]
    found = [f"{each}.{name}" for each in elsewhere] + near
    if found:
        return f"use {' or '.join(found[:2])}"
    if module == "tf.raw_ops":
        return "use the function of tf that the operation stands for"
    if module == "tf.nn" or module.startswith("tf.nn."):
        return _OTHER_FRAMEWORK
    return "use NumPy on x.numpy(), or TensorFlow itself, in its place"


_NAMES: Final = "math linalg bitwise nn strings io image random nest"
_MODULES: Final = tuple(f"tf.{name}" for name in _NAMES.split())


def _names(module: str) -> list[str]:
    """The public names of a module, if it has been imported."""
    found = sys.modules.get("keepset." + module)
    return list(getattr(found, "__all__", ()))
