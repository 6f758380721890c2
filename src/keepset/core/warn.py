"""Warn: warnings that name the line of the user's program, however deep they arise."""

from __future__ import annotations

import os
import sys
import warnings
from typing import Final

_KEEPSET: Final = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the nearest line that is not the library's own."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_KEEPSET):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
