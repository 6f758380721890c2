"""Nodes that are no stages: they stand in for one while single elements are looked at.

No pipeline is made of them, so they have no name in recipes, and nothing iterates them.
"""

from __future__ import annotations

STAND_INS = frozenset(
    {
        "keepset.nodes.remembered.KeptRows",
        "keepset.nodes.remembered.Reordered",
        "keepset.nodes.rowwise._OneRow",
    }
)


def is_stand_in(kind: type) -> bool:
    return f"{kind.__module__}.{kind.__name__}" in STAND_INS
