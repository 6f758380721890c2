"""Import paths: ``package.module:name`` for what others can import, and back."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from keepset.core.record import record
from keepset.errors import RecipeError


@record
class Trust:
    """Whose code a recipe may name: that of some modules, or everybody's, its own included."""

    everything: bool = False
    modules: tuple[str, ...] = ()

    def covers(self, module: str) -> bool:
        """Whether a module may be imported: one of those, or what belongs to one."""
        allowed = (each == module or module.startswith(f"{each}.") for each in self.modules)
        return self.everything or any(allowed)


def import_path(value: Any) -> str | None:
    """Where a function or a class can be imported from; None if it cannot, or only here."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str) or "<" in name:
        return None
    if module == "__main__" or module not in sys.modules:
        return None
    return f"{module}:{name}" if _found(module, name.split(".")) is value else None


def _found(module: str, names: Sequence[str]) -> Any:
    found: Any = sys.modules[module]
    for name in names:
        found = getattr(found, name, None)
    return found


def module_of(path: str) -> str:
    return path.partition(":")[0]


def imported(path: str) -> Any:
    """What an import path names. This runs the code of the module, if nobody has yet."""
    module, colon, name = path.partition(":")
    if not colon or not module or not name:
        raise RecipeError(f"{path!r} is not of the form package.module:name")
    try:
        found: Any = import_module(module)
    except ImportError as error:
        raise RecipeError(
            f"{path} cannot be imported ({error}); install what it belongs to, or add its folder "
            "to PYTHONPATH"
        ) from error
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError as error:
            raise RecipeError(f"{module} has no {name}; is it another version?") from error
    return found
