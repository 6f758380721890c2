"""``tf.compat.v1.app``: the start of a script."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from keepset.tf.not_covered import not_covered

__all__ = ["run"]


def run(main: Callable[[Any], Any] | None = None, argv: Sequence[str] | None = None) -> None:
    """Call ``main`` with the arguments of the script, and end with what it returns.

    No flags are taken out of the arguments: that is the work of ``absl`` or ``argparse``.
    """
    function: Any = getattr(sys.modules["__main__"], "main", None) if main is None else main
    if function is None:
        raise ValueError("the script has no function main; pass one as tf.compat.v1.app.run(main)")
    sys.exit(function(list(sys.argv if argv is None else argv)))


__getattr__ = not_covered("tf.compat.v1.app")
