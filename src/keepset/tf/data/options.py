"""``tf.data.Options``: settings of a pipeline, as TensorFlow's programs set them."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any, ClassVar, Final

from keepset.core.options import Options as EngineOptions
from keepset.core.record import record
from keepset.errors import DtypeError


class AutoShardPolicy(enum.IntEnum):
    """As ``tf.data.experimental.AutoShardPolicy``; ``shard()`` is what there is here."""

    OFF = -1
    AUTO = 0
    FILE = 1
    DATA = 2
    HINT = 3


class ExternalStatePolicy(enum.Enum):
    """As ``tf.data.experimental.ExternalStatePolicy``; without effect."""

    WARN = 0
    IGNORE = 1
    FAIL = 2


class AutotuneAlgorithm(enum.Enum):
    """As ``tf.data.experimental.AutotuneAlgorithm``; without effect."""

    DEFAULT = 0
    HILL_CLIMB = 1
    GRADIENT_DESCENT = 2
    MAX_PARALLELISM = 3
    STAGE_BASED = 4


class _Settings:
    """Attributes of given types, each None until it is set; any other is refused."""

    _kinds: ClassVar[Mapping[str, Any]] = {}
    _aliases: ClassVar[Mapping[str, str]] = {}

    def __init__(self) -> None:
        self.__dict__["_set"] = {}

    def __getattr__(self, name: str) -> Any:
        name = self._aliases.get(name, name)
        if name.startswith("__") or name not in self._kinds:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        kind, held = self._kinds[name], self.__dict__["_set"]
        if name not in held and issubclass(kind, _Settings):
            held[name] = kind()
        return held.get(name, AutoShardPolicy.AUTO if kind is AutoShardPolicy else None)

    def __setattr__(self, name: str, value: Any) -> None:
        key = self._aliases.get(name, name)
        if key not in self._kinds:
            raise AttributeError(f"Cannot set the property {name} on {type(self).__name__}.")
        kind = self._kinds[key]
        if kind is AutoShardPolicy and type(value) is int:
            value = AutoShardPolicy(value)
        # A bool is no number here, as it is not one of TensorFlow's.
        if type(value) is not kind and not (isinstance(value, kind) and kind is not int):
            raise DtypeError(
                f'Property "{name}" must be of type {kind}, got: {value!r} (type: {type(value)})'
            )
        self.__dict__["_set"][key] = value

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._kinds, *self._aliases]

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other._given() == self._given()

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None  # type: ignore[assignment]

    def _given(self, prefix: str = "") -> dict[str, Any]:
        """All that is set, by names with dots."""
        found: dict[str, Any] = {}
        for name, value in self.__dict__["_set"].items():
            if isinstance(value, _Settings):
                found |= value._given(f"{prefix}{name}.")
            else:
                found[prefix + name] = value
        return found

    def _set_all(self, given: Mapping[str, Any]) -> None:
        for name, value in given.items():
            *path, last = name.split(".")
            owner: Any = self
            for part in path:
                owner = getattr(owner, part)
            setattr(owner, last, value)


class ThreadingOptions(_Settings):
    """``private_threadpool_size`` is the number of threads that ``AUTOTUNE`` may use."""

    _kinds: ClassVar = {"max_intra_op_parallelism": int, "private_threadpool_size": int}


class AutotuneOptions(_Settings):
    """Taken and without effect: parallel stages find their speed themselves."""

    _kinds: ClassVar = {
        "autotune_algorithm": AutotuneAlgorithm,
        "cpu_budget": int,
        "enabled": bool,
        "initial_parallelism": int,
        "min_parallelism": int,
        "ram_budget": int,
    }


class DistributeOptions(_Settings):
    """Taken and without effect: ``shard()`` says which elements a worker has."""

    _kinds: ClassVar = {"auto_shard_policy": AutoShardPolicy, "num_devices": int}


class OptimizationOptions(_Settings):
    """Taken and without effect: there is no graph to rewrite."""

    _kinds: ClassVar = dict.fromkeys(
        [
            "apply_default_optimizations",
            "filter_fusion",
            "filter_parallelization",
            "inject_prefetch",
            "map_and_batch_fusion",
            "map_and_filter_fusion",
            "map_fusion",
            "map_parallelization",
            "noop_elimination",
            "parallel_batch",
            "seq_interleave_prefetch",
            "shuffle_and_repeat_fusion",
        ],
        bool,
    )


class ServiceOptions(_Settings):
    """Taken and without effect."""

    _kinds: ClassVar = {"pinned": bool}


class Options(_Settings):
    """As ``tf.data.Options``.

    ``deterministic`` and ``threading.private_threadpool_size`` (or ``autotune.cpu_budget``, where
    that is not set) do what they do in TensorFlow. The others are taken, checked and given back by
    ``ds.options()``, and have no effect: they are about TensorFlow's runtime and its strategies.

    Example:
        >>> import keepset.tf as tf
        >>> options = tf.data.Options()
        >>> options.deterministic = False
        >>> options.threading.private_threadpool_size = 8
        >>> policy = tf.data.experimental.AutoShardPolicy.DATA
        >>> options.experimental_distribute.auto_shard_policy = policy
        >>> ds = tf.data.Dataset.range(3).with_options(options)
        >>> ds.options().threading.private_threadpool_size
        8
    """

    _kinds: ClassVar = {
        "autotune": AutotuneOptions,
        "dataset_name": str,
        "deterministic": bool,
        "experimental_distribute": DistributeOptions,
        "experimental_external_state_policy": ExternalStatePolicy,
        "experimental_optimization": OptimizationOptions,
        "experimental_service": ServiceOptions,
        "experimental_slack": bool,
        "experimental_symbolic_checkpoint": bool,
        "experimental_warm_start": bool,
        "framework_type": list,
        "threading": ThreadingOptions,
    }
    _aliases: ClassVar = {
        "experimental_deterministic": "deterministic",
        "experimental_threading": "threading",
    }

    def merge(self, options: Options) -> Options:
        """These options, overridden by what the others set."""
        merged = Options()
        merged._set_all(self._given() | options._given())
        return merged


@record
class TensorflowOptions(EngineOptions):
    """The options of a pipeline, and beside them those that have no effect.

    ``settings`` holds all that was set, by names with dots.
    """

    settings: Mapping[str, Any] | None = None

    def merge(self, other: EngineOptions) -> EngineOptions:
        engine = EngineOptions(self.deterministic, self.threads).merge(
            EngineOptions(other.deterministic, other.threads)
        )
        settings = {**_settings(self), **_settings(other)}
        return TensorflowOptions(engine.deterministic, engine.threads, settings)


def engine_options(options: Options) -> TensorflowOptions:
    """What the library makes of them."""
    given = options._given()
    threads = given.get(_THREADS) or given.get("autotune.cpu_budget") or None
    return TensorflowOptions(options.deterministic, threads, given)


def shown_options(options: EngineOptions) -> Options:
    """The options of a pipeline as TensorFlow's programs read them."""
    shown = Options()
    shown._set_all(_settings(options))
    return shown


def _settings(options: EngineOptions) -> dict[str, Any]:
    if isinstance(options, TensorflowOptions):
        return dict(options.settings or {})
    given = {"deterministic": options.deterministic, _THREADS: options.threads}
    return {name: value for name, value in given.items() if value is not None}


_THREADS: Final = "threading.private_threadpool_size"
