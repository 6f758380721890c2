"""What earlier versions wrote is read to the last bit: see tests/golden/README.md."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pytest
from tests.format import small_reader
from tests.golden import make

import keepset as ks
from keepset.errors import CorruptSnapshotError, PendingSnapshotError
from keepset.snapshot.looking import Snapshot
from keepset.snapshot.upkeep.checking import check_snapshot
from keepset.storage import open_store

FOLDER = Path(make.__file__).parent
DAMAGED = "snapshot_with_a_damaged_commit"
PLACES = sorted(path.with_suffix("") for path in FOLDER.glob("format_v*/s*.json"))


@pytest.mark.parametrize("path", PLACES, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_it_reads_as_it_did(path: Path) -> None:
    expected = json.loads(path.with_suffix(".json").read_text())
    assert make.expected(path) == expected
    found = Snapshot(path)
    assert check_snapshot(open_store(found.url)).is_sound
    if not expected["is_complete"]:
        with pytest.raises(PendingSnapshotError):
            ks.load(path)


def test_a_reader_made_from_the_documentation_finds_as_many_rows() -> None:
    read = 0
    for path in PLACES:
        expected = json.loads(path.with_suffix(".json").read_text())
        # It reads whole data sets, and knows no snappy.
        if expected["is_complete"] and "SNAPPY" not in expected["codecs"]:
            rows = small_reader.read(Path(Snapshot(path).url))
            assert len(rows) == len(expected["elements"]), path.name
            read += 1
    assert read > 15


def test_a_damaged_commit_is_an_error() -> None:
    path = FOLDER / "format_v1" / DAMAGED
    with pytest.raises(CorruptSnapshotError, match="checksum"):
        ks.load(path)
    (damage,) = check_snapshot(open_store(path / "golden")).damages
    assert damage.is_needed


def test_a_table_of_files_reads_as_it_did() -> None:
    path = FOLDER / "format_v1" / "files_of_two_listings"
    expected = json.loads(path.with_suffix(".json").read_text())
    assert make.expected_files(path) == expected
    # And as the documentation says, by whoever knows gzip and Arrow.
    packed = (path / "sources" / "files.arrows.gz").read_bytes()
    table = pa.ipc.open_stream(gzip.decompress(packed)).read_all()
    for column, key in (("name", "name"), ("content", "content")):
        found = [None if value is None else value.hex() for value in table[column].to_pylist()]
        assert found == [row[key] for row in expected["elements"]]


def test_every_snapshot_is_told_of() -> None:
    """And the files stay few: they are in every copy of the project."""
    made = {maker.__name__ for maker in (*make.MAKERS, make.files_of_two_listings)}
    golden = {path.name for path in PLACES}
    assert golden == {maker.__name__ for maker in make.MAKERS} - {DAMAGED}
    told = (FOLDER / "README.md").read_text()
    assert all(f"`{name}`" in told for name in made)
    files = [file for file in (FOLDER / "format_v1").rglob("*") if file.is_file()]
    assert sum(file.stat().st_size for file in files) < 300_000
