"""Library state: what objects of libraries hold, which may settle when they are first used."""

from __future__ import annotations

from typing import Any

from keepset.core.fingerprint.graph import Mask
from keepset.core.fingerprint.origin import is_library_class, library_of
from keepset.core.fingerprint.sketch import Part
from keepset.core.fingerprint.vertex import Vertex

_KINDS = {"object", "tokenizer", "generator", "compiled function"}
# Whose objects are data, and not something that works: they count in every digest.
_DATA = {
    *(
        "array",
        "builtins",
        "collections",
        "ctypes",
        "datetime",
        "decimal",
        "fractions",
        "ipaddress",
    ),
    *("pathlib", "re", "struct", "types", "typing", "uuid", "zoneinfo"),
    *("awkward", "numpy", "pandas", "polars", "pyarrow", "scipy", "shapely", "xarray"),
}


def has_library_state(vertex: Vertex) -> bool:
    """Whether a value is an object of a library class that may change as it is used."""
    if vertex.sketch is None or vertex.sketch.kind not in _KINDS:
        return False
    kind = type(vertex.value)
    is_data = library_of(kind) in _DATA and vertex.sketch.kind != "generator"
    return not is_data and is_library_class(kind)


class WithoutLibraryState:
    """Hides what another mask hides, and library objects: even their class may change.

    A lazy module of torch becomes one of another class when it is first called.
    """

    def __init__(self, mask: Mask) -> None:
        self._mask = mask

    def hides(self, vertex: Vertex) -> bool:
        return self._mask.hides(vertex) or has_library_state(vertex)

    def hides_part(self, vertex: Vertex, part: Part) -> bool:
        return self._mask.hides_part(vertex, part) or has_library_state(vertex)

    def hidden_keys(self, vertex: Vertex) -> frozenset[Any]:
        return self._mask.hidden_keys(vertex)
