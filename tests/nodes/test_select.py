"""select: some entries of dicts, read from disk alone where they can be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keepset as ks
from keepset.errors import ElementError, InvalidArgumentError
from keepset.storage import LocalStore


def rows(count: int = 50) -> ks.Dataset:
    return ks.Dataset.range(count).map(
        lambda x: {"big": np.full(1000, x, np.float64), "label": x, "name": {"text": str(x)}}
    )


def test_entries_keep_the_order_in_which_they_were_written() -> None:
    element = next(iter(rows().select("name", "label")))
    assert list(element) == ["label", "name"]
    assert element["name"] == {"text": b"0"}


def test_what_cannot_be_selected_is_an_error() -> None:
    with pytest.raises(ElementError, match="no 'labl'; there are 'x', 'y'"):
        ks.Dataset.from_tensor_slices({"x": [1], "y": [2]}).select("labl")
    with pytest.raises(ElementError, match="no 'labl'"):
        list(rows().select("labl"))
    with pytest.raises(ElementError, match="elements that are dicts"):
        ks.Dataset.range(3).select("x")
    with pytest.raises(InvalidArgumentError, match="at least one"):
        rows().select()


@pytest.mark.parametrize("compression", [None, "LZ4", "ZSTD", "GZIP", "SNAPPY"])
def test_a_loaded_data_set_gives_the_same(tmp_path: Path, compression: str | None) -> None:
    rows().save(tmp_path, compression)
    chosen = ks.load(tmp_path).select("label", "name")
    assert [int(e["label"]) for e in chosen] == list(range(50))
    assert chosen[7]["name"]["text"] == b"7"
    assert (
        chosen.element_spec
        == ks.load(tmp_path).map(lambda e: {"label": e["label"], "name": e["name"]}).element_spec
    )


def test_the_other_columns_are_neither_read_nor_checked(tmp_path: Path) -> None:
    rows().save(tmp_path)
    (segment,) = (tmp_path / "segments").iterdir()
    data = bytearray(segment.read_bytes())
    place = data.find(np.full(100, 25.0).tobytes())
    assert place > 0
    data[place] ^= 1
    segment.write_bytes(data)
    assert [int(e["label"]) for e in ks.load(tmp_path).select("label")] == list(range(50))
    with pytest.raises(ks.CorruptSnapshotError, match="column 'big'"):
        list(ks.load(tmp_path).select("big"))


def test_only_the_bytes_of_a_column_are_fetched(
    s3_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows(200).save(s3_url)
    store_type = type(ks.load(s3_url)._node.kept.store)  # type: ignore[attr-defined]
    assert store_type is not LocalStore
    fetched: list[int] = []
    for name in ("read_range", "read_ranges"):
        real = getattr(store_type, name)

        def counted(self: Any, *args: Any, real: Any = real) -> Any:
            found = real(self, *args)
            fetched.extend(map(len, found if isinstance(found, list) else [found]))
            return found

        monkeypatch.setattr(store_type, name, counted)
    assert [int(e["label"]) for e in ks.load(s3_url).select("label")] == list(range(200))
    assert 0 < sum(fetched) < 50_000  # the whole is 1.6 MB
