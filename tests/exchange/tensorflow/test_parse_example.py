"""Examples to elements: all at once or one by one, the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import keepset as ks
from keepset.core.dtypes import as_dtype
from keepset.exchange.tensorflow import example_columns
from keepset.exchange.tensorflow.example import (
    Example,
    Feature,
    FeatureList,
    FeatureLists,
    Features,
    SequenceExample,
)
from keepset.exchange.tensorflow.value_lists import BytesList, FloatList, Int64List, integers_of
from keepset.exchange.tensorflow.wire import BYTES, bytes_field, fields, number_field
from keepset.testing.contract import check_dataset

INT64, FLOAT32 = as_dtype("int64"), as_dtype("float32")
KEYS = ["a", "bb", "key", "a longer key than the others" * 5]

integers = st.lists(st.integers(-(1 << 63), (1 << 63) - 1), max_size=5)
floats = st.lists(st.floats(width=32, allow_nan=False), max_size=5)
texts = st.lists(st.binary(max_size=200), max_size=4)
features = st.one_of(
    st.just(Feature()),
    integers.map(lambda v: Feature(int64_list=Int64List(v))),
    floats.map(lambda v: Feature(float_list=FloatList(v))),
    texts.map(lambda v: Feature(bytes_list=BytesList(v))),
)


def examples_of(kinds: dict[str, st.SearchStrategy[Feature]]) -> st.SearchStrategy[bytes]:
    """Examples whose keys are of one kind each, in any order, some of them missing."""
    entries = [
        st.tuples(st.just(key), st.one_of(st.just(Feature()), kind)) for key, kind in kinds.items()
    ]
    chosen = st.tuples(*(st.one_of(st.none(), entry) for entry in entries))
    ordered = chosen.flatmap(lambda pairs: st.permutations([p for p in pairs if p is not None]))
    return st.tuples(ordered, st.booleans()).map(lambda both: serialized(*both))


def serialized(pairs: list[tuple[str, Feature]], unusual: bool) -> bytes:
    """An Example with its entries in this order, perhaps written as nobody does."""
    entries = b""
    for key, feature in pairs:
        value = feature.SerializeToString()
        body = bytes_field(1, key.encode()) + bytes_field(2, _unpacked(value) if unusual else value)
        entries += bytes_field(1, body)
    extra = number_field(9, 5) if unusual else b""
    return bytes_field(1, entries + extra) + extra


def _unpacked(feature: bytes) -> bytes:
    out = b""
    for number, _, payload in fields(feature):
        made = b""
        for _, kind, packed in fields(payload):
            if number == 3 and kind == BYTES:
                numbers = integers_of(bytes_field(1, packed))
                made += b"".join(number_field(1, int(n)) for n in numbers)
            elif number == 2 and kind == BYTES:
                parts = [packed[i : i + 4] for i in range(0, len(packed), 4)]
                made += b"".join(b"\x0d" + part for part in parts)
            else:
                made += bytes_field(1, packed)
        out += bytes_field(number, made)
    return out


KINDS = {
    "a": integers.map(lambda v: Feature(int64_list=Int64List(v))),
    "bb": floats.map(lambda v: Feature(float_list=FloatList(v))),
    "key": texts.map(lambda v: Feature(bytes_list=BytesList(v))),
    KEYS[3]: integers.map(lambda v: Feature(int64_list=Int64List(v))),
}
WANTED = {"a": INT64, "bb": FLOAT32, "key": ks.string, KEYS[3]: INT64}


@settings(max_examples=200, deadline=None)
@given(st.lists(examples_of(KINDS), min_size=4, max_size=20))
def test_many_are_read_as_one_by_one(examples: list[bytes]) -> None:
    together = example_columns.lists_of(examples, WANTED)
    for row, example in enumerate(examples):
        alone = example_columns.lists_of([example], WANTED)
        for key in WANTED:
            start, stop = together[key].offsets[row : row + 2]
            assert together[key].values[start:stop].tolist() == alone[key].values.tolist()
            assert bool(together[key].is_there[row]) == bool(alone[key].is_there[0])


@given(st.dictionaries(st.text(max_size=5), features, max_size=6))
def test_an_example_comes_back(named: dict[str, Feature]) -> None:
    example = Example(Features(named))
    data = example.SerializeToString()
    assert Example.FromString(data) == example
    assert Example.FromString(data).SerializeToString() == data


@settings(max_examples=200, deadline=None)
@given(st.lists(examples_of(KINDS), min_size=1, max_size=8), st.data())
def test_changed_bytes_are_an_error_or_read_alike(
    examples: list[bytes], draw: st.DataObject
) -> None:
    row = draw.draw(st.integers(0, len(examples) - 1))
    changed = bytearray(examples[row])
    if changed:
        changed[draw.draw(st.integers(0, len(changed) - 1))] = draw.draw(st.integers(0, 255))
    several = [*examples, *examples, bytes(changed)] * 2

    def outcome(given: list[bytes]) -> Any:
        try:
            found = example_columns.lists_of(given, WANTED)
        except ks.ElementError:
            return "error"
        return {key: lists.values.tobytes() for key, lists in found.items() if key != "key"}

    one_by_one = [outcome([each]) for each in several]
    assert (outcome(several) == "error") == ("error" in one_by_one)


def test_a_number_of_more_than_64_bits_is_an_error_wherever_it_is() -> None:
    good, odd = (made(a=[-1] * count) for count in (1, 2))
    bad = odd.replace(b"\x01", b"\x80", 2).replace(b"\x80", b"\x01", 1)
    assert bad != odd
    for examples in ([bad], [good, odd, bad] * 5):
        with pytest.raises(ks.ElementError):
            example_columns.lists_of(examples, {"a": np.dtype(np.int64)})


def test_a_key_that_comes_twice_counts_as_its_last() -> None:
    first = Feature(int64_list=Int64List([1, 2]))
    last = Feature(int64_list=Int64List([3]))
    data = serialized([("a", first), ("a", last)], False)
    described = {"a": ks.FixedLenFeature([], "int64")}
    assert ks.parse_single_example(data, described)["a"] == 3
    assert ks.parse_example([data] * 5, described)["a"].tolist() == [3] * 5


def made(**values: Any) -> bytes:
    kinds: dict[type, tuple[str, Any]] = {
        int: ("int64_list", Int64List),
        float: ("float_list", FloatList),
        bytes: ("bytes_list", BytesList),
    }
    named = {}
    for key, items in values.items():
        name, kind = kinds[type(items[0])] if items else kinds[int]
        chosen: dict[str, Any] = {name: kind(items)}
        named[key] = Feature(**chosen)
    return Example(Features(named)).SerializeToString()


ROWS = [made(n=[i], x=[0.5 * i, 1.0], t=[b"t%d" % i], many=list(range(i))) for i in range(6)]
DESCRIBED = {
    "n": ks.FixedLenFeature([], "int64"),
    "x": ks.FixedLenFeature([2], "float32"),
    "t": ks.FixedLenFeature([1], "string"),
    "many": ks.FixedLenSequenceFeature([], "int64", allow_missing=True),
    "sparse": ks.VarLenFeature("int64"),
}


def test_a_stage_parses_chunks_and_keeps_the_contract() -> None:
    def make() -> ks.Dataset:
        return ks.Dataset.from_tensor_slices(ROWS).parse_example(DESCRIBED)

    expected = [ks.parse_single_example(row, DESCRIBED) for row in ROWS]
    check_dataset(make, expected=expected)
    assert make().element_spec["many"] == ks.TensorSpec([None], "int64")


def test_batches_are_parsed_as_batches() -> None:
    [batch] = ks.Dataset.from_tensor_slices(ROWS).batch(6).parse_example(DESCRIBED)
    assert batch["n"].tolist() == [0, 1, 2, 3, 4, 5]
    assert batch["many"].tolist() == [[*range(i)] + [0] * (5 - i) for i in range(6)]
    assert batch["sparse"].shape == (6, 0)


def test_an_example_that_does_not_fit_fails_at_its_own_element() -> None:
    rows = [*ROWS[:3], made(n=[1, 2], x=[1.0, 2.0], t=[b"t"]), *ROWS[3:]]
    iterator = iter(ks.Dataset.from_tensor_slices(rows).parse_example(DESCRIBED))
    assert [int(next(iterator)["n"]) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ks.ElementError, match="'n' of Example 0 has 2 values") as caught:
        next(iterator)
    assert any("at element 3" in note for note in caught.value.__notes__)
    sound = ks.Dataset.from_tensor_slices(rows).parse_example(DESCRIBED).ignore_errors()
    assert [int(each["n"]) for each in sound] == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("described", "match"),
    [
        ({"n": ks.FixedLenFeature([], "float32")}, "holds int64, and float32 is wanted"),
        ({"absent": ks.FixedLenFeature([], "int64")}, "required but could not be found"),
        ({"n": ks.FixedLenFeature([3], "int64")}, "takes 3"),
        ({"x": ks.FixedLenSequenceFeature([3], "float32", allow_missing=True)}, "no whole number"),
    ],
)
def test_what_is_not_as_described_says_so(described: Any, match: str) -> None:
    with pytest.raises(ks.ElementError, match=match):
        ks.parse_single_example(ROWS[1], described)
    with pytest.raises(ks.ElementError, match=match):
        ks.parse_example(ROWS, described)


def test_descriptions_are_checked_when_they_are_made() -> None:
    with pytest.raises(ks.InvalidArgumentError, match="float32, int64, string, not int32"):
        ks.FixedLenFeature([], "int32")
    with pytest.raises(ks.InvalidArgumentError, match="whole shape"):
        ks.FixedLenFeature([2], "int64", default_value=7)
    with pytest.raises(ks.InvalidArgumentError, match="whole shape"):
        ks.FixedLenFeature([None], "int64")
    with pytest.raises(ks.InvalidArgumentError, match="must be a dict"):
        ks.Dataset.range(3).parse_example([])  # type: ignore[arg-type]
    with pytest.raises(ks.InvalidArgumentError, match="allow_missing=True"):
        ks.parse_single_example(ROWS[0], {"n": ks.FixedLenSequenceFeature([], "int64")})


def test_defaults_take_the_place_of_what_is_missing() -> None:
    described = {"absent": ks.FixedLenFeature([2], "string", default_value=["a", b"b"])}
    assert ks.parse_single_example(ROWS[0], described)["absent"].tolist() == [b"a", b"b"]
    mixed = [made(n=[1]), made(m=[2]), made(n=[3])] * 3
    batch = ks.parse_example(mixed, {"n": ks.FixedLenFeature([], "int64", default_value=-1)})
    assert batch["n"].tolist() == [1, -1, 3] * 3


def test_ragged_features_take_their_rows_from_others() -> None:
    row = made(
        v=[1, 2, 3, 4], l=[1, 0, 3], s=[0, 1, 1, 4], b=[0, 1, 1], e=[1, 1, 4], r=[0, 2, 2, 2]
    )
    wanted = [[1], [], [2, 3, 4]]
    ragged = ks.RaggedFeature
    for partition in (
        ragged.RowLengths("l"),
        ragged.RowSplits("s"),
        ragged.RowStarts("b"),
        ragged.RowLimits("e"),
        ragged.ValueRowIds("r"),
    ):
        described = {"out": ks.RaggedFeature("int64", "v", [partition])}
        assert ks.parse_single_example(row, described)["out"].to_list() == wanted
        [batch] = ks.Dataset.from_tensor_slices([row] * 2).batch(2).parse_example(described)
        assert batch["out"].to_list() == [wanted, wanted]
    uniform = {"out": ks.RaggedFeature("int64", "v", [ragged.UniformRowLength(2)])}
    # Rows of one length are a dimension like any other.
    assert ks.parse_single_example(row, uniform)["out"].tolist() == [[1, 2], [3, 4]]
    [batch] = ks.Dataset.from_tensor_slices([row] * 2).batch(2).parse_example(uniform)
    assert batch["out"].shape == (2, None, 2)
    parsed = ks.Dataset.from_tensor_slices([row]).parse_example(uniform)
    assert parsed.element_spec["out"] == ks.TensorSpec([None, 2], "int64")
    both = [ragged.RowLengths("t"), ragged.UniformRowLength(2)]
    nested = {"out": ks.RaggedFeature("int64", "v", both)}
    found = ks.parse_single_example(made(v=[1, 2, 3, 4], t=[2, 0]), nested)["out"]
    assert found.shape == (2, None, 2)
    with pytest.raises(ks.ElementError, match="does not fit together"):
        ks.parse_single_example(
            row, {"out": ks.RaggedFeature("int64", "v", [ragged.RowLengths("s")])}
        )


def test_sparse_features_are_sorted_by_their_places() -> None:
    row = made(i=[3, 0], j=[1, 1], v=[7.0, 8.0])
    described = {"out": ks.SparseFeature(["i", "j"], "v", "float32", [4, 2])}
    found = ks.parse_single_example(row, described)["out"]
    assert found.indices.tolist() == [[0, 1], [3, 1]]
    assert found.values.tolist() == [8.0, 7.0]


def test_sequences_have_a_feature_for_each_step() -> None:
    steps = [Feature(int64_list=Int64List([n, n])) for n in range(3)]
    texts_ = [Feature(bytes_list=BytesList([b"x"] * n)) for n in range(3)]
    one = SequenceExample(
        Features({"n": Feature(int64_list=Int64List([5]))}),
        FeatureLists({"pairs": FeatureList(steps), "words": FeatureList(texts_)}),
    )
    context, sequences = ks.parse_single_sequence_example(
        one.SerializeToString(),
        {"n": ks.FixedLenFeature([], "int64")},
        {
            "pairs": ks.FixedLenSequenceFeature([2], "int64"),
            "words": ks.VarLenFeature("string"),
            "absent": ks.FixedLenSequenceFeature([], "int64", allow_missing=True),
        },
    )
    assert context["n"] == 5
    assert sequences["pairs"].tolist() == [[0, 0], [1, 1], [2, 2]]
    assert sequences["words"].shape == (3, 2)
    assert sequences["absent"].shape == (0,)
    ragged = ks.parse_single_sequence_example(
        one.SerializeToString(), sequence_features={"words": ks.RaggedFeature("string")}
    )[1]["words"]
    assert ragged.to_list() == [[], [b"x"], [b"x", b"x"]]
    with pytest.raises(ks.ElementError, match="required but could not be found"):
        ks.parse_single_sequence_example(
            one.SerializeToString(),
            sequence_features={"absent": ks.FixedLenSequenceFeature([], "int64")},
        )


def test_messages_check_what_they_are_given() -> None:
    with pytest.raises(TypeError, match="holds bytes, not str"):
        BytesList(["text"])
    with pytest.raises(TypeError, match="whole numbers"):
        Int64List([1.5])
    with pytest.raises(TypeError, match="must be a FloatList"):
        Feature(float_list=Int64List([1]))  # type: ignore[arg-type]
    with pytest.raises(ks.ElementError, match="no Example"):
        Example.FromString(b"\xff\xff")
    filled = Example()
    filled.features.feature["a"].int64_list.value.append(3)
    assert filled.features.feature["a"].WhichOneof("kind") == "int64_list"
    assert Example.FromString(filled.SerializeToString()) == filled
    assert "int64_list {" in repr(filled)


def test_tensors_are_serialised_alone_too() -> None:
    array = np.arange(6, dtype=np.int16).reshape(2, 3)
    data = ks.serialize_tensor(array)
    np.testing.assert_array_equal(ks.parse_tensor(data, "int16"), array)
    with pytest.raises(ks.ElementError, match="of int16, not of int32"):
        ks.parse_tensor(data, "int32")
    with pytest.raises(ks.ElementError, match="no tensor"):
        ks.parse_tensor(b"\x08")
