"""Reading a pipeline in chunks, for those who hand elements on by the many."""

from __future__ import annotations

import sys
import time
from collections.abc import Generator
from contextlib import ExitStack

from keepset.core.chunk import Chunk
from keepset.core.memory import reuse_freed_memory
from keepset.core.node import Node
from keepset.core.pace import Pace
from keepset.core.run import Run


def chunks_of(node: Node, run: Run, most: int | None = None) -> Generator[Chunk, None, None]:
    """The elements of a run that has just begun, at most so many; it is closed at the end.

    It is read to its end in any case, because a snapshot is whole only then.
    """
    reuse_freed_memory()
    pace = Pace(node.may_run_ahead)
    with ExitStack() as closing:
        closing.callback(run.session.close)
        cursor = node.cursor(run)
        closing.callback(cursor.close)
        left = sys.maxsize if most is None else most
        while True:
            run.session.check_process()
            began = time.perf_counter()
            chunk = cursor.read(pace.size)
            if not len(chunk):
                break
            # Views of a file count too: whoever reads on makes copies of them.
            pace.adapt(time.perf_counter() - began, chunk.size_bytes)
            if left:
                yield chunk[:left]
            left = max(0, left - len(chunk))
