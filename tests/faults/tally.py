"""Tally: what the harnesses count, as lines of JSON that the page on reliability is made of."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any


def note_counts(harness: str, counts: Mapping[str, Any]) -> None:
    """Add a line to the file that KEEPSET_TALLY names, if it names one.

    A harness may add several, of the parts that it ran in, and in several processes.
    """
    path = os.environ.get("KEEPSET_TALLY")
    if path:
        line = json.dumps({"harness": harness, **counts}) + "\n"
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            os.write(descriptor, line.encode())  # in one piece
        finally:
            os.close(descriptor)
