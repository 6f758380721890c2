"""The scripts for TensorFlow among the examples, and what is missing for some of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

FOLDER = Path(__file__).parents[2] / "examples" / "from_tensorflow"
SCRIPTS = sorted(FOLDER.glob("*.py"))

# By script, what is missing in keepset.tf. A script that passes must be taken out.
STOPS: dict[str, str] = {  # with an error
    "iterate_by_hand": "is_compatible_with of tensors",
}
DIFFERS: dict[str, str] = {  # runs, and prints something else than with TensorFlow
}


def parameter(path: Path, reasons: dict[str, str]) -> ParameterSet:
    """A script, marked as not passing yet where there is a reason."""
    reason = reasons.get(path.stem) if path.parent == FOLDER else None
    marks = [] if reason is None else [pytest.mark.xfail(reason=reason, strict=True)]
    return pytest.param(path, marks=marks, id=path.name)
