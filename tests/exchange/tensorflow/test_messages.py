"""Messages are built and changed as those of TensorFlow's protocol buffers."""

from __future__ import annotations

import copy
import pickle

import pytest

from keepset.exchange.tensorflow.example import Example, Feature, FeatureList, SequenceExample
from keepset.exchange.tensorflow.value_lists import BytesList, FloatList, Int64List


def filled() -> SequenceExample:
    message = SequenceExample()
    message.context.feature["label"].int64_list.value.append(3)
    step = message.feature_lists.feature_list["words"].feature.add()
    step.bytes_list.value.extend([b"a", b"b"])
    message.feature_lists.feature_list["words"].feature.add(float_list=FloatList(value=[0.5]))
    return message


def test_a_message_is_filled_in_place() -> None:
    message = filled()
    words = message.feature_lists.feature_list["words"].feature
    assert [word.WhichOneof("kind") for word in words] == ["bytes_list", "float_list"]
    assert SequenceExample.FromString(message.SerializeToString()) == message
    assert pickle.loads(pickle.dumps(message)) == copy.deepcopy(message) == message


def test_messages_are_copied_and_merged() -> None:
    message, other = filled(), SequenceExample()
    other.CopyFrom(message)
    assert other == message
    other.context.feature["label"].MergeFrom(Feature(int64_list=Int64List(value=[4])))
    assert other.context.feature["label"].int64_list.value == [3, 4]
    assert message.context.feature["label"].int64_list.value == [3]
    other.feature_lists.feature_list["more"].CopyFrom(FeatureList(feature=[Feature()]))
    message.MergeFrom(other)
    assert sorted(message.feature_lists.feature_list) == ["more", "words"]
    message.Clear()
    assert message == SequenceExample()


def test_what_is_there_can_be_asked() -> None:
    message = SequenceExample()
    assert not message.HasField("context")
    assert filled().HasField("context")
    with pytest.raises(ValueError, match="has no 'none' field"):
        message.HasField("none")
    with pytest.raises(ValueError, match="has no 'none' field"):
        Feature().HasField("none")


def test_lists_look_at_what_they_are_given() -> None:
    with pytest.raises(TypeError, match="holds bytes, not str"):
        BytesList().value.append("a")
    with pytest.raises(TypeError, match=r"holds whole numbers, not 1\.5"):
        Int64List().value.extend([1, 1.5])
    with pytest.raises(TypeError, match="holds numbers, not 'a'"):
        FloatList(value=[0]).value[0] = "a"
    with pytest.raises(TypeError, match="holds features, not int"):
        FeatureList().feature.append(1)


def test_the_text_of_a_message() -> None:
    assert str(Example()) == ""
    example = Example()
    example.features.feature["a"].float_list.value.extend([0.1, 2, 1e10])
    assert " ".join(str(example).split()) == (
        'features { feature { key: "a" value { '
        "float_list { value: 0.1 value: 2 value: 1e+10 } } } }"
    )
    assert str(BytesList(value=[b"\n'\"\\\x00\xff"])) == 'value: "\\n\\\'\\"\\\\\\000\\377"\n'
