"""The page docs/reliability.md, made of what the harnesses counted in their last full run.

    python -m tests.faults.reliability tally.jsonl > docs/reliability.md

``make test-faults`` does both. A harness adds a line of JSON to the file that KEEPSET_TALLY names.
"""

# ruff: noqa: E501 - the texts are lines of a page
from __future__ import annotations

import json
import sys
from pathlib import Path

# What each harness proves, by the name that it has in the file.
PROVES = {
    "power cut": (
        "Power cuts",
        "The calls to the file system of saves, passes, resumed passes, `gc`, `rm` and repairs are recorded. Behind each of them the power is cut: data that was "
        "not synced is lost, torn or zero-filled, and names in folders are lost: in all combinations of up to eight, in 64 chosen ones of more. Each state is opened and written on, and some "
        "are cut again meanwhile. What was acknowledged is "
        "there, nothing wrong is read, and every place can be opened. Each sync of the library is needed by at least one state, but for a few that the harness lists with the reason. "
        "A trace of the system calls shows that the recorder sees each one that changes the place.",
    ),
    "simulated world": (
        "Writers, readers, `gc`, `rm` and repairs at once",
        "A simulated store and clock switch between two to five actors at each call of the store and each look at the clock, with lost replies, late "
        "listings, pauses beyond the lease, clocks that differ by minutes, kills, and commits and segments that are damaged at rest. No reader sees a wrong element, "
        "what was acknowledged and not damaged stays, and the place can be opened, after a repair if something was damaged.",
    ),
    "threads and forks": (
        "Threads and forks",
        "Every stage is read by four threads that share an iterator, and the process is forked in the middle, while they read. The threads get each element once. The child is told that it cannot go on, never hangs, "
        "and reads anew; the parent goes on. A process that is forked while threads, worker processes, a snapshot or a bucket are at work can do all of that itself, but for the bucket, which it is told.",
    ),
    "kills": (
        "Killed processes",
        "A process that stores elements is killed, at chosen steps and at random moments. Nothing that was committed is lost, and the next process goes on "
        "behind it.",
    ),
    "failing calls": (
        "Failing calls",
        "Each call to the file system of saves, passes, repairs, `gc` and `rm` fails once, as on a full disk and on a broken one. What was committed stays, the error says what is stored, and doing it again succeeds.",
    ),
    "changed bytes": (
        "Changed bytes",
        "Every file of small snapshots and cache files is cut at every byte, and every bit is flipped. What is read is right, or an error; `verify` notices each change, and repairs it.",
    ),
    "bad input": (
        "Bad input",
        "Files of every kind that Keepset reads are mutated, with checksums made to fit. Each is read, or refused with an error of Keepset's own, within "
        "10 seconds and bounded memory. No code runs, and nothing outside the folder is opened.",
    ),
}


def page(lines: list[str]) -> str:
    """The page, from all lines of each harness."""
    counts: dict[str, dict[str, float]] = {}
    for each in map(json.loads, lines):
        known = counts.setdefault(each.pop("harness"), {})
        for key, value in each.items():
            if isinstance(value, int | float):
                known[key] = _together(key, known.get(key, 0), value)
    parts = [
        "# Reliability",
        "What the fault harnesses prove, and how much they tried in their last full run (`make test-faults`; `make test` runs a share of each). "
        "This page is generated.",
    ]
    for name, (title, text) in PROVES.items():
        if name in counts:
            rows = [f"| {key.replace('_', ' ')} | {n:,} |" for key, n in counts[name].items()]
            parts += [f"## {title}", text, "\n".join(["| counted | number |", "|---|---|", *rows])]
    parts += [
        "## Not covered",
        "Tested on Linux, on ext4-like and in-memory file systems with hard links, and against an S3 server on the same machine. File systems without hard links "
        "and the disk cache are not part of the power cuts. A commit that is lost altogether, not damaged, is found only if others came behind it.",
    ]
    return "\n\n".join(parts) + "\n"


def _together(key: str, one: float, other: float) -> float:
    """What two parts of a harness counted: maxima by their names, all others as sums."""
    is_maximum = key.startswith(("slowest", "largest", "most", "kinds"))
    return max(one, other) if is_maximum else one + other


if __name__ == "__main__":
    sys.stdout.write(page(Path(sys.argv[1]).read_text().splitlines()))
