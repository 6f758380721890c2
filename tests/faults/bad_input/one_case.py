"""Makes one case and reads it, to look into a failure: KIND SEED."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.faults.bad_input.guard import Guard
from tests.faults.bad_input.reader import Corpus, outcome_of


def main() -> None:
    kind, seed = sys.argv[1:]
    folder = Path(tempfile.mkdtemp())
    case = Corpus(folder).case(kind, int(seed) if seed.isdigit() else seed)
    print(case)
    outcome = outcome_of(kind, case, Guard(folder))
    print(outcome.pop("trace") or "", outcome, sep="\n")


if __name__ == "__main__":
    main()
