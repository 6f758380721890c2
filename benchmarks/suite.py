"""All benchmarks in one go: pipelines, kept data, files and scaling; ends with the table of goals.

    python benchmarks/suite.py [--only TEXT] [--quick] [--pipeline-python PYTHON]

``--only`` picks by name: a peer, a workload, a job, a group of figures or a curve. If no name has
the whole text in it, each of its words must be in one: "W2 zarr" is that workload with that peer.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import goals
from harness import HERE

SCRIPTS = ("pipeline", "snapshot", "tensorflow_files", "doors", "scaling")


def picked(only: str, names: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Which scripts to run, each with the texts that it knows; an error if nobody knows one."""
    if not only:
        return {script: [] for script in names}
    every = [name for known in names.values() for name in known]
    texts = [only] if any(only in name for name in every) else only.split()
    for text in texts:
        if not any(text in name for name in every):
            choices = ", ".join(dict.fromkeys(every))
            raise SystemExit(f"error: {text!r} is in no name; choose from {choices}")
    knows = {
        script: [text for text in texts if any(text in name for name in known)]
        for script, known in names.items()
    }
    # A script takes part if it knows all of the texts: half of them would be another question.
    chosen = {script: known for script, known in knows.items() if len(known) == len(texts)}
    if not chosen:
        raise SystemExit(f"error: no benchmark has all of {', '.join(map(repr, texts))}")
    return chosen


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Run all benchmarks.")
    parser.add_argument("--only", default="", metavar="TEXT", help="what has this in its name")
    parser.add_argument("--quick", action="store_true", help="too short to quote; nothing is kept")
    parser.add_argument("--pipeline-python", default=sys.executable, metavar="PYTHON")
    return parser.parse_args()


def main() -> int:
    given = arguments()
    commands = {script: [sys.executable, str(HERE / f"{script}.py")] for script in SCRIPTS}
    for script in (
        "pipeline",
        "tensorflow_files",
        "doors",
    ):  # which need the environment of the frameworks
        commands[script][0] = given.pipeline_python
    names = {script: _names(command) for script, command in commands.items()}
    chosen = picked(given.only, names)
    is_whole = not given.only and not given.quick
    failed = []
    with tempfile.TemporaryDirectory() as scratch:
        results = []
        for script, texts in chosen.items():
            print(f"\n==> {script}", flush=True)
            # A part of it is not what is kept to be shown.
            result = (goals.RESULTS if is_whole else Path(scratch)) / f"{script}.json"
            options = [f"--only={text}" for text in texts] + ["--quick"] * given.quick
            command = [*commands[script], *options, f"--output={result}"]
            if subprocess.run(command, check=False).returncode:
                failed.append(script)
            results += [result] if result.exists() and script != "scaling" else []
        print("\n==> goals")
        goals.main(results)
    if failed:
        print(f"failed, see above: {', '.join(failed)}")
    return 1 if failed else 0


def _names(command: Sequence[str]) -> list[str]:
    listed = subprocess.run([*command, "--list"], check=True, stdout=subprocess.PIPE, text=True)
    return listed.stdout.splitlines()


if __name__ == "__main__":
    sys.exit(main())
