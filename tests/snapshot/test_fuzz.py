"""Files that somebody made: whatever is in them, reading runs no code, ends, and stays small.

By default a share of it; KEEPSET_KILLS of more than 100 tries many more.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.golden import make

import keepset as ks
from keepset.core.checksum import crc32c

ALL = int(os.environ.get("KEEPSET_KILLS", "0")) > 100
GOLDEN = Path(make.__file__).parent / "format_v1"

# Reads every place in its arguments in every way there is. What is not refused by an error of ours
# ends the program.
PROGRAM = """
    import resource, sys, warnings
    import keepset as ks
    from keepset.snapshot.upkeep.checking import check_snapshot
    from keepset.snapshot.upkeep.collecting import collect, plan_collection
    from keepset.snapshot.listing import list_snapshots
    from keepset.snapshot.looking import Snapshot
    from keepset.snapshot.upkeep.repairing import repair_snapshot
    from keepset.storage import open_store
    from tests.golden import make

    def read(path):
        list(ks.load(path))

    def look(path):
        found = Snapshot(path)
        for name in dir(Snapshot):
            getattr(found, name)
        repr(found)

    def show(path):
        list_snapshots(open_store(path))

    def repair(path):
        store = open_store(Snapshot(path).url)
        repair_snapshot(store, check_snapshot(store))

    def clean(path):
        root = open_store(path)
        collect(root, plan_collection(root, grace_s=0.0))

    def run(path):
        if path.endswith(".golden"):
            list(make.pipeline(path))

    warnings.simplefilter("ignore")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    resource.setrlimit(resource.RLIMIT_AS, (1 << 32, 1 << 32))
    refused = 0
    with open(sys.argv[1]) as places:
        for path in places.read().splitlines():
            for action in (read, look, show, repair, read, clean, run):
                try:
                    action(path)
                except ks.KeepsetError:
                    refused += 1
                except BaseException:
                    print(path, "in", action.__name__, file=sys.stderr)
                    raise
    print(refused, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def read_all(paths: list[Path], tmp_path: Path) -> int:
    """Read all places in a process of its own; how often that was refused."""
    places = tmp_path / "places"
    places.write_text("\n".join(map(str, paths)))
    command = [sys.executable, "-c", textwrap.dedent(PROGRAM), str(places)]
    root = Path(__file__).parents[2]
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=root)
    refused, grew_kilobytes = map(int, run.stdout.split())
    assert grew_kilobytes < 200_000
    return refused


# Commits:

ODD: list[Any] = [
    *(None, -1, 0, 1, 2, 7, 1.5, float("nan"), float("inf"), True, "", [], {}, [0], [[]]),
    *(2**31 - 1, 2**31, 2**32, 2**40, 2**62, 2**63, 2**64, 10**30, 10**400),
    *("x" * 50, "../../etc/passwd", "segments/../../x", "\udc80", {"a": 1}),
]


def sealed(facts: dict[str, Any]) -> bytes:
    """A commit with a checksum that fits, as an attacker would make it."""
    body = json.dumps(facts, separators=(",", ":")).encode()
    return body[:-1] + f',"checksum":"{crc32c(body):08x}"}}'.encode()


def places_in(value: Any) -> Iterator[tuple[Any, Any]]:
    """All places of a JSON value, each as a container and a key."""
    keys = list(value) if isinstance(value, dict) else range(len(value))
    for key in keys:
        yield value, key
        if isinstance(value[key], dict | list):
            yield from places_in(value[key])


def forge(commit: Path, choose: random.Random) -> None:
    """Replace or remove values of a commit, wherever they are."""
    facts = json.loads(commit.read_bytes())
    facts.pop("checksum")
    for _ in range(choose.choice([1, 1, 2])):
        container, key = choose.choice(list(places_in(facts)))
        if choose.random() < 0.1:
            del container[key]
        elif type(container[key]) is int and choose.random() < 0.4:
            container[key] += choose.choice([-1, 1, 2, 8, 64])
        else:
            container[key] = choose.choice(ODD)
    commit.write_bytes(sealed(facts))


