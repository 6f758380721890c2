"""A program that does all that changes a place, and prints the calls that it recorded.

    python traced_program.py FOLDER prepare
    strace ... python traced_program.py FOLDER

Run by test_traced_calls. Each line is a kind of call and a path below FOLDER.
"""

import os
import sys
from pathlib import Path

from tests.faults.cut_pipelines import make_files
from tests.faults.cut_scenarios import (
    saved,
    saved_with_damaged_log,
    saved_with_damaged_recipe,
    stopped_and_damaged,
)
from tests.faults.cut_work import (
    begin_anew,
    gc,
    iterate,
    iterate_in_two,
    iterate_over_files,
    remove,
    repair,
    repair_and_iterate,
)
from tests.faults.recorded_files import recorded


def prepare(folder: Path) -> None:
    """Make what is damaged before anything is traced."""
    saved_with_damaged_log(folder / "log")
    saved_with_damaged_recipe(folder / "recipe")
    stopped_and_damaged(folder / "stopped")
    make_files(folder / "of files")


def work(folder: Path) -> None:
    saved(3, 4)(folder / "saved")
    iterate(folder / "passed")
    iterate_in_two(folder / "resumed")
    begin_anew(folder / "resumed")
    iterate_over_files(folder / "of files")
    repair(folder / "log")
    repair(folder / "recipe")
    repair_and_iterate(folder / "stopped")
    for name in ("saved", "passed", "resumed", "log", "stopped"):
        gc(folder / name)
        remove(folder / name)


def main() -> None:
    folder = Path(os.path.realpath(sys.argv[1]))
    if sys.argv[2:] == ["prepare"]:
        return prepare(folder)
    with recorded(folder, syncs=True) as recording:
        work(folder)
    for call in recording.calls:
        print(f"{call.kind}\t{call.path}\t{call.target}\t{len(call.data)}")
    return None


if __name__ == "__main__":
    main()
