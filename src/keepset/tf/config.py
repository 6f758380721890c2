"""``tf.config``: one CPU, and settings that have nothing to set here but remember what they are."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any, Final, NamedTuple

from keepset.tf.not_covered import not_covered


class PhysicalDevice(NamedTuple):
    """A device of the machine."""

    name: str
    device_type: str


class LogicalDevice(NamedTuple):
    """A device that functions run on."""

    name: str
    device_type: str


def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """One CPU, and no devices of other kinds."""
    return [PhysicalDevice("/physical_device:CPU:0", "CPU")] * (device_type in (None, "CPU"))


def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """One CPU, and no devices of other kinds."""
    return [LogicalDevice("/device:CPU:0", "CPU")] * (device_type in (None, "CPU"))


def get_visible_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """As ``list_physical_devices``."""
    return list_physical_devices(device_type)


def _setting(name: str, initial: Any) -> tuple[Callable[[], Any], Callable[[Any], None]]:
    """A function that returns a setting, which changes nothing, and one that sets it."""
    held = [initial]

    def get() -> Any:
        return held[0]

    def set_(value: Any) -> None:
        held[0] = value

    get.__doc__ = set_.__doc__ = f"``{name}``, which changes nothing here."
    return get, set_


def _nothing(*args: Any, **kwargs: Any) -> None:
    """Nothing: there is nothing here that it would change."""


functions_run_eagerly, run_functions_eagerly = _setting("run_functions_eagerly", False)
get_soft_device_placement, set_soft_device_placement = _setting("soft_device_placement", True)
set_visible_devices = set_logical_device_configuration = _nothing
experimental_run_functions_eagerly = run_functions_eagerly


def _module(name: str, members: dict[str, Any]) -> ModuleType:
    """A module of a few names, which is too little for a file."""
    made = ModuleType(f"keepset.tf.config.{name}", "Settings that have nothing to set here.")
    vars(made).update(members, __all__=sorted(members))
    vars(made)["__getattr__"] = not_covered(f"tf.config.{name}")
    return made


def _pairs(*rows: tuple[str, str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for getter, setter, initial in rows:
        found[getter], found[setter] = _setting(setter, initial)
    return found


threading: Final = _module(
    "threading",
    _pairs(
        *(
            (f"get_{which}_op_parallelism_threads", f"set_{which}_op_parallelism_threads", 0)
            for which in ("inter", "intra")
        )
    ),
)
optimizer: Final = _module(
    "optimizer",
    _pairs(
        ("get_experimental_options", "set_experimental_options", {}), ("get_jit", "set_jit", "")
    ),
)
_IGNORED = (
    "enable_op_determinism set_device_policy set_memory_growth set_synchronous_execution "
    "set_virtual_device_configuration set_visible_devices"
)
experimental: Final = _module(
    "experimental",
    dict.fromkeys(_IGNORED.split(), _nothing)
    | {
        "get_visible_devices": get_visible_devices,
        "list_logical_devices": list_logical_devices,
        "list_physical_devices": list_physical_devices,
    }
    | _pairs(("tensor_float_32_execution_enabled", "enable_tensor_float_32_execution", True)),
)

__all__ = [
    "LogicalDevice",
    "PhysicalDevice",
    "experimental",
    "experimental_run_functions_eagerly",
    "functions_run_eagerly",
    "get_soft_device_placement",
    "get_visible_devices",
    "list_logical_devices",
    "list_physical_devices",
    "optimizer",
    "run_functions_eagerly",
    "set_logical_device_configuration",
    "set_soft_device_placement",
    "set_visible_devices",
    "threading",
]

__getattr__ = not_covered("tf.config")
