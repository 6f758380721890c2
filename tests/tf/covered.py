"""The table of what ``keepset.tf`` covers; ``python -m tests.tf.covered`` writes the guide's."""

from __future__ import annotations

import inspect
from pathlib import Path
from types import ModuleType

import keepset.tf

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "keepset-tf.md"
BEGIN, END = "<!-- covered: begin -->\n", "<!-- covered: end -->\n"


def table() -> str:
    """A row for each module with its public names, as ``__all__`` lists them."""
    rows = [f"| `{name}` | `{' '.join(_names(module))}` |" for name, module in modules().items()]
    return "\n".join(["| module | names |", "|---|---|", *rows, ""])


def modules() -> dict[str, ModuleType]:
    """The modules of ``tf`` by name, each once: where it is public first."""
    found: dict[str, ModuleType] = {}
    waiting: list[tuple[str, ModuleType]] = [("tf", keepset.tf)]
    while waiting:
        name, module = waiting.pop(0)
        if any(module is other for other in found.values()):
            continue
        found[name] = module
        waiting += [
            (f"{name}.{key}", getattr(module, key))
            for key in sorted(module.__all__)
            if inspect.ismodule(getattr(module, key))
        ]
    return found


def _names(module: ModuleType) -> list[str]:
    return sorted(key for key in module.__all__ if not inspect.ismodule(getattr(module, key)))


def written(page: str) -> str:
    """The page with the table as it has to be."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{table()}{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text()))
