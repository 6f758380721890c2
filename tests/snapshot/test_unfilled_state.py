"""State that a first pass moves and its replay does not, and what else uses it."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.snapshot.test_pass_identity import kinds, program, values

import keepset as ks
from keepset.snapshot.identity.aliases import forget_aliases
from keepset.snapshot.identity.shared_state import forget_shared_state
from keepset.snapshot.identity.unfilled_state import forget_unfilled_state

VOCABULARY = """
    VOCAB = {}
    def encode(word): return VOCAB.setdefault(word, len(VOCAB))
"""
COUNTER = """
    class Counting:
        def __init__(self): self.count = 0
        def __call__(self, word):
            self.count += 1
            return self.count
    encode = Counting()
"""
GLOBAL_COUNTER = """
    COUNT = 0
    def encode(word):
        global COUNT
        COUNT += 1
        return COUNT
"""
CLOSURE = """
    def make():
        seen = []
        def encode(word):
            if word not in seen: seen.append(word)
            return seen.index(word)
        return encode
    encode = make()
"""
LAZY = """
    TABLE = None
    def encode(word):
        global TABLE
        if TABLE is None: TABLE = {"scale": 3}
        return len(word) * TABLE["scale"]
"""
FIRST_ELEMENT = """
    class Shift:
        first = None
        def __call__(self, word):
            if self.first is None: self.first = ord(word[:1])
            return ord(word[:1]) - self.first
    encode = Shift()
"""
TRAIN, VAL = ["a", "b", "c"], ["c", "d", "a"]
Run = Callable[..., tuple[list[Any], list[str]]]


@pytest.fixture
def process(tmp_path: Path) -> Run:
    """Run two pipelines over the same functions as a new process would."""

    def run(text: str, *, val: str = "snapshot", epochs: int = 1, ignore: Any = ()) -> Any:
        for forget in (forget_aliases, forget_shared_state, forget_unfilled_state):
            forget()
        user = program(text)
        first = ks.Dataset.from_tensor_slices(TRAIN).map(user.encode)
        second = ks.Dataset.from_tensor_slices(VAL).map(getattr(user, "look_up", user.encode))
        if val != "plain":
            first = first.snapshot(tmp_path / "train", ignore=ignore)
        if val == "snapshot":
            second = second.snapshot(tmp_path / "val", ignore=ignore)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = [(values(first), values(second)) for _ in range(epochs)]
        return found, [str(each.message) for each in caught]

    return run


@pytest.mark.parametrize("text", [VOCABULARY, COUNTER, GLOBAL_COUNTER, CLOSURE])
def test_a_pipeline_that_finds_a_state_unfilled_is_warned_of_and_not_stored(
    process: Run, tmp_path: Path, text: str
) -> None:
    plain, _ = process(text, val="plain")
    first, said = process(text)
    assert first == plain
    assert said == []
    stored = kinds(tmp_path / "val")
    for _ in range(2):  # nor does the next process replay it in silence
        _, said = process(text)
        assert len(said) == 1
        assert "its replay does not" in said[0]
        assert "ignore=[" in said[0]
        assert kinds(tmp_path / "val") == stored


def test_the_warning_names_the_variable_and_the_snapshot(process: Run, tmp_path: Path) -> None:
    process(VOCABULARY)
    _, [said] = process(VOCABULARY)
    assert "uses global VOCAB" in said
    assert str(tmp_path / "train") in said
    assert 'snapshot(path, ignore=["global VOCAB"])' in said


def test_the_next_epoch_of_the_replayed_pipeline_is_not_stored_either(
    process: Run, tmp_path: Path
) -> None:
    process(VOCABULARY)
    stored = kinds(tmp_path / "train")
    _, said = process(VOCABULARY, epochs=3)
    assert len(said) == 2  # one for each pipeline, and not one for each epoch
    assert kinds(tmp_path / "train") == stored


def test_a_pipeline_without_a_snapshot_is_warned_of(process: Run) -> None:
    assert process(VOCABULARY, val="no snapshot")[1] == []
    _, [said] = process(VOCABULARY, val="no snapshot")
    assert said.startswith("a pass over map(encode) uses global VOCAB")


def test_functions_that_only_read_the_state_are_warned_of(process: Run) -> None:
    text = VOCABULARY + "    def look_up(word): return VOCAB.get(word, -1)\n"
    assert process(text)[0] == process(text, val="plain")[0]
    assert len(process(text)[1]) == 1
    assert len(process(text, val="no snapshot")[1]) == 1


def test_a_stage_behind_the_replayed_snapshot_is_warned_of(tmp_path: Path) -> None:
    for number in range(2):
        for forget in (forget_aliases, forget_shared_state, forget_unfilled_state):
            forget()
        user = program(VOCABULARY + "    def size(x): return x * 10 + len(VOCAB)\n")
        ds = ks.Dataset.from_tensor_slices(TRAIN).map(user.encode).snapshot(tmp_path)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            values(ds.map(user.size))
        assert len(caught) == number


def test_a_pipeline_that_shares_no_state_is_not_warned_of(process: Run) -> None:
    text = VOCABULARY + "    def look_up(word): return ord(word)\n"
    process(text)
    assert process(text, epochs=2)[1] == []


def test_a_memo_can_be_left_out(process: Run, tmp_path: Path) -> None:
    text = """
        MEMO = {}
        def encode(word):
            if word not in MEMO: MEMO[word] = ord(word)
            return MEMO[word]
    """
    process(text, ignore=["global MEMO"])
    stored = kinds(tmp_path / "val")
    assert process(text, ignore=["global MEMO"], epochs=2)[1] == []
    assert kinds(tmp_path / "val") == stored


def test_what_is_made_on_first_use_is_not_warned_of_and_stored(
    process: Run, tmp_path: Path
) -> None:
    first, _ = process(LAZY)
    found, said = process(LAZY)
    assert (found, said) == (first, [])
    stored = kinds(tmp_path / "val")
    assert len(stored) == 2  # from a table that was there, and from none
    found, said = process(LAZY)
    assert (found, said) == (first, [])
    assert kinds(tmp_path / "val") == stored


def test_what_the_first_element_sets_is_compared_when_the_pass_ends(
    process: Run, tmp_path: Path
) -> None:
    process(FIRST_ELEMENT)
    _, [said] = process(FIRST_ELEMENT)
    assert "uses attribute first" in said
    complete = [name for name, found in kinds(tmp_path / "val").items() if found[-1] == "complete"]
    assert len(complete) == 1  # that of the process in which the other pipeline was computed


def test_a_snapshot_behind_a_replayed_one_is_stored_after_a_pass_over_that(
    tmp_path: Path,
) -> None:
    for number in range(2):
        for forget in (forget_aliases, forget_shared_state, forget_unfilled_state):
            forget()
        user = program(VOCABULARY)
        inner = ks.Dataset.from_tensor_slices(TRAIN).map(user.encode).snapshot(tmp_path / "inner")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert values(inner) == [0, 1, 2]
            if number:
                assert values(inner.batch(3).snapshot(tmp_path / "outer")) == [[0, 1, 2]]
                assert len(kinds(tmp_path / "outer")) == 1


def test_a_snapshot_says_what_its_pass_has_moved(process: Run, tmp_path: Path) -> None:
    process(VOCABULARY)
    [folder] = (tmp_path / "train").iterdir()
    commits = [json.loads(each.read_bytes()) for each in sorted(folder.rglob("*.json"))]
    moved = [each["moved"] for each in commits if each.get("kind") == "complete"]
    assert [list(each) for each in moved] == [["map(encode) > function > global VOCAB"]]
