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
        constant: For a file, whether its name does not depend on the elements.
        remedy: What to do about it.
    """

    label: str
    where: str
    kind: str
    constant: bool = False
    remedy: str = ""
