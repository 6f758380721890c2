"""``tf.random.experimental``: more names of what ``tf.random`` has, and shuffling by a seed."""

from __future__ import annotations

from keepset.tf.not_covered import not_covered
from keepset.tf.random.generator import (
    Algorithm,
    Generator,
    create_rng_state,
    get_global_generator,
    set_global_generator,
)
from keepset.tf.random.stateless import fold_in as stateless_fold_in
from keepset.tf.random.stateless import split as stateless_split
from keepset.tf.random.stateless import stateless_shuffle

__all__ = [
    "Algorithm",
    "Generator",
    "create_rng_state",
    "get_global_generator",
    "set_global_generator",
    "stateless_fold_in",
    "stateless_shuffle",
    "stateless_split",
]

__getattr__ = not_covered("tf.random.experimental")
