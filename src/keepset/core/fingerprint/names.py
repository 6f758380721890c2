"""Names: what a global name, or an import inside a function, leads to.

Where a function takes attributes of the user's own module, these count by value and the rest of
the module does not. A module of the user's that is used as a value counts whole: an argument, an
item, what ``getattr`` is given. One without Python source counts by its file. What belongs to a
library counts by name.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import sys
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

from keepset.core.fingerprint.class_attributes import is_a
from keepset.core.fingerprint.extensions import extension_file, file_digest
from keepset.core.fingerprint.introspection import counts
from keepset.core.fingerprint.origin import (
    is_library_class,
    is_library_function,
    is_library_module,
    is_library_name,
)
from keepset.core.fingerprint.plain import is_namespace, order_of
from keepset.core.fingerprint.reach import Chain, Imported
from keepset.core.fingerprint.running import is_running, type_name
from keepset.core.fingerprint.sketch import ByName, Part, Sketch, part

_MISSING = object()

# What a module says about itself depends on where it lies; these change what it does.
_COUNTED_DUNDERS = {"__all__", "__getattr__", "__version__"}
_OF_A_NOTEBOOK = re.compile(r"In|Out|exit|quit|open|get_ipython|_+|_i+|_i?\d+|_[ido]h|_exit_code")


def followed(name: str, value: Any, chains: list[Chain] | None) -> list[tuple[str, Any]]:
    """What a function takes from ``value`` by these chains of attributes, with readable names."""
    if not is_a(value, ModuleType):
        return [(name, value)]
    found: dict[str, Any] = {}
    for chain in chains or [()]:
        where, content = _follow(name, value, chain)
        found[where] = content
    return list(found.items())


def _follow(name: str, value: Any, chain: Chain) -> tuple[str, Any]:
    taken = 0
    # Which of the names in a namespace are read is not known.
    chain = chain[: chain.index("__dict__")] if "__dict__" in chain else chain
    while is_a(value, ModuleType) and taken < len(chain):
        if is_library_module(value) and not _leads_to_users_code(value, chain[taken:]):
            return ".".join((name, *chain)), ByName(".".join((value.__name__, *chain[taken:])))
        try:
            inner = getattr(value, chain[taken])
        except Exception:  # a lazy module may raise anything for a name that it does not know
            break
        value, taken = inner, taken + 1
    return ".".join((name, *chain[:taken])), value


def _leads_to_users_code(value: Any, chain: Chain) -> bool:
    """Whether somebody has put a function or class of their own into a library's module."""
    for attribute in chain:
        if not is_a(value, ModuleType):
            break
        value = vars(value).get(attribute)
    if is_a(value, FunctionType):
        return not is_library_function(value)
    return is_a(value, type) and not is_library_class(value)


def resolved_import(imported: Imported, namespace: dict[str, Any]) -> Any:
    """What an import inside a function will bind.

    The user's own modules are imported for that, as the function would do it; libraries are not.
    """
    package = namespace.get("__package__") or ""
    try:
        dots = "." * imported.level
        whole = importlib.util.resolve_name(dots + imported.whole, package)
        if is_library_name(whole):
            return ByName(".".join(filter(None, (imported.module, imported.attribute))))
        module = importlib.import_module(whole)
        if imported.attribute is None:
            same = imported.level or imported.module == imported.whole
            return module if same else sys.modules[imported.module]
        if hasattr(module, imported.attribute):
            return getattr(module, imported.attribute)
        return importlib.import_module(f"{whole}.{imported.attribute}")
    except ImportError:
        # The function may be prepared for that; if not, running it says so.
        return ByName(f"{imported.whole} (cannot be imported)")


def module_sketch(value: Any) -> Sketch | None:
    """The sketch of a module or of a library's name; None for everything else."""
    if is_a(value, ByName):
        library = value.name.partition(".")[0] if " " not in value.name else ""
        return Sketch("library name", value.name, value.name.encode(), library=library)
    if is_namespace(value):
        return Sketch("namespace", f"globals of {len(value):,}", parts=list(_globals(value)))
    if not is_a(value, ModuleType):
        return None
    name = value.__name__
    file = getattr(value, "__file__", None)
    if name == "__main__" and file:
        # A script is called by its name when it is imported.
        name = os.path.splitext(os.path.basename(file))[0]
    if is_library_module(value):
        return Sketch("module", f"module {name}", name.encode(), library=name.partition(".")[0])
    compiled = extension_file(value)
    if compiled is not None:
        own = name.encode() + b" " + file_digest(compiled)
        return Sketch("extension module", f"module {name} of {os.path.basename(compiled)}", own)
    parts = [] if type(value) is ModuleType else [part("class", type(value))]
    return Sketch("module", f"module {name}", name.encode(), [*parts, *_globals(vars(value))])


def _globals(namespace: dict[str, Any]) -> Iterator[Part]:
    """All that a module of the user's holds, without what Python and notebooks write into it."""
    shell = "get_ipython" in namespace
    if counts("order"):
        yield from order_of(name for name in namespace if not name.startswith("__"))
    for name, item in sorted(namespace.items()):
        if (name.startswith("__") and name.endswith("__") and name not in _COUNTED_DUNDERS) or (
            shell and _OF_A_NOTEBOOK.fullmatch(name)
        ):
            continue
        counted = ByName(type_name(item)) if is_running(item) else item
        tag = f"attribute {name}".encode("utf-8", "surrogatepass")
        yield Part(f"attribute {name}", counted, tag, (id(namespace), name))
