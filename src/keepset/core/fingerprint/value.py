"""Value: the fingerprint of any Python value, functions included."""

from __future__ import annotations

import dataclasses
from typing import Any

from keepset.core.fingerprint.arrays import array_sketch
from keepset.core.fingerprint.classes import class_sketch
from keepset.core.fingerprint.facts import Facts, counting_versions
from keepset.core.fingerprint.functions import function_sketch
from keepset.core.fingerprint.graph import Graph
from keepset.core.fingerprint.names import module_sketch
from keepset.core.fingerprint.objects import object_sketch
from keepset.core.fingerprint.origin import library_version
from keepset.core.fingerprint.plain import plain_sketch
from keepset.core.fingerprint.sketch import Sketch

# The first rule that knows a value describes it.
_RULES = (plain_sketch, module_sketch, class_sketch, array_sketch, function_sketch)


def fingerprint_of_value(value: Any, *, name: str = "value", strict: bool = False) -> Facts:
    """Hash a value by what it is and does, the same in every process and on every machine.

    The user's own functions and classes count by value, with everything that they use; what
    belongs to libraries counts by name.

    Args:
        value: Anything: numbers, arrays, containers, objects, functions.
        name: What messages call it, such as ``"map(decode)"``.
        strict: Count the versions of the libraries that are used, too.

    Raises:
        FingerprintError: For something without content that could be compared, such as a lock.

    Example:
        >>> fingerprint_of_value({"a": 1, "b": 2}) == fingerprint_of_value({"b": 2, "a": 1})
        True
    """
    graph = Graph(value, name, _sketch)
    versions = dict(sorted(map(library_version, graph.libraries)))
    facts = dataclasses.replace(graph.facts(), versions=versions)
    return counting_versions(facts) if strict else facts


def _sketch(value: Any) -> Sketch:
    for rule in _RULES:
        sketch = rule(value)
        if sketch is not None:
            return sketch
    return object_sketch(value)
