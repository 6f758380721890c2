"""Resume states: where the stages before a snapshot stood, whether or not a prefetch ends them.

Stages that do not count in the fingerprint may come and go between the pass that stored the
beginning and the one that goes on. A prefetch has a state around that of its parent. It is left out
of what is stored, so that functions are not called again for elements that are stored already.
"""

from __future__ import annotations

from keepset.core.cursor import State
from keepset.core.node import Node
from keepset.nodes.cache import Cache
from keepset.nodes.prefetch import Prefetch
from keepset.nodes.with_options import WithOptions


def counted_state(node: Node, place: State) -> State:
    """A place of ``node``, as one of the last stage before it that counts.

    Args:
        node: The last stage before a snapshot.
        place: What its ``Marked`` cursor gave: a state, and a number of elements since.
    """
    for _ in range(_prefetches(node)):
        at = place["at"]
        place = {"at": at["parent"], "skip": at["skip"] + place["skip"]}
    return place


def state_for(node: Node, place: State) -> State:
    """The reverse: a place that was stored, as one of ``node``."""
    for _ in range(_prefetches(node)):
        place = {"at": {"parent": place["at"], "skip": place["skip"], "ended": False}, "skip": 0}
    return place


def _prefetches(node: Node) -> int:
    """How many stages at the end have a state around that of their parent.

    Before a snapshot, a cache and options have none: their parents' cursors stand for them.
    """
    found = 0
    while isinstance(node, Prefetch | Cache | WithOptions):
        found += isinstance(node, Prefetch) and node.buffer_size != 0
        node = node.parent
    return found
