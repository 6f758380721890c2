"""verify --repair where memory, open files or a disk fail: that is never taken for damage."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.cli.commands import keepset

import keepset as ks
from keepset.codecs import CODECS
from keepset.core.chunk import Chunk
from keepset.format import commit, log, segment
from keepset.format.layout import Layout
from keepset.snapshot.upkeep import checking
from keepset.snapshot.upkeep.checking import check_snapshot
from keepset.storage import open_store

COUNT = 40


def os_error(number: int) -> Callable[[], OSError]:
    return lambda: OSError(number, os.strerror(number))


NO_MEMORY: dict[str, Callable[[], Exception]] = {
    "MemoryError": MemoryError,
    "ArrowMemoryError": lambda: pa.ArrowMemoryError("malloc of size 30000000 failed"),
    "realloc": lambda: pa.ArrowException("realloc of size 30000000 failed"),
    "zstd": lambda: OSError("ZSTD decompression failed: Allocation error : not enough memory"),
    "ENOMEM": os_error(errno.ENOMEM),
}
ERRORS: dict[str, Callable[[], Exception]] = {
    **NO_MEMORY,
    **{errno.errorcode[n]: os_error(n) for n in (errno.EIO, errno.EMFILE, errno.EINTR)},
    **{errno.errorcode[n]: os_error(n) for n in (errno.ESTALE, errno.ENFILE, errno.ETIMEDOUT)},
}
READS = [(os, "open"), (os, "pread"), (os, "stat"), (os, "fstat"), (os, "listdir")]
DECODES = [
    (segment, "read_batch"),
    (segment, "crc32c"),
    (checking, "crc32c"),
    (checking, "readers_of"),
    (Layout, "decode"),
    (Chunk, "from_columns"),
    (commit, "_is_sealed"),
    (log, "parse_commit"),
    (log, "manifest_from_json"),
]
# A shortage is told from damage by what a library says, which only decoders say in other ways.
AT_READS = [name for name in ERRORS if name.isupper() or name == "MemoryError"]
AT_DECODES = list(NO_MEMORY)


class FailingCall:
    """A function that fails once, the ``nth`` time that it is called."""

    def __init__(self, function: Any, nth: int, error: Callable[[], Exception]) -> None:
        self._function, self._nth, self._error = function, nth, error
        self.calls = 0

    def __get__(self, instance: Any, owner: type) -> Any:
        return self if instance is None else partial(self, instance)

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        self.calls += 1
        if self.calls == self._nth:
            raise self._error()
        return self._function(*arguments, **options)


def saved(path: Path, compression: str | None = "LZ4") -> None:
    ds = ks.Dataset.range(COUNT).map(lambda i: {"x": np.full(50, i), "i": i})
    ds.save(path, compression, chunk_bytes=4000, segment_bytes=9000)


def ids(path: Path) -> list[int]:
    return [int(element["i"]) for element in ks.load(path)]


def files_at(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*.*")}


def nothing_is_called_damaged(
    monkeypatch: pytest.MonkeyPatch, path: Path, owner: Any, name: str, error: Any
) -> None:
    """Let each call of a function fail once while ``verify --repair`` runs."""
    before = files_at(path)
    for nth in count(1):
        failing = FailingCall(getattr(owner, name), nth, error)
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, failing)
            result = keepset("verify", path, "--repair")
        assert files_at(path) == before
        assert "damaged" not in result.output
        assert "dropped" not in result.output
        if failing.calls < nth:
            assert nth > 1, "it is never called"
            assert result.exit_code == 0, result.output
            return
        # What is asked once more, as the names of commits, may succeed then.
        assert result.exit_code in (0, 3), result.output
        if owner is not os:
            assert result.exit_code == 3, result.output
            assert result.output.startswith("error: memory ran out while ")


@pytest.mark.parametrize("error", AT_READS)
@pytest.mark.parametrize(("owner", "name"), READS, ids=[name for _, name in READS])
def test_a_read_that_fails_is_no_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, error: str
) -> None:
    saved(tmp_path / "kept")
    nothing_is_called_damaged(monkeypatch, tmp_path / "kept", owner, name, ERRORS[error])
    assert ids(tmp_path / "kept") == list(range(COUNT))


@pytest.mark.parametrize("error", AT_DECODES)
@pytest.mark.parametrize(("owner", "name"), DECODES, ids=[name for _, name in DECODES])
def test_a_lack_of_memory_while_decoding_is_no_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, error: str
) -> None:
    saved(tmp_path / "kept")
    nothing_is_called_damaged(monkeypatch, tmp_path / "kept", owner, name, ERRORS[error])
    assert ids(tmp_path / "kept") == list(range(COUNT))


@pytest.mark.parametrize("error", ["ArrowMemoryError", "EIO", "EMFILE"])
def test_beside_a_shortage_only_what_is_damaged_is_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: str
) -> None:
    owner, name = (segment, "read_batch") if error == "ArrowMemoryError" else (os, "pread")
    for nth in count(1):
        path = tmp_path / str(nth)
        saved(path)
        chunk = check_snapshot(open_store(path)).manifest.chunks[2]
        file = path / check_snapshot(open_store(path)).manifest.segments[chunk.segment].entry.name
        data = bytearray(file.read_bytes())
        data[chunk.entry.offset + 20] ^= 1
        file.write_bytes(data)
        failing = FailingCall(getattr(owner, name), nth, ERRORS[error])
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, failing)
            result = keepset("verify", path, "--repair")
        if failing.calls < nth:
            assert result.exit_code == 0
            assert nth > 4
            return
        assert result.exit_code == 3
        assert keepset("verify", path, "--repair").exit_code == 0
        assert len(ids(path)) == COUNT - chunk.entry.rows


def test_a_chunk_with_sound_checksums_is_not_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another version of a library may decode it: what was written is there."""
    saved(tmp_path / "kept")
    before = files_at(tmp_path / "kept")
    with monkeypatch.context() as patch:
        failing = FailingCall(
            vars(segment)["read_batch"], 2, lambda: ValueError("no such encoding")
        )
        patch.setattr(segment, "read_batch", failing)
        result = keepset("verify", tmp_path / "kept", "--repair")
    assert result.exit_code == 3
    assert "is as it was written, and cannot be decoded here (no such encoding)" in result.output
    assert files_at(tmp_path / "kept") == before


_LIMITED = """
import resource, runpy, sys
import keepset.cli.main, keepset.cli.verify, keepset.nodes.global_shuffle
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + int(sys.argv.pop(1)),) * 2)
runpy.run_module("keepset", run_name="__main__")
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="limits as Linux has them")
@pytest.mark.parametrize("compression", [name for name in CODECS if name != "NONE"])
def test_under_a_limit_of_memory_nothing_is_dropped(tmp_path: Path, compression: str) -> None:
    ds = ks.Dataset.range(6).map(lambda i: {"x": np.full(30_000_000, float(i)), "i": i})
    ds.save(tmp_path / "kept", compression)
    before = set(files_at(tmp_path / "kept"))
    command = [sys.executable, "-c", _LIMITED, str(200 << 20)]
    done = subprocess.run(
        [*command, "verify", str(tmp_path / "kept"), "--repair"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 3, done.stderr
    assert "error: memory ran out while " in done.stderr  # libdeflate may complain before
    assert "could not be had" in done.stderr
    assert "damaged" not in done.stdout + done.stderr
    assert set(files_at(tmp_path / "kept")) == before
