"""The dtype ``keepset.text``: ``str`` leaves, through stages, next to ``bytes``."""

import copy
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keepset as ks
import keepset.tf as tf
from keepset.core.dtypes import as_dtype, dtype_of, join_arrays, text_array
from keepset.core.element_json import element_from_json, element_to_json
from keepset.core.spec import common_supertype, spec_from_json, spec_of, spec_to_json
from keepset.snapshot.identity.pipeline_identity import identify
from keepset.testing import assert_elements_equal

WORDS = ["a", "", "zä", "\x00", "日本語", "🎉"]
WORD = ks.TensorSpec((), ks.text)
LIST = ks.TensorSpec((None,), ks.text)


def words() -> ks.Dataset:
    return ks.Dataset.from_generator(lambda: iter(WORDS), output_signature=WORD)


def lists() -> ks.Dataset:
    def rows() -> Iterator[list[str]]:
        yield from ([word] * len(word) for word in WORDS)

    return ks.Dataset.from_generator(rows, output_signature=LIST)


def test_there_is_one_and_it_is_not_string() -> None:
    assert as_dtype("text") is ks.text is as_dtype(ks.text)
    assert as_dtype(str) is as_dtype("str") is as_dtype("string") is ks.string
    assert ks.text != ks.string
    assert repr(ks.text) == "keepset.text"
    assert pickle.loads(pickle.dumps((ks.text, ks.string))) == (ks.text, ks.string)
    assert copy.deepcopy(ks.text) is ks.text


def test_specs_of_text_are_their_own() -> None:
    assert spec_of("a") == WORD != ks.TensorSpec((), ks.string)
    assert spec_from_json(spec_to_json({"x": WORD, "y": LIST})) == {"x": WORD, "y": LIST}
    assert WORD.is_compatible_with("ä")
    assert not WORD.is_compatible_with(b"a")
    assert not ks.TensorSpec((), ks.string).is_compatible_with("a")
    with pytest.raises(ks.ElementError, match=r"text is str in one and bytes in the other"):
        common_supertype([WORD, ks.TensorSpec((), ks.string)])


def test_an_array_without_items_is_still_one_of_text() -> None:
    array = text_array(["a", "b"])
    for empty in (
        array[:0],
        array[array == "c"],
        array.take([], 0).reshape(0, 3),
        array.copy()[:0],
    ):
        assert dtype_of(empty) is ks.text
        assert dtype_of(pickle.loads(pickle.dumps(empty))) is ks.text
    assert dtype_of(join_arrays([array[:0], array[:0]])) is ks.text
    assert dtype_of(np.empty(0, object)) is ks.string


def test_what_functions_return_is_bytes_unless_text_is_promised() -> None:
    assert list(words().map(lambda word: word)) == [word.encode() for word in WORDS]
    assert next(iter(words().map(lambda word: word + "!", output_signature=WORD))) == "a!"
    rows = list(lists().map(lambda row: row))
    assert rows[0].tolist() == [b"a"]
    # Also where there are no items that say so.
    assert {spec_of(row).dtype for row in rows} == {ks.string}
    ragged = lists().ragged_batch(2).map(lambda row: row)
    assert next(iter(ragged)).to_list() == [[b"a"], []]


def test_bytes_become_text_where_that_is_promised() -> None:
    ds = ks.Dataset.from_tensor_slices(["ä", "b"])
    assert list(ds.map(lambda x: x, output_signature=WORD)) == ["ä", "b"]
    row = next(iter(ds.batch(2).map(lambda x: x, output_signature=LIST)))
    assert row.tolist() == ["ä", "b"]


@pytest.mark.parametrize("value", [b"\xff", "\ud800", [b"a", b"\xff"]], ids=repr)
def test_what_is_no_utf8_cannot_be_text(value: Any) -> None:
    spec = LIST if isinstance(value, list) else WORD
    with pytest.raises(ks.ElementError, match="no text in UTF-8"):
        list(ks.Dataset.range(1).map(lambda i: value, output_signature=spec))
    with pytest.raises(ks.ElementError, match="no text in UTF-8"):
        list(ks.Dataset.from_generator(lambda: iter([value]), output_signature=spec))


def test_numbers_are_no_text() -> None:
    with pytest.raises(ks.ElementError, match="int64"):
        list(ks.Dataset.range(1).map(lambda i: i, output_signature=WORD))


STAGES: dict[str, Callable[[ks.Dataset], ks.Dataset]] = {
    "take": lambda ds: ds.skip(1).take(4),
    "shuffle": lambda ds: ds.shuffle(3, seed=1),
    "repeat": lambda ds: ds.repeat(2),
    "batch": lambda ds: ds.batch(4),
    "unbatch": lambda ds: ds.batch(4).unbatch(),
    "rebatch": lambda ds: ds.batch(4).rebatch(3),
    "zip": lambda ds: ks.Dataset.zip((ds, ds)),
    "concatenate": lambda ds: ds.concatenate(ds),
    "enumerate": lambda ds: ds.enumerate(),
    "prefetch": lambda ds: ds.prefetch(2),
    "cache": lambda ds: ds.cache(),
    "window": lambda ds: ds.window(2).flat_map(lambda window: window),
    "interleave": lambda ds: ks.Dataset.range(2).interleave(lambda i: ds, cycle_length=2),
    "shard": lambda ds: ds.shard(2, 1),
    "padded_batch": lambda ds: ds.padded_batch(2),
    "unique": lambda ds: ds.repeat(2).unique(),
    "filter": lambda ds: ds.filter(lambda word: len(word) > 0),
    "bucket": lambda ds: ds.bucket_by_sequence_length(lambda word: 1, [2], [2, 2]),
}


