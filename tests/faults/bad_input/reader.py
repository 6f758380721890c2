"""The process that reads mutated files: told a kind and a seed, it tells what came of it.

It is started as ``python -m tests.faults.bad_input.reader FOLDER``, and may die of what it reads.
"""

from __future__ import annotations

import json
import random
import resource
import shutil
import sys
import time
import traceback
import warnings
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any, Final

from tests.faults.bad_input.guard import Guard
from tests.faults.bad_input.kinds import KINDS
from tests.faults.bad_input.peak import Peak
from tests.faults.bad_input.special_files import replace_one

import keepset as ks

# So that a file which asks for everything takes this process down and no other.
_MOST_ADDRESSES: Final = 8 << 30


class Corpus:
    """The sound files of the kinds that were asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._variants: dict[str, list[Path]] = {}
        self._read: set[Path] = set()

    def variants(self, kind: str) -> list[Path]:
        """The folders of a kind's files."""
        if kind not in self._variants:
            made = self._folder / "sound" / str(len(self._variants))
            made.mkdir(parents=True)
            KINDS[kind].make(made)
            self._variants[kind] = sorted(made.iterdir())
        return self._variants[kind]

    def case(self, kind: str, seed: int | str) -> Path:
        """A mutated copy; the same one for a kind and a seed.

        A text in place of a seed names a thing to put in the place of a file.
        """
        choose = random.Random(f"{kind} {seed}")
        variant = choose.choice(self.variants(kind))
        if variant not in self._read:
            self._read.add(variant)
            with suppress(ks.KeepsetError) if KINDS[kind].has_unfinished else nullcontext():
                KINDS[kind].read(self._copy(variant))
        case = self._copy(variant)
        if isinstance(seed, str):
            replace_one(case, KINDS[kind].victims, seed, choose)
        else:
            KINDS[kind].mutate(case, choose)
        return case

    def _copy(self, variant: Path) -> Path:
        case = self._folder / "cases" / variant.name
        shutil.rmtree(case.parent, ignore_errors=True)
        shutil.copytree(variant, case)
        return case


def outcome_of(kind: str, case: Path, guard: Guard) -> dict[str, Any]:
    """What reading a case came to."""
    size = sum(path.stat().st_size for path in case.rglob("*") if path.is_file())
    found: dict[str, Any] = {"size": size, "error": None, "trace": None}
    peak, began = Peak(), time.perf_counter()
    with guard.watching(case, may_open=KINDS[kind].names_files):
        try:
            KINDS[kind].read(case)
        except ks.KeepsetError as error:
            found["error"] = type(error).__name__
        except BaseException as error:
            found["error"] = f"{type(error).__module__}.{type(error).__name__}"
            found["trace"] = traceback.format_exc()[-3000:]
    found["seconds"] = time.perf_counter() - began
    found["grew"] = peak.grown_bytes()
    found["forbidden"] = guard.taken()
    return found


def main() -> None:
    folder = Path(sys.argv[1])
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_ADDRESSES, _MOST_ADDRESSES))
    corpus, guard = Corpus(folder), Guard(folder)
    for line in sys.stdin:
        kind, seed = json.loads(line)
        case = corpus.case(kind, seed)
        print(json.dumps({"begun": [kind, seed]}), flush=True)
        print(json.dumps(outcome_of(kind, case, guard)), flush=True)


if __name__ == "__main__":
    main()
