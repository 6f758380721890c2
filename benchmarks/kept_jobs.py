"""The jobs on kept data, and what Keepset should reach in each."""

from __future__ import annotations

from collections.abc import Iterator

from harness import A_SECOND, BEST_PEER, Goal, Job
from kept.codecs import BOUND, CODECS, ONE_CORE, OPERATIONS
from kept.codecs import WORKLOADS as COMPRESSED
from kept.jobs import CHECKED, RANDOM_READS
from kept.workloads import WORKLOADS

KEEPSET = "keepset"
JPEGS = 2000
_JPEG_BYTES = 224 * 224 * 3 * 4 + 8

_UNBEATEN = Goal(BEST_PEER, 1.0)
_SMALL = ("W2", "W5")


def _goals(workload: str, job: str) -> tuple[Goal, ...]:
    varies = workload.startswith("W3")
    match job:
        case "batches, copied":
            return (_UNBEATEN, Goal("arrow" if varies else "numpy", 0.8))
        case "elements":
            rate = (Goal(A_SECOND, 1_500_000),) if workload == "W2" else ()
            beside = (Goal("numpy", 0.7), Goal("arrow", 0.8 if varies else 1.0), Goal("tf", 100))
            return (_UNBEATEN, *beside, *rate)
        case "elements, copied":
            return (_UNBEATEN, Goal("numpy", 0.7))
        case "shuffled":
            return (_UNBEATEN, Goal("numpy", 0.5 if workload in _SMALL else 0.7))
        case "singles":
            rate = (Goal(A_SECOND, 200_000),) if workload in ("W1", "W2", "W5") else ()
            return (_UNBEATEN, Goal("numpy", 0.4), *rate)
        case "write from arrays":
            return (Goal(BEST_PEER, 1.6), Goal("numpy", 0.8))
        case "write from a generator":
            return (Goal(BEST_PEER, 1.6), Goal("numpy", 0.6))
    return (_UNBEATEN,)


_JOBS = (
    "elements",
    "elements, copied",
    "batches",
    "batches, copied",
    "shuffled",
    "buffered",
    "singles",
    "write from arrays",
    "write from a generator",
)


def all_jobs() -> list[Job]:
    """All jobs of a workload stand together, so that its data is needed once."""
    jobs = [*_plain_jobs(), *_codec_jobs(), *_jpeg_jobs()]
    return sorted(jobs, key=workload_of)


def workload_of(job: Job) -> str:
    return job.name.partition(" ")[0]


def _plain_jobs() -> list[Job]:
    """Every workload without compression."""
    return [
        Job(
            f"{workload.name} {job}",
            f"{workload.what}: {job}",
            RANDOM_READS if job == "singles" else workload.rows,
            _goals(workload.name, job),
            shuffled=job in ("shuffled", "buffered"),
            check_elements=CHECKED,
            element_bytes=workload.row_bytes,
        )
        for workload in WORKLOADS.values()
        for job in _JOBS
    ]


def _codec_goals(codec: str, operation: str, one_core: bool) -> tuple[Goal, ...]:
    if operation in BOUND:
        ahead = (Goal("arrow", 1.0),) if operation == "batches" and codec in ("lz4", "zstd") else ()
        return (Goal("codec", 0.9 if one_core else 1.6), *ahead)
    if operation == "write from arrays" and codec == "gzip":
        # The codec's own library is zlib here, at level 6.
        return (Goal("codec", 2.0),)
    return ()


def _codec_jobs() -> Iterator[Job]:
    """Compressed data, with all cores, and what matters most also bound to one."""
    for name in COMPRESSED:
        workload = WORKLOADS[name]
        for codec in CODECS:
            for operation in OPERATIONS:
                for one_core in (False, True) if operation in BOUND else (False,):
                    more = ONE_CORE if one_core else ""
                    yield Job(
                        f"{name} {codec} {operation}{more}",
                        f"{workload.what}, {codec.upper()}: {operation}{more}",
                        RANDOM_READS if operation == "singles" else workload.rows,
                        _codec_goals(codec, operation, one_core),
                        shuffled=operation == "shuffled",
                        check_elements=CHECKED,
                        # Its first batches need many chunks: a whole pass, if it can.
                        cap_s=1.5 if operation == "shuffled" else 0.6,
                        cores=1 if one_core else None,
                        element_bytes=workload.row_bytes,
                    )


def _jpeg_jobs() -> list[Job]:
    """An expensive map, kept: its first epoch and later ones."""
    goals: dict[str, tuple[Goal, ...]] = {}
    for more in ("", ", 2 threads"):
        without = f"without a snapshot{more}"
        goals[without] = ()
        # At most 1.05 times as long.
        goals[f"first epoch{more}"] = (_UNBEATEN, Goal(KEEPSET, 1 / 1.05, job=f"W6 {without}"))
    for later in ("later elements", "later batches"):
        goals[later] = (_UNBEATEN, Goal("numpy", 0.8))
    return [
        Job(
            f"W6 {job}",
            f"{JPEGS:,} JPEG files decoded to f32[224,224,3]: {job}",
            JPEGS,
            promised,
            check_elements=40,
            group="W6 epochs" + more if "epoch" in job or "without" in job else f"W6 {job}",
            whole=5,
            element_bytes=_JPEG_BYTES,
        )
        for job, promised in goals.items()
        for more in [", 2 threads" if "threads" in job else ""]
    ]
