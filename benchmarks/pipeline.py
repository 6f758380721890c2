"""Pipeline overhead: how many elements per second each library hands to a Python loop.

    python benchmarks/pipeline.py                 every chain, every contender; kept as JSON
    python benchmarks/pipeline.py --only shuffle  the chains with that in their name
    python benchmarks/pipeline.py --only grain    Keepset, the yardsticks and that peer
    python benchmarks/pipeline.py --quick         a minute or two, to see that all of it runs

The environment needs ``keepset[bench]``; a peer that is not installed is listed as such.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import report
from choosing import choose
from harness import BEST_PEER, HERE, Contender, Goal, Job, Settings, run

KEEPSET = "keepset"
RESULTS = HERE / "results" / "pipeline.json"

# The first that has a chain gives the output which the others must equal.
CONTENDERS = (
    Contender("generators", "contenders.generators", "yardstick"),
    Contender("inlined", "contenders.inlined", "yardstick"),
    Contender("numpy", "contenders.numpy_by_hand", "yardstick"),
    Contender(KEEPSET, "contenders.keepset", "subject"),
    Contender("tf.data", "contenders.tf_data", "peer"),
    Contender("grain", "contenders.grain", "peer"),
    Contender("torch", "contenders.torch_dataloader", "peer"),
    Contender("torch nodes", "contenders.torchdata_nodes", "peer"),
)
COMPARED = ("generators", "numpy", BEST_PEER, "tf.data")

UNBEATEN = Goal(BEST_PEER, 1.0)
# Where the function is the whole cost, everybody who waits for it well is equally fast.
TIED = Goal(BEST_PEER, 0.95)
PLAIN = (UNBEATEN, Goal("generators", 0.8))
LAMBDAS = (*PLAIN, Goal("tf.data", 50.0))
VECTORISED = (UNBEATEN, Goal("numpy", 0.8))
IN_LINE = "busy+batch, in line"
SCALING = (UNBEATEN, Goal(KEEPSET, 1.6, job=IN_LINE))

MILLION = 1_000_000

CHAINS = (
    Job("range", "range(n), element by element", MILLION, PLAIN),
    Job("map", "map(x * 2), element by element", MILLION, LAMBDAS),
    Job("filter", "filter(x % 2 == 0), element by element", MILLION, LAMBDAS),
    Job("map+filter", "map(x * 2), filter(x % 2 == 0), element by element", MILLION, LAMBDAS),
    Job("batch", "batch(128)", MILLION, PLAIN),
    Job("map+batch", "map(x * 2), batch(128)", MILLION, LAMBDAS),
    Job("filter+batch", "filter(x % 2 == 0), batch(128)", MILLION, LAMBDAS),
    Job("shuffle+batch", "shuffle(1000), batch(128)", MILLION, PLAIN, shuffled=True),
    Job(
        "map+filter+shuffle+batch",
        "map(x * 2), filter(x % 2 == 0), shuffle(1000), batch(128)",
        MILLION,
        LAMBDAS,
        shuffled=True,
    ),
    Job("batch+map", "batch(1024), map(x * 2) on whole batches", MILLION, VECTORISED),
    Job("map_batches+batch", "x * 2 on blocks of 1024, then batch(128)", MILLION, VECTORISED),
    Job("slices", "rows of {x: f32[32], y: i64}, element by element", 200_000, PLAIN),
    Job("slices+batch", "rows of {x: f32[32], y: i64}, batch(128)", 200_000, VECTORISED),
    Job("enumerate+batch", "enumerate(), batch(128)", MILLION, PLAIN),
    Job("zip", "zip(range(n), range(n)), element by element", MILLION, PLAIN),
    Job("from_generator+batch", "a live Python generator, batch(128)", MILLION, (UNBEATEN,)),
    Job(
        IN_LINE,
        "map(200 us of plain Python), batch(128)",
        20_000,
        (TIED,),
        check_elements=300,
        cap_s=8.0,
        group="busy",
    ),
    Job(
        "busy+batch, 2 processes",
        "map(200 us of plain Python) on two processes, batch(128)",
        20_000,
        SCALING,
        check_elements=300,
        cap_s=8.0,
        group="busy",
    ),
    Job(
        "sleep+batch, 16 threads",
        "map(sleep 1 ms) on sixteen threads, batch(128)",
        10_000,
        (TIED,),
        check_elements=300,
    ),
)


def chosen(only: Sequence[str]) -> tuple[list[Job], list[Contender]]:
    """Keep what the names ask for: chains if any has the text in its name, else peers."""
    choice = choose(only, CHAINS, [c.name for c in CONTENDERS if c.role == "peer"])
    return (
        choice.jobs,
        [c for c in CONTENDERS if c.role != "peer" or c.name in choice.peers],
    )


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure pipelines side by side.")
    parser.add_argument("--only", action="append", default=[], metavar="NAME")
    parser.add_argument("--rounds", type=int, help="measurements of each chain (9; --quick: 2)")
    parser.add_argument("--elements", type=int, help="at most so many elements per chain")
    parser.add_argument("--quick", action="store_true", help="too short to quote; nothing is kept")
    parser.add_argument("--output", type=Path, help="where to keep the results, full run or not")
    parser.add_argument("--list", action="store_true", help="print the names there are")
    return parser.parse_args()


def main() -> int:
    given = arguments()
    if given.list:
        peers = [contender.name for contender in CONTENDERS if contender.role == "peer"]
        print("\n".join([*peers, *(job.name for job in CHAINS)]))
        return 0
    jobs, contenders = chosen(given.only)
    elements = given.elements or (20_000 if given.quick else MILLION)
    jobs = [replace(job, elements=min(job.elements, elements)) for job in jobs]
    # Peers that take seconds for what others do in a few milliseconds get less time.
    settings = Settings(given.rounds or Settings.rounds, peer_rounds=5, peer_cap_s=0.6)
    if given.quick:
        settings = Settings(rounds=given.rounds or 2, cap_s=0.5, check_elements=3000)
        jobs = [replace(job, cap_s=job.cap_s and 2.0) for job in jobs]
    result = run(jobs, contenders, "PIPELINE", settings, lambda line: print(line, flush=True))
    print("\n" + report.table(jobs, contenders, result, KEEPSET, COMPARED))
    for line in report.missed_goals(jobs, contenders, result, KEEPSET):
        print(f"missed: {line}")

    # What is kept by default must be comparable: everything, in one run, with its spread.
    whole = not given.only and elements >= MILLION and settings.rounds >= 5 and not given.quick
    if path := given.output or (RESULTS if whole else None):
        report.keep(path, "pipeline", jobs, contenders, result, KEEPSET)
        print(f"kept in {path}")
    if result.machine["load_before"] > 0.25 * result.machine["cpus_usable"]:
        print("note: the machine was busy before the run; the figures may be low")
    ours = [m for m in result.measurements if m.contender == KEEPSET]
    return 0 if all(m.status == "ok" for m in ours) else 1


if __name__ == "__main__":
    sys.exit(main())
