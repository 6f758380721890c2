"""``tf.random``: TensorFlow's random numbers, bit by bit, on NumPy.

The stateless functions, ``Generator``, and after ``set_seed`` the others too draw what TensorFlow
draws on a CPU outside of graphs. What is drawn inside a pipeline by a function with a state depends
on the order of calls: pass seeds to the stateless functions there, or use ``Dataset.random_map``,
which gives each element a generator of its own.
"""

from __future__ import annotations

from keepset.tf.not_covered import not_covered
from keepset.tf.random import experimental
from keepset.tf.random.candidates import log_uniform_candidate_sampler
from keepset.tf.random.generator import (
    Algorithm,
    Generator,
    create_rng_state,
    get_global_generator,
    set_global_generator,
)
from keepset.tf.random.stateful import (
    categorical,
    gamma,
    normal,
    poisson,
    set_seed,
    shuffle,
    truncated_normal,
    uniform,
)
from keepset.tf.random.stateless import (
    fold_in,
    split,
    stateless_categorical,
    stateless_gamma,
    stateless_normal,
    stateless_poisson,
    stateless_truncated_normal,
    stateless_uniform,
)

__all__ = [
    "Algorithm",
    "Generator",
    "categorical",
    "create_rng_state",
    "experimental",
    "fold_in",
    "gamma",
    "get_global_generator",
    "log_uniform_candidate_sampler",
    "normal",
    "poisson",
    "set_global_generator",
    "set_seed",
    "shuffle",
    "split",
    "stateless_categorical",
    "stateless_gamma",
    "stateless_normal",
    "stateless_poisson",
    "stateless_truncated_normal",
    "stateless_uniform",
    "truncated_normal",
    "uniform",
]

__getattr__ = not_covered("tf.random")
