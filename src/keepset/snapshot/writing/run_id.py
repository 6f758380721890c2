"""Names of writers: each run has its own, so that nobody writes under another's name."""

from __future__ import annotations

import os


def new_run_id() -> str:
    return os.urandom(8).hex()