@pytest.mark.timeout(1200)
def test_forged_commits_of_all_kinds(tmp_path: Path) -> None:
    choose = random.Random(1)
    kinds = set()
    paths = []
    golden = sorted(path for path in GOLDEN.iterdir() if list(path.rglob("commits")))
    for number in range(5000 if ALL else 250):
        source = choose.choice(golden)
        path = tmp_path / f"{number}.{'golden' if (source / 'golden').exists() else 'other'}"
        shutil.copytree(source, path)
        commit = choose.choice(sorted(path.rglob("commits/*.json")))
        kinds.add(json.loads(commit.read_bytes())["kind"])
        forge(commit, choose)
        paths.append(path)
    assert kinds >= {"append", "complete", "reset", "replace", "repair", "fence"}
    assert read_all(paths, tmp_path) > len(paths)


# Segments:


def saved(path: Path, compression: str | None) -> Path:
    ds = ks.Dataset.range(30).map(
        lambda x: {
            "x": x,
            "s": b"y" * int(x),
            "v": np.zeros(int(x) % 3),
            "r": ks.Ragged([1, 2], [0, 1, 2]),
        }
    )
    ds.save(path, compression, shard_func=lambda e: e["x"] ** 2 % 5)
    return path


@pytest.mark.parametrize("compression", [None, "LZ4", "ZSTD", "GZIP", "SNAPPY"])
def test_forged_segments_neither_crash_nor_fill_the_memory(
    tmp_path: Path, compression: str | None
) -> None:
    """The checksums fit, so that only the decoders stand between the bytes and us."""
    choose = random.Random(2)
    sound = saved(tmp_path / "sound", compression)
    paths = []
    for number in range(1000 if ALL else 24):
        path = tmp_path / str(number)
        shutil.copytree(sound, path)
        (segment,) = (path / "segments").iterdir()
        data = bytearray(segment.read_bytes())
        for _ in range(choose.randint(1, 4)):
            place = choose.randrange(len(data))
            data[place] = choose.choice([0, 0xFF, 0x7F, data[place] ^ 1 << choose.randrange(8)])
        segment.write_bytes(data)
        _reseal(path, bytes(data))
        paths.append(path)
    assert read_all(paths, tmp_path) > 0


def _reseal(path: Path, data: bytes) -> None:
    (commit,) = (path / "commits").iterdir()
    facts = json.loads(commit.read_bytes())
    facts.pop("checksum")
    for chunk in facts["manifest"]["chunks"]:
        offset, ends = chunk[2], chunk[5]
        starts = [0, *ends[:-1]]
        chunk[6] = [
            crc32c(data[offset + a : offset + b]) for a, b in zip(starts, ends, strict=True)
        ]
    commit.write_bytes(sealed(facts))


def test_a_bomb_is_not_unpacked(tmp_path: Path) -> None:
    """A chunk that is said to be of any size gets no more memory than its bytes can fill."""
    paths = []
    for number, compression in enumerate(["GZIP", "SNAPPY"]):
        for size in (2**33, 2**62, 2**70):
            path = saved(tmp_path / f"{number}-{size}", compression)
            (commit,) = (path / "commits").iterdir()
            facts = json.loads(commit.read_bytes())
            facts.pop("checksum")
            facts["manifest"]["chunks"][0][4] = size
            commit.write_bytes(sealed(facts))
            paths.append(path)
    assert read_all(paths, tmp_path) >= len(paths)


def test_no_file_is_unpickled_or_executed() -> None:
    source = Path(ks.__file__).parent
    for folder in ("format", "codecs", "storage", "snapshot"):
        for file in (source / folder).rglob("*.py"):
            text = file.read_text()
            for word in ("pickle.load", "import pickle", "eval(", "exec(", "import_module"):
                assert word not in text, f"{file.name} has {word}"
