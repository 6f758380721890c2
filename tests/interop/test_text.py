"""Elements with ``str`` in frameworks: what each has for text, or that it has none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import keepset as ks

pytestmark = pytest.mark.interop

WORDS = ["ada", "", "zoë"]
SPEC = {"name": ks.TensorSpec((), ks.text), "tags": ks.TensorSpec((None,), ks.text)}


def people() -> ks.Dataset:
    def rows() -> Iterator[dict[str, Any]]:
        yield from ({"name": word, "tags": [word] * n} for n, word in enumerate(WORDS))

    return ks.Dataset.from_generator(rows, output_signature=SPEC)


def test_torch_has_str_and_lists_of_it(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    path = str(tmp_path / "a.parquet")
    people().write_parquet(path)
    for ds in (people(), ks.read_parquet(path)):
        rows = list(ds.to_torch(kind="iterable"))
        assert [row["name"] for row in rows] == WORDS
        assert [row["tags"] for row in rows] == [[], [""], ["zoë", "zoë"]]
    [batch] = people().ragged_batch(3).to_torch(kind="iterable")
    assert batch == {"name": WORDS, "tags": [[], [""], ["zoë", "zoë"]]}


def test_torch_has_lists_of_bytes(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    path = str(tmp_path / "a.parquet")
    people().write_parquet(path)
    ds = ks.read_parquet(path, types={"name": "string", "tags": "string"})
    assert [row["tags"] for row in ds.to_torch(kind="iterable")][1:] == [[b""], [b"zo\xc3\xab"] * 2]


def test_tensorflow_has_strings() -> None:
    tf = pytest.importorskip("tensorflow")
    for ds in (people(), people().ragged_batch(2), people().padded_batch(2)):
        found = ds.to_tf()
        assert found.element_spec["name"].dtype == tf.string
        assert found.element_spec["tags"].dtype == tf.string
    rows = list(people().to_tf())
    assert [row["name"].numpy() for row in rows] == [word.encode() for word in WORDS]
    assert rows[2]["tags"].numpy().tolist() == ["zoë".encode()] * 2
    ragged = next(iter(people().ragged_batch(3).to_tf()))["tags"]
    assert ragged.to_list() == [[], [b""], ["zoë".encode()] * 2]


def test_tensorflow_reads_what_was_saved_for_it(tmp_path: Path) -> None:
    tf = pytest.importorskip("tensorflow")
    people().save(str(tmp_path / "a"), format="tensorflow")
    rows = list(tf.data.Dataset.load(str(tmp_path / "a")))
    assert [row["name"].numpy() for row in rows] == [word.encode() for word in WORDS]


def test_jax_has_no_text() -> None:
    pytest.importorskip("jax")
    with pytest.raises(ks.ElementError, match="JAX has no strings"):
        people().to_jax()
    unknown = ks.Dataset.range(1).flat_map(lambda i: people())
    with pytest.raises(ks.ElementError, match="JAX has no strings"):
        list(unknown.to_jax())


def test_hugging_face_has_strings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    datasets = pytest.importorskip("datasets")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    for text in (True, False):
        found = people().to_hf(text=text)
        assert found.features["name"] == datasets.Value("string")
        assert found["name"][:] == WORDS
        assert found["tags"][2] == ["zoë", "zoë"]
