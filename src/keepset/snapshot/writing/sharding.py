"""The shard of each element, as a user's function says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from keepset.core.chunk import Chunk
from keepset.core.dtypes import Array
from keepset.errors import InvalidArgumentError
from keepset.nodes.row_loop import explain

_LARGEST_SHARD = 2**32 - 1


def shards_of(chunk: Chunk, shard_func: Callable[..., Any], first: int) -> Array:
    """Call the function on each element; ``first`` is the position of the first one."""
    shards = np.empty(len(chunk), np.int64)
    for i, row in enumerate(chunk.rows):
        try:
            shards[i] = _checked(shard_func(*row) if type(row) is tuple else shard_func(row))
        except Exception as error:
            raise explain(error, "shard_func", first + i) from None
    return shards


def _checked(value: Any) -> int:
    try:
        shard = int(value)
        if shard == value and 0 <= shard <= _LARGEST_SHARD:
            return shard
    except (TypeError, ValueError):
        shard = -1
    raise InvalidArgumentError(
        f"shard_func must return a whole number from 0 to {_LARGEST_SHARD}, but it returned "
        f"{value!r:.80}"
    )
