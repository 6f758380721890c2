"""ParallelRows: a row-wise stage that may run in threads or processes of its own."""

from __future__ import annotations

from keepset.core.cursor import Cursor
from keepset.core.node import stage
from keepset.core.parameter import parameter
from keepset.core.run import Run
from keepset.nodes.parallel import ParallelCursor, Parallelism
from keepset.nodes.rowwise import RowStage


@stage
class ParallelRowStage(RowStage):
    """A row-wise stage; with ``parallelism``, it shares no loop with its neighbours."""

    # How many calls at once. What is stored is in order, whatever ``deterministic`` says.
    parallelism: Parallelism | None = parameter(default=None, identity=False)

    def cursor(self, run: Run) -> Cursor:
        if self.parallelism is None:
            return super().cursor(run)
        return ParallelCursor(self, self.parallelism, run)

    @property
    def fuses(self) -> bool:
        return self.parallelism is None
