"""Fingerprints agree between processes, hash seeds, folders, and ways to start a script."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

JOB = """
import collections
import contextvars
import dataclasses
import enum
import functools
import inspect
import logging
import weakref
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

import helper
from keepset.core.fingerprint import fingerprint_of_value

log = logging.getLogger(__name__)
HERE = Path(__file__).parent
WORDS = {"a", "b", "c", ("d", 1), frozenset({"e", "f", "g"})}
TABLE = {word: hash for word, hash in zip("xyz", (len, max, min))}


class Label(enum.Enum):
    CAT = "cat"
    DOG = "dog"


class Point(NamedTuple):
    x: int
    y: "Label" = Label.CAT


@dataclass
class Config:
    rate: float = 0.5
    labels: list[Label] = field(default_factory=lambda: [Label.CAT])
    known: set = field(default_factory=lambda: {"p", "q", "r", Label.DOG})


class Access(enum.Flag):
    READ = enum.auto()
    WRITE = enum.auto()
    BOTH = READ | WRITE
    kinds = enum.nonmember({"x", "y", "z"})


Made = dataclasses.make_dataclass("Made", [("n", int, 3), ("names", set, field(default=None))])


class Table(collections.OrderedDict):
    words = {"h", "i", "j"}


def told(x: "Config") -> Label:
    "Says something."
    return inspect.signature(told), told.__doc__, told.__name__


class Decoder:
    def __init__(self, config):
        self.config = config
        self.table = np.arange(5)
        self.more = helper, Access.BOTH, Made(1), Table(b=1, a=2), told, contextvars.ContextVar("c")
        self.again = weakref.WeakSet([Label, Point, Config]), collections.Counter("abracadabra")

    def scale(self, x):
        return x * self.config.rate

    def __call__(self, x):
        log.info("decoding")
        return helper.normalise(self.scale(x)), Point(1), WORDS, TABLE, __file__, __name__


def decode(x, config=Config()):
    return Decoder(config)(x) if x in {"s", "t", "u"} else decode(x)


def main():
    for value in (decode, Decoder(Config()), functools.partial(decode, config=Config(0.1)),
                  Label.DOG, Point(3), WORDS, Config, Decoder(Config()).scale, [lambda: WORDS]):
        print(fingerprint_of_value(value).digest)
"""
HELPER = "MEAN = 0.5\ndef normalise(x):\n    return x - MEAN\n"
SCRIPT = "\nif __name__ == '__main__':\n    main()\n"


def run(folder: Path, *command: str, **environment: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    digests = done.stdout.split()
    assert len(set(digests)) == 9
    return digests


def written(folder: Path, job: str = JOB, helper: str = HELPER) -> Path:
    folder.mkdir(parents=True)
    (folder / "job.py").write_text(textwrap.dedent(job) + SCRIPT)
    (folder / "helper.py").write_text(helper)
    return folder


@pytest.fixture
def expected(tmp_path: Path) -> list[str]:
    return run(written(tmp_path / "first"), "job.py", PYTHONHASHSEED="1")


def test_the_hash_seed_does_not_count(tmp_path: Path, expected: list[str]) -> None:
    for seed in ("0", "2", "77"):
        assert run(tmp_path / "first", "job.py", PYTHONHASHSEED=seed) == expected


def test_the_folder_does_not_count(tmp_path: Path, expected: list[str]) -> None:
    other = written(tmp_path / "other place" / "deep")
    assert run(other, "job.py") == expected
    assert run(tmp_path, str(other / "job.py")) == expected


def test_a_script_and_a_module_agree(tmp_path: Path, expected: list[str]) -> None:
    folder = tmp_path / "first"
    assert run(folder, "-c", "import job; job.main()") == expected
    assert run(folder, "-m", "job") == expected


def test_lines_and_comments_do_not_count(tmp_path: Path, expected: list[str]) -> None:
    job = "# A comment.\n\n" + JOB.replace("    def scale", "    # Scales.\n\n    def scale")
    assert run(written(tmp_path / "moved", job), "job.py") == expected


def test_a_helper_in_another_module_counts(tmp_path: Path, expected: list[str]) -> None:
    for name, helper in {
        "constant": HELPER.replace("0.5", "0.25"),
        "body": HELPER.replace("x - MEAN", "MEAN - x"),
    }.items():
        changed = run(written(tmp_path / name, helper=helper), "job.py")
        # decode, the decoder, the partial and the bound method reach it; the rest does not.
        assert [a == b for a, b in zip(changed, expected, strict=True)] == [
            *(False, False, False),
            *(True, True, True, True),
            False,
            True,
        ]


_ONE_OF_THREE = "ONE if x == 1 else TWO if x == 2 else THREE"
MANY_VALUES = f"""
import functools
from keepset.core.fingerprint import fingerprint_of_value

LISTS = [[i] for i in range(3)]
ONE, TWO, THREE = LISTS
A, B = ([[i] for i in range(40)] for _ in "ab")

def put(into, x, also=None):
    into.append(x)
    if also is not None:
        also.append(x)
def same(value):
    return value
def in_partial(x):
    functools.partial(put, {_ONE_OF_THREE})(x)
    return LISTS[0], LISTS[1], LISTS[2]
def in_partial_by_keyword(x):
    functools.partial(put, [], also={_ONE_OF_THREE})(x)
    return LISTS[0], LISTS[1], LISTS[2]
def of_many(x):
    into = x
    {"; ".join(f"into = into if x else same(A[{i}] if x else B[{i}])" for i in range(40))}
    into.append(1)
    return A, B

if __name__ == "__main__":
    for function in (in_partial, in_partial_by_keyword, of_many):
        first = fingerprint_of_value(function)
        for each in LISTS:
            each.append(7)
        print(first.digest, first.fixed, fingerprint_of_value(function).fixed == first.fixed)
"""


def test_which_of_many_values_are_looked_at_depends_on_no_hash_seed(tmp_path: Path) -> None:
    (tmp_path / "many.py").write_text(MANY_VALUES)
    found = {
        subprocess.run(
            [sys.executable, "many.py"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in range(1, 5)
    }
    assert len(found) == 1
    assert found.pop().count("True") == 3  # all the lists that it may write to are own state
