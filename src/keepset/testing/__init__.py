"""Checks for pipelines and for stages of your own: what every stage of Keepset promises.

A stage of your own counts for fingerprints by its code, by its inputs and by its fields. Declare
what must not count where the field is declared::

    from keepset.core.node import Node, stage
    from keepset.core.parameter import parameter, upstream


    @stage
    class Scaled(Node):
        parent: Node = upstream()  # a stage before this one
        factor: float = 1.0  # counts: another factor is another fingerprint
        threads: int = parameter(default=1, identity=False)  # the same elements, whatever it is

``identity=False`` is a promise that a snapshot may be replayed whatever the value is. Leave it out
if in doubt: a field that counts needlessly costs time, one that is left out wrongly costs data.
"""

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
