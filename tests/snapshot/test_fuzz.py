"""Files that somebody made: whatever is in them, reading runs no code and stays small."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keepset as ks
from keepset.core.checksum import crc32c
from keepset.errors import KeepsetError

PROGRAM = """
    import resource, sys
    import keepset as ks

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    limit = 1 << 32
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    for path in sys.argv[1:]:
        try:
            rows = list(ks.load(path))
            print("read", len(rows))
        except ks.KeepsetError as error:
            print("refused", type(error).__name__)
    print("grew", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


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


def sealed(facts: dict[str, Any]) -> bytes:
    """A commit with a checksum that fits, as an attacker would make it."""
    body = json.dumps(facts, separators=(",", ":")).encode()
    return body[:-1] + f',"checksum":"{crc32c(body):08x}"}}'.encode()


def mutated(value: Any, choose: random.Random) -> Any:
    """The same JSON with one value somewhere replaced."""
    odd: list[Any] = [
        None,
        -1,
        0,
        2**31,
        2**62,
        10**30,
        1.5,
        "",
        "x" * 50,
        [],
        {},
        True,
        "../../etc/passwd",
    ]
    if isinstance(value, dict) and value and choose.random() < 0.9:
        key = choose.choice(list(value))
        return {**value, key: mutated(value[key], choose)}
    if isinstance(value, list) and value and choose.random() < 0.9:
        place = choose.randrange(len(value))
        return [*value[:place], mutated(value[place], choose), *value[place + 1 :]]
    return choose.choice(odd)


@pytest.mark.parametrize("compression", [None, "LZ4", "ZSTD", "GZIP", "SNAPPY"])
def test_forged_commits_are_refused_or_read(tmp_path: Path, compression: str | None) -> None:
    choose = random.Random(1)
    path = saved(tmp_path, compression)
    (commit,) = (path / "commits").iterdir()
    facts = json.loads(commit.read_bytes())
    facts.pop("checksum")
    refused = 0
    for _ in range(300):
        commit.write_bytes(sealed(mutated(facts, choose)))
        try:
            list(ks.load(path))
        except KeepsetError:
            refused += 1
    assert refused > 100


@pytest.mark.parametrize("compression", [None, "LZ4", "ZSTD", "GZIP", "SNAPPY"])
def test_forged_segments_neither_crash_nor_fill_the_memory(
    tmp_path: Path, compression: str | None
) -> None:
    """The checksums fit, so that only the decoders stand between the bytes and us."""
    choose = random.Random(2)
    paths = []
    for number in range(60):
        path = saved(tmp_path / str(number), compression)
        (segment,) = (path / "segments").iterdir()
        data = bytearray(segment.read_bytes())
        for _ in range(choose.randint(1, 4)):
            place = choose.randrange(len(data))
            data[place] = choose.choice([0, 0xFF, 0x7F, data[place] ^ 1 << choose.randrange(8)])
        segment.write_bytes(data)
        _reseal(path, bytes(data))
        paths.append(str(path))
    program = textwrap.dedent(PROGRAM)
    run = subprocess.run(
        [sys.executable, "-c", program, *paths], stdout=subprocess.PIPE, text=True, timeout=100
    )
    assert run.returncode == 0
    lines = run.stdout.splitlines()
    assert len(lines) == len(paths) + 1
    grew = int(lines[-1].split()[1])
    assert grew < 200_000 * (1 if sys.platform == "linux" else 1024)


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


def test_no_file_is_unpickled_or_executed() -> None:
    source = Path(ks.__file__).parent
    for folder in ("format", "codecs", "storage", "snapshot"):
        for file in (source / folder).rglob("*.py"):
            text = file.read_text()
            for word in ("pickle.load", "import pickle", "eval(", "exec(", "import_module"):
                assert word not in text, f"{file.name} has {word}"
