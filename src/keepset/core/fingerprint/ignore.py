"""Ignore: parts of a pipeline that the user leaves out of its fingerprint, by name."""

from __future__ import annotations

from collections.abc import Sequence

SEPARATOR = " > "


class Ignore:
    """The names of parts that do not count, and which of them were met.

    A name matches a part by its label (``"global LOG_PATH"``) or by the end of its path as
    ``explain`` prints it (``"map(decode) > function > global LOG_PATH"``).

    Attributes:
        names: What to leave out.
        used: Those of the names that matched something so far.

    Example:
        >>> ignore = Ignore(["global LOG_PATH"])
        >>> ignore.matches("map(decode) > global LOG_PATH"), ignore.matches("global PATH")
        (True, False)
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self.used: set[str] = set()
        # The last step is compared first: most parts differ there.
        self._by_label: dict[str, list[str]] = {}
        for name in self.names:
            self._by_label.setdefault(name.rpartition(SEPARATOR)[2], []).append(name)

    @property
    def names_items(self) -> bool:
        """Whether one of the names is that of an item of a container."""
        return any(label.startswith(("item ", "key ")) for label in self._by_label)

    def may_match(self, label: str) -> bool:
        """Whether a part of this label may match, so that its path is worth building."""
        return label in self._by_label

    def matches(self, path: str) -> bool:
        """Whether the part at ``path`` is left out; remembers the names that say so."""
        label = path.rpartition(SEPARATOR)[2]
        # A name may begin at an outer stage, of which the path of a part knows nothing.
        found = [
            name
            for name in self._by_label.get(label, ())
            if _ends_with(path, name) or _ends_with(name, path)
        ]
        self.used.update(found)
        return bool(found)


def _ends_with(path: str, end: str) -> bool:
    steps, wanted = path.split(SEPARATOR), end.split(SEPARATOR)
    return len(wanted) <= len(steps) and all(
        map(_is_same_step, steps[len(steps) - len(wanted) :], wanted)
    )


def _is_same_step(one: str, other: str) -> bool:
    # Messages call a stage map(decode) where explain calls it map.
    return one == other or other == one.partition("(")[0] or one == other.partition("(")[0]
