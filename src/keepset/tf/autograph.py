"""``tf.autograph``: nothing is converted here, as functions run as they are."""

from __future__ import annotations

from types import ModuleType
from typing import Any, Final

from keepset.tf.not_covered import not_covered


def _do_not_convert(func: Any = None) -> Any:
    """The function itself."""
    return (lambda given: given) if func is None else func


def _set_loop_options(**options: Any) -> None:
    """Nothing: loops are Python's own."""


def set_verbosity(level: int, alsologtostdout: bool = False) -> None:
    """Nothing: there is nothing to log."""


experimental: Final = ModuleType("keepset.tf.autograph.experimental", "Nothing is converted here.")
vars(experimental).update(
    do_not_convert=_do_not_convert,
    set_loop_options=_set_loop_options,
    __all__=["do_not_convert", "set_loop_options"],
    __getattr__=not_covered("tf.autograph.experimental"),
)

__all__ = ["experimental", "set_verbosity"]

__getattr__ = not_covered("tf.autograph")
