"""Fingerprints: stable hashes of values and functions, with the facts that explain them."""

from __future__ import annotations

from keepset.core.fingerprint.blind import Blind
from keepset.core.fingerprint.difference import Difference, changed_versions, differences
from keepset.core.fingerprint.empty_caches import EmptyCaches, note_made_so_far
from keepset.core.fingerprint.facts import (
    Facts,
    combine,
    counting_versions,
    counts_versions,
    facts_from_json,
    facts_to_json,
    moving_path,
)
from keepset.core.fingerprint.held_results import counting_results, while_pass_runs
from keepset.core.fingerprint.ignore import Ignore
from keepset.core.fingerprint.moment import Moment, once
from keepset.core.fingerprint.value import (
    fingerprint_of_value,
    fingerprints_of_values,
    places_reached,
    reaches_what_is_written,
)

__all__ = [
    "Blind",
    "Difference",
    "EmptyCaches",
    "Facts",
    "Ignore",
    "Moment",
    "changed_versions",
    "combine",
    "counting_results",
    "counting_versions",
    "counts_versions",
    "differences",
    "facts_from_json",
    "facts_to_json",
    "fingerprint_of_value",
    "fingerprints_of_values",
    "moving_path",
    "note_made_so_far",
    "once",
    "places_reached",
    "reaches_what_is_written",
    "while_pass_runs",
]
