"""The way from a pipeline to PyTorch: which kind of data set, and for which rank."""

from __future__ import annotations

import torch.distributed

from keepset.adapters.shares import Shares
from keepset.adapters.torch.data import TorchIterableData, TorchMapData
from keepset.adapters.torch.tensors import check_spec
from keepset.core.node import Node
from keepset.errors import InvalidArgumentError, NotAddressableError

KINDS = ("map", "iterable")


def to_torch(
    node: Node,
    kind: str | None,
    rank: int | None,
    world_size: int | None,
    drop_last: bool,
    copy: bool,
) -> TorchMapData | TorchIterableData:
    if kind not in (None, *KINDS):
        raise InvalidArgumentError(f"kind must be 'map', 'iterable' or None, not {kind!r}")
    known = node.known_spec()
    if known is not None:
        check_spec(known[0])
    if kind == "map":
        node = _addressable(node)
    shares = Shares(node, *_place(rank, world_size), drop_last)
    if kind is None:
        kind = "map" if _is_a_list(shares) else "iterable"
    return (TorchMapData if kind == "map" else TorchIterableData)(shares, copy)


def _is_a_list(shares: Shares) -> bool:
    """Whether elements can be had by position, and are the same in each pass."""
    node = shares.node
    return node.obstacle() is None and node.cardinality() >= 0 and not shares.draws_anew


def _addressable(node: Node) -> Node:
    node = node.addressable()
    obstacle = node.obstacle()
    if obstacle is None and node.cardinality() < 0:
        obstacle = f"{node.title} has no known, finite length"
    if obstacle is not None:
        raise NotAddressableError(
            f"kind='map' needs elements by position, but {obstacle}; use kind='iterable'"
        )
    return node


def _place(rank: int | None, world_size: int | None) -> tuple[int, int]:
    if (rank is None) != (world_size is None):
        raise InvalidArgumentError("rank and world_size belong together: pass both or neither")
    if rank is not None and world_size is not None:
        return rank, world_size
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return torch.distributed.get_rank(), torch.distributed.get_world_size()
    return 0, 1
