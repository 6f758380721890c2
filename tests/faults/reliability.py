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
        "The calls to the file system of saves, passes, `gc`, `rm` and repairs are recorded. Behind each of them the power is cut: data that was "
        "not synced is lost, torn or zero-filled, and names in folders are lost: in all combinations of up to eight, in 64 chosen ones of more. Each state is opened and written on. What was acknowledged is "
        "there, nothing wrong is read, and every place can be opened. Each sync of the library is needed by at least one state, but for a few that the harness lists with the reason.",
    ),
    "simulated world": (
        "Writers, readers, `gc` and `rm` at once",
        "A simulated store and clock switch between two to five actors at each call of the store and each look at the clock, with lost replies, late "
        "listings, pauses beyond the lease, clocks that differ by minutes, and kills. No reader sees a wrong element, what was acknowledged stays, "
        "and the place can be opened.",
    ),
    "kills": (
        "Killed processes",
        "A process that stores elements is killed, at chosen steps and at random moments. Nothing that was committed is lost, and the next process goes on "
        "behind it.",
    ),
    "bad input": (
        "Bad input",
        "Files of every kind that Keepset reads are mutated, with checksums made to fit. Each is read, or refused with an error of Keepset's own, within "
        "10 seconds and bounded memory. No code runs, and nothing outside the folder is opened.",
    ),
}


def page(lines: list[str]) -> str:
    """The page, from the last line of each harness."""
    counts = {each.pop("harness"): each for each in map(json.loads, lines)}
    parts = [
        "# Reliability",
        "What the fault harnesses prove, and how much they tried in their last full run (`make test-faults`; `make test` runs a share of each). "
        "This page is generated.",
    ]
    for name, (title, text) in PROVES.items():
        if name not in counts:
            continue
        shown = {
            key: value for key, value in counts[name].items() if isinstance(value, int | float)
        }
        rows = [f"| {key.replace('_', ' ')} | {value:,} |" for key, value in shown.items()]
        parts += [f"## {title}", text, "\n".join(["| counted | number |", "|---|---|", *rows])]
    parts += [
        "## Not covered",
        "Tested on Linux, on ext4-like and in-memory file systems with hard links, and against an S3 server on the same machine. File systems without hard links "
        "and the disk cache are not part of the power cuts.",
    ]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    sys.stdout.write(page(Path(sys.argv[1]).read_text().splitlines()))
