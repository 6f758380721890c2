"""Text in snapshots: the first pass and every replay give the same ``str``."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.format.small_reader import read

import keepset as ks
from keepset.format.encodings.strings import Strings, Texts
from keepset.testing import assert_elements_equal

CODECS = [None, "AUTO", "LZ4", "ZSTD", "GZIP", "SNAPPY"]
WORDS = ["a", "", "zä", "\x00", "日本語", "🎉" * 40]
SPEC = {
    "word": ks.TensorSpec((), ks.text),
    "list": ks.TensorSpec((None,), ks.text),
    "pair": ks.TensorSpec((2,), ks.text),
    "any": ks.TensorSpec(None, ks.text),
    "grid": ks.TensorSpec((None, None), ks.text),
    "ragged": ks.RaggedTensorSpec((None, None), ks.text),
    "sparse": ks.SparseTensorSpec((None,), ks.text),
    "raw": ks.TensorSpec((), ks.string),
}


def rows() -> Iterator[dict[str, Any]]:
    for i, word in enumerate(WORDS):
        yield {
            "word": word,
            "list": [word] * (i % 3),
            "pair": [word, "x"],
            "any": word if i % 2 else [word, word],
            "grid": [[word, "-"] for _ in range(i + 1)],
            "ragged": ks.Ragged.from_rows([[word] * n for n in range(i % 3 + 2)]),
            "sparse": ks.Sparse([[i]], [word], [9]),
            "raw": word,
        }


def elements() -> ks.Dataset:
    return ks.Dataset.from_generator(rows, output_signature=SPEC)


@pytest.fixture(params=["local", "memory"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "a") if request.param == "local" else f"memory://{uuid4().hex}/a"


@pytest.mark.parametrize("codec", CODECS, ids=str)
def test_a_replay_gives_the_same_text(place: str, codec: str | None) -> None:
    expected = list(elements())
    assert {type(element["word"]) for element in expected} == {str}
    kept = elements().snapshot(place, compression=codec)
    assert_elements_equal(list(kept), expected)
    assert_elements_equal(list(kept), expected)
    assert kept.element_spec == SPEC
    some = [{"word": element["word"], "list": element["list"]} for element in expected]
    assert_elements_equal(list(kept.select(["word", "list"])), some)


@pytest.mark.parametrize("codec", CODECS, ids=str)
def test_save_and_load(place: str, codec: str | None) -> None:
    elements().save(place, compression=codec)
    loaded = ks.Dataset.load(place)
    assert loaded.element_spec == SPEC
    expected = list(elements())
    assert_elements_equal(list(loaded), expected)
    # By position, before and after the places in the file are known.
    for _ in range(2):
        assert_elements_equal(
            [loaded[i] for i in (3, 0, 5, 3)], [expected[i] for i in (3, 0, 5, 3)]
        )
        shuffled = sorted(loaded.shuffle(ks.GLOBAL, seed=1), key=lambda element: element["word"])
        assert_elements_equal(shuffled, sorted(expected, key=lambda element: element["word"]))
    it = loaded.iterate()
    begun = [next(it), next(it)]
    assert_elements_equal([*begun, *loaded.iterate(it.state())], list(elements()))


def test_a_pass_that_was_interrupted_is_resumed(place: str) -> None:
    words = ks.Dataset.range(2000).map(
        lambda i: f"wörd {i}", output_signature=ks.TensorSpec((), ks.text)
    )
    expected = list(words)
    kept = words.snapshot(place)
    it = kept.iterate()
    begun = [next(it) for _ in range(1500)]
    state = it.state()
    it.close()
    assert [*begun, *kept.iterate(state)] == expected
    assert list(words.snapshot(place)) == list(words.snapshot(place)) == expected


def test_a_cache_gives_the_same_text(tmp_path: Path) -> None:
    expected = list(elements())
    for cached in (elements().cache(), elements().cache(str(tmp_path / "cache"))):
        assert_elements_equal(list(cached), expected)
        assert_elements_equal(list(cached), expected)


def test_other_readers_of_arrow_see_text(tmp_path: Path) -> None:
    ds = elements().map(
        lambda row: {"word": row["word"], "raw": row["word"]},
        output_signature={"word": SPEC["word"], "raw": SPEC["raw"]},
    )
    ds.save(str(tmp_path / "a"), compression="ZSTD")
    assert read(tmp_path / "a") == [{"raw": word.encode(), "word": word} for word in WORDS]


@pytest.mark.parametrize("codec", CODECS, ids=str)
def test_plain_columns_are_read_by_position(place: str, codec: str | None) -> None:
    names = ks.Dataset.range(50).map(
        lambda i: {"i": i, "word": WORDS[i % len(WORDS)]},
        output_signature={"i": ks.TensorSpec((), "int64"), "word": SPEC["word"]},
    )
    names.save(place, compression=codec)
    loaded, expected = ks.Dataset.load(place), list(names)
    for _ in range(2):
        assert_elements_equal([loaded[i] for i in range(50)], expected)
        shuffled = sorted(loaded.shuffle(ks.GLOBAL, seed=1), key=lambda element: element["i"])
        assert_elements_equal(shuffled, expected)


@pytest.mark.filterwarnings("ignore:.* is a complete snapshot of no elements")
@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=5), max_size=20))
def test_any_text_comes_back(words: list[str]) -> None:
    ds = ks.Dataset.from_generator(lambda: iter(words), output_signature=ks.TensorSpec((), ks.text))
    place = f"memory://{uuid4().hex}/a"
    kept = ds.snapshot(place)
    assert list(kept) == list(kept) == words
    lists = ds.batch(3).snapshot(place)
    assert [batch.tolist() for batch in lists] == [batch.tolist() for batch in lists]
    assert [word for batch in lists for word in batch.tolist()] == words


@pytest.mark.parametrize("wide", [False, True])
def test_bytes_that_are_no_utf8_are_never_text(wide: bool) -> None:
    for damaged in (b"\xff", b"ok\xc3", b"\xed\xa0\x80", b"\x80abc"):
        stored = Strings(wide).encode([b"fine", damaged])
        as_text = pa.Array.from_buffers(Texts(wide).type, 2, stored.buffers())
        with pytest.raises(ValueError, match="a text is not in UTF-8") as caught:
            Texts(wide).decode(as_text)
        assert not isinstance(caught.value, UnicodeError)


def test_a_damaged_text_is_a_damaged_snapshot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "a")
    words = ks.Dataset.from_generator(lambda: iter(WORDS), output_signature=SPEC["word"])
    # A writer with an error, whose checksums are right.
    monkeypatch.setattr(Texts, "bytes_of", lambda self, strings: [b"\xff" for _ in strings])
    words.save(path)
    monkeypatch.undo()
    with pytest.raises(ks.CorruptSnapshotError, match="a text is not in UTF-8"):
        list(ks.Dataset.load(path))
    with pytest.raises(ks.CorruptSnapshotError, match="a text is not in UTF-8"):
        ks.Dataset.load(path)[0]
