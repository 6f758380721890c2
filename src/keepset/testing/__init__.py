"""Checks for pipelines and for stages of your own: what every stage of Keepset promises."""

from keepset.core.tally import count_steps
from keepset.testing.contract import check_calls, check_dataset
from keepset.testing.equality import assert_elements_equal, assert_same_elements

__all__ = [
    "assert_elements_equal",
    "assert_same_elements",
    "check_calls",
    "check_dataset",
    "count_steps",
]
