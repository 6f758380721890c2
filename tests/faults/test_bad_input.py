"""Mutated files of every kind: whatever is in them, reading them ends, stays small and is clear.

Each case is read in another process, and may take ten seconds and 200 MB more than four times the
size of its files. It yields elements or raises an error of Keepset's; it ends no process, runs no
code and opens nothing outside its folder. By default a share of it; KEEPSET_MUTATIONS=100000 tries
so many. KEEPSET_TALLY names a file that a line of JSON is appended to.

One case alone: ``python -m tests.faults.bad_input.one_case 'recipe, yaml' 1234``.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.faults.bad_input.kinds import KINDS
from tests.faults.bad_input.pool import read_all
from tests.faults.tally import note_counts

# By kind of file, seeds whose mutation was read wrongly once.
FOUND: dict[str, list[int | str]] = {"note of a part": [562], "state": [610]}
MUTATIONS = int(os.environ.get("KEEPSET_MUTATIONS", str(8 * len(KINDS))))
# Others for each share of a long run, the same ones for each run.
FIRST_SEED = int(os.environ.get("KEEPSET_SEED", "0"))


@pytest.mark.timeout(max(120, MUTATIONS))
def test_mutated_files_are_read_or_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    each = -(-MUTATIONS // len(KINDS))
    tally = read_all(dict.fromkeys(KINDS, range(FIRST_SEED, FIRST_SEED + each)), tmp_path)
    with capsys.disabled():
        print(f"\n{json.dumps(tally.facts())}")
    note_counts("bad input", tally.facts())
    assert not tally.failures, "\n\n".join(tally.failures[:20])
    assert tally.kinds == set(KINDS)
    # Mutations that no reader notices would test nothing, and so would those that all are refused.
    assert 0.2 * tally.mutations < tally.refused < 0.9 * tally.mutations


def test_what_was_found_stays_mended(tmp_path: Path) -> None:
    assert not read_all(FOUND, tmp_path).failures
