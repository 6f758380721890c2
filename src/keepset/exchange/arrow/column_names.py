"""Column names: what the columns of a table for others are called."""

from __future__ import annotations

from keepset.format.layout import Layout


def column_names(layout: Layout) -> list[str]:
    """The paths of the leaves, as they are; an empty one stays empty.

    Those of the layout, as in a snapshot, for an element that is a single leaf, and where two
    paths are the same.
    """
    paths = list(layout.structure.paths())
    is_clear = not layout.structure.is_leaf and len(set(paths)) == len(paths)
    return paths if is_clear else layout.names
