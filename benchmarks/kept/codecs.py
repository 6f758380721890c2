"""Jobs on compressed data, with all cores and bound to one: ``"W1 lz4 batches, one core"``."""

from __future__ import annotations

from collections.abc import Mapping

from kept.jobs import Jobs, Tool, jobs_of

CODECS = ("lz4", "zstd", "gzip", "snappy")
WORKLOADS = ("W1", "W2", "W3")
OPERATIONS = ("batches", "shuffled", "singles", "write from arrays")
# Those that are measured on one core as well.
BOUND = ("batches", "shuffled")
ONE_CORE = ", one core"


def codec_jobs(tools: Mapping[str, Tool]) -> Jobs:
    """The jobs of tools by their codec."""
    found: Jobs = {}
    for codec, tool in tools.items():
        for name, build in jobs_of(tool, codec, WORKLOADS).items():
            operation = name.split(" ", 2)[2]
            if operation in OPERATIONS:
                found[name] = build
            if operation in BOUND:
                found[name + ONE_CORE] = build
    return found
