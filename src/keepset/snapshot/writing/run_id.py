"""Names of writers: each run has its own, so that nobody writes under another's name."""

from __future__ import annotations

import secrets


def new_run_id() -> str:
    return secrets.token_hex(8)
