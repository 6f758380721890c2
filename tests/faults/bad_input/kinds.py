"""Every kind of file that Keepset reads, as the harness for bad input knows it."""

from __future__ import annotations

from typing import Final

from tests.faults.bad_input import (
    exchange_kinds,
    own_kinds,
    place_kinds,
    recipe_kinds,
    state_kinds,
    tensorflow_kinds,
)
from tests.faults.bad_input.kind import Kind

KINDS: Final[dict[str, Kind]] = {
    **own_kinds.KINDS,
    **place_kinds.KINDS,
    **recipe_kinds.KINDS,
    **state_kinds.KINDS,
    **tensorflow_kinds.KINDS,
    **exchange_kinds.KINDS,
}
