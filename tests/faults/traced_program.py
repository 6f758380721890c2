"""A program that saves, iterates, collects and removes, and prints the calls that it recorded.

    strace ... python traced_program.py FOLDER

Run by test_traced_calls. Each line is a kind of call and a path below FOLDER.
"""

import os
import sys
from pathlib import Path

from tests.faults.cut_scenarios import saved
from tests.faults.cut_work import gc, iterate, remove
from tests.faults.recorded_files import recorded


def main() -> None:
    folder = Path(os.path.realpath(sys.argv[1]))
    with recorded(folder, syncs=True) as recording:
        saved(3, 4)(folder / "saved")
        iterate(folder / "passed")
        gc(folder / "saved")
        gc(folder / "passed")
        remove(folder / "saved")
        remove(folder / "passed")
    for call in recording.calls:
        print(f"{call.kind}\t{call.path}\t{call.target}\t{len(call.data)}")


if __name__ == "__main__":
    main()
