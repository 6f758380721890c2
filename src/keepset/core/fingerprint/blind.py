"""Blind: what a function uses that a fingerprint cannot see through."""

from __future__ import annotations

from keepset.core.record import record


@record
class Blind:
    """One use of something whose content does not count.

    Attributes:
        label: What is used, as ``ignore`` names it: ``"call open"``.
        where: The path of the function that uses it: ``"map(decode) > helper read"``.
        kind: ``"file"``, ``"environment"``, ``"code"``, ``"random"`` or ``"clock"``.
        file: For a file, whether its name is ``"constant"``, the ``"element"`` itself or
            ``"derived"`` from it.
        remedy: What to do about it.
    """

    label: str
    where: str
    kind: str
    file: str = ""
    remedy: str = ""
