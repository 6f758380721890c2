"""What a test says of random numbers holds for it alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import keepset.tf as tf


@pytest.fixture(autouse=True)
def unseeded() -> Iterator[None]:
    """The seed of the process is that of the other tests as well: pipelines draw from it."""
    yield
    tf.random.set_seed(None)
