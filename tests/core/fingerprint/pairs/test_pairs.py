"""A program and its edit share what is stored exactly if their elements agree; see ``table.py``."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.core.fingerprint.pairs.table import SCRIPT, Files, Row, rows

ROWS = rows()
SAME = [row for row in ROWS if row.expected == "same"]
DIFFERS = [row for row in ROWS if row.expected == "differs"]

# Programs of these themes need a process of their own: they import modules of the user, or change
# what others use as well. Twelve of the others share one.
ALONE = {"files", "libraries", "modules", "seeds", "unseen"}
AT_A_TIME = 12

# Here more than the fingerprint makes a hit: files that moved are recognised by their content, and
# what a pass moved itself by what it was before.
FULL = {"files", "settling"}

Reply = dict[str, Any]
Run = Callable[..., list[Reply]]
Compare = Callable[[Row], tuple[Reply, Reply]]


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    """Run programs in a process of their own, after having written each to its folder."""
    servers: dict[int, subprocess.Popen[str]] = {}

    def run(
        store: Path, programs: list[tuple[Path, Files]], *passes: str, seed: int = 1
    ) -> list[Reply]:
        server = servers.get(seed) or servers.setdefault(seed, _server(seed))
        assert server.stdin is not None
        assert server.stdout is not None
        requests = [
            {"script": str(_written(*program)), "store": str(store), "passes": passes}
            for program in programs
        ]
        server.stdin.write(json.dumps(requests) + "\n")
        server.stdin.flush()
        replies: list[Reply] = json.loads(server.stdout.readline())
        return replies

    yield run
    for server in servers.values():
        server.communicate()


@pytest.fixture(scope="module")
def compare(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Compare:
    """The replies of both programs of a row, none of which finds what another one stored."""
    known: dict[Row, tuple[Reply, Reply]] = {}

    def compare(row: Row) -> tuple[Reply, Reply]:
        if row not in known:
            folder, batch = tmp_path_factory.mktemp("pairs"), _batch(row)
            before = [(folder / str(row.number) / "first", row.before) for row in batch]
            # Neither another folder nor another hash seed is an edit. Where an edit must make a
            # difference, nothing but the edit can.
            moved = row.expected == "same"
            after = [
                (folder / str(row.number) / ("second" if moved else "first"), row.after)
                for row in batch
            ]
            # What a fingerprint cannot see is said where it is relied upon.
            how = "stored" if row.expected == "warns" else "plain"
            first = run(folder / "stored first", before, how)
            second = run(folder / "stored second", after, how, seed=2 if moved else 1)
            known.update(zip(batch, zip(first, second, strict=True), strict=True))
        return known[row]

    return compare


def _batch(row: Row) -> list[Row]:
    """The rows that run together with one, itself included."""
    if _is_alone(row):
        return [row]
    moved = row.expected == "same"
    alike = [
        other
        for other in ROWS
        if not _is_alone(other) and other.theme == row.theme and (other.expected == "same") == moved
    ]
    first = alike.index(row) // AT_A_TIME * AT_A_TIME
    return alike[first : first + AT_A_TIME]


def _is_alone(row: Row) -> bool:
    return row.theme in ALONE or len(row.before | row.after) > 1


def _sample(rows: list[Row], *, full: int, others: int) -> list[Row]:
    """Every so many rows, for what takes longer than to compare fingerprints."""
    first = [row for row in rows if row.theme in FULL]
    return first[::full] + [row for row in rows if row.theme not in FULL][::others]


@pytest.mark.parametrize("row", [row for row in ROWS if row.expected != "same"], ids=str)
def test_fingerprints_differ_if_elements_do(row: Row, compare: Compare) -> None:
    first, second = map(_successful, compare(row))
    assert _elements(second) != _elements(first), "the row is wrong"
    refused = first["refused"] and second["refused"]
    if row.expected == "refused" and refused:
        return
    assert not refused, refused
    if row.expected == "warns" and all(_warns_of(row.label, each) for each in (first, second)):
        return
    assert second["fingerprint"] != first["fingerprint"], "a false hit"


@pytest.mark.parametrize("row", [row for row in SAME if row.theme not in FULL], ids=str)
def test_fingerprints_agree_if_elements_do(row: Row, compare: Compare) -> None:
    first, second = map(_successful, compare(row))
    assert second["plain"] == first["plain"], "the row is wrong"
    assert not first["refused"], first["refused"]
    assert second["fingerprint"] == first["fingerprint"], "a false miss"


@pytest.mark.parametrize("row", _sample(SAME, full=1, others=10), ids=str)
def test_the_same_elements_are_replayed(row: Row, tmp_path: Path, run: Run) -> None:
    store = tmp_path / "store"
    first = _successful(*run(store, [(tmp_path / "first", row.before)], "stored"))
    segments = _segments(store)
    programs = [(tmp_path / "second", row.after)]
    second = _successful(*run(store, programs, "stored", "plain", seed=2))
    assert second["plain"] == first["stored"], "the row is wrong"
    assert not first["warnings"]
    assert second["hit"], second["explained"]
    assert second["stored"] == first["stored"]
    assert _segments(store) == segments, "the elements were computed and stored again"


@pytest.mark.parametrize("row", _sample(DIFFERS, full=4, others=40), ids=str)
def test_other_elements_are_stored_beside_the_first(row: Row, tmp_path: Path, run: Run) -> None:
    folder, store = tmp_path / "program", tmp_path / "store"
    first = _successful(*run(store, [(folder, row.before)], "stored"))
    second = _successful(*run(store, [(folder, row.after)], "stored"))
    assert not second["hit"], second["explained"]
    assert second["stored"] != first["stored"]


def test_names_are_unique() -> None:
    names = [str(row) for row in ROWS]
    assert len(names) == len(set(names))


def _server(seed: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, Path(__file__).with_name("server.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONHASHSEED": str(seed)},
    )


def _elements(reply: Reply) -> Any:
    return reply.get("plain") or reply["stored"]


def _warns_of(label: str, reply: Reply) -> bool:
    """Whether a warning is the library's own and names the cause."""
    return any("cannot see" in text and f"ignore=[{label!r}]" in text for text in reply["warnings"])


def _successful(reply: Reply) -> Reply:
    if "error" in reply:
        pytest.fail(reply["error"], pytrace=False)
    return reply


def _written(folder: Path, files: Files) -> Path:
    if folder.exists():
        shutil.rmtree(folder)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        # Neither the time nor, in most rows, the size tells the programs apart.
        os.utime(path, (1_600_000_000, 1_600_000_000))
    return folder / SCRIPT


def _segments(store: Path) -> set[Path]:
    return set(store.rglob("*.arrow"))