def leaves_of(element: Any) -> Iterator[str]:
    for leaf in element if isinstance(element, tuple) else [element]:
        yield from leaf.ravel().tolist() if isinstance(leaf, np.ndarray) else [leaf]


@pytest.mark.parametrize("name", STAGES)
def test_stages_pass_text_on(name: str) -> None:
    ds = STAGES[name](words())
    elements = list(ds)
    kinds = {type(leaf) for element in elements for leaf in leaves_of(element)}
    assert kinds - {int, np.int64} == {str}
    # And what a stage does with them is what it does with bytes.
    in_bytes = STAGES[name](ks.Dataset.from_tensor_slices(WORDS))
    expected = [[x.decode() if isinstance(x, bytes) else x for x in leaves_of(e)] for e in in_bytes]
    assert [list(leaves_of(element)) for element in elements] == expected
    assert repr(ds.element_spec).replace("text", "string") == repr(in_bytes.element_spec)


@pytest.mark.parametrize(
    "join",
    [
        lambda ds: ds.ragged_batch(3),
        lambda ds: ds.padded_batch(3),
        lambda ds: ds.padded_batch(3, padding_values="-"),
        lambda ds: ds.ragged_batch(3).unbatch(),
        lambda ds: ds.ragged_batch(2).ragged_batch(2),
        lambda ds: ds.unique(),
        lambda ds: ds.shuffle(10, seed=3),
    ],
)
def test_lists_of_text(join: Callable[[ks.Dataset], ks.Dataset]) -> None:
    ds = join(lists())
    assert all(spec_of(element).dtype is ks.text for element in ds)
    assert ds.element_spec.dtype is ks.text


def test_padding_of_text_is_text() -> None:
    [batch] = lists().take(3).padded_batch(3)
    assert batch.tolist() == [["a", ""], ["", ""], ["zä", "zä"]]


def test_str_and_bytes_are_not_mixed() -> None:
    in_bytes = ks.Dataset.from_tensor_slices(WORDS)
    with pytest.raises(ks.ElementError, match="no common type"):
        words().concatenate(in_bytes)
    mixed = ks.Dataset.range(2).interleave(lambda i: [words(), in_bytes][int(i)], cycle_length=2)
    with pytest.raises(ks.ElementError, match=r"dtype=string.*dtype=text"):
        list(mixed.batch(4))
    with pytest.raises(ks.ElementError, match="str in one and bytes in the other"):
        list(
            mixed.map(lambda x: x, output_signature=ks.TensorSpec((), "string")).zip(words())
            and mixed.shuffle(8, seed=1).batch(8)
        )


@pytest.mark.parametrize("element", ["ä\x00", text_array(["a", "ä"]), text_array([]).reshape(0, 2)])
def test_states_carry_text(element: Any) -> None:
    assert_elements_equal([element_from_json(element_to_json(element))], [element])


def test_equality_tells_text_from_bytes() -> None:
    with pytest.raises(AssertionError, match="types are str and bytes"):
        assert_elements_equal(["a"], [b"a"])
    with pytest.raises(AssertionError, match="dtypes are text and string"):
        assert_elements_equal([text_array(["a"])], [np.array([b"a"], object)])
    with pytest.raises(AssertionError, match="texts differ"):
        assert_elements_equal(["a"], ["b"])


def test_a_pass_over_text_goes_on_where_it_was() -> None:
    ds = words().shuffle(3, seed=1, reshuffle_each_iteration=False).batch(2)
    it = ds.iterate()
    first = next(it)
    assert_elements_equal([first, *ds.iterate(it.state())], list(ds))


def test_the_promise_of_text_counts_for_the_fingerprint_and_is_in_recipes() -> None:
    in_bytes = ks.Dataset.range(3).map(str, output_signature=ks.TensorSpec((), ks.string))
    as_text = ks.Dataset.range(3).map(str, output_signature=WORD)
    assert identify(in_bytes._node).fingerprint != identify(as_text._node).fingerprint
    padded = lists().padded_batch(3, padding_values="-")
    for ds in (as_text, padded):
        for written in (ds.to_recipe().to_yaml(), ds.to_recipe().to_json()):
            again = ks.from_recipe(ks.Recipe.parse(written), trust=True, on_change="error")
            assert_elements_equal(list(ds), list(again))
            assert again.element_spec == ds.element_spec


def test_tensors_of_keepset_tf_are_bytes(tmp_path: Path) -> None:
    words().batch(3).save(str(tmp_path / "a"))
    batches = list(tf.data.Dataset.load(str(tmp_path / "a")))
    assert [item for batch in batches for item in batch.numpy().tolist()] == [
        word.encode() for word in WORDS
    ]
    assert [tensor.numpy() for tensor in tf.data.Dataset.load(str(tmp_path / "a")).unbatch()][
        2
    ] == ("zä".encode())


def test_arrays_of_str_and_of_bytes_in_one_snapshot_are_an_error(tmp_path: Path) -> None:
    in_bytes = ks.Dataset.from_tensors(np.array([b"a", b"b"], object))
    in_str = in_bytes.map(lambda x: x, output_signature=ks.TensorSpec([2], ks.text))
    parts = [in_str, in_bytes]
    ds = ks.Dataset.range(2).flat_map(lambda i: parts[int(i)])
    with pytest.raises(ks.ElementError, match="str in one and bytes in the other"):
        ds.save(tmp_path)
