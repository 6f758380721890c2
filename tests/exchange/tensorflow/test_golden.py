"""Every file in ``tests/golden/tensorflow``, which TensorFlow wrote, reads as what it holds."""

from __future__ import annotations

import base64
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.exchange.tensorflow.golden import FOLDER, cases, data, decoded, expected, flat, is_equal

import keepset as ks
from keepset.core.fingerprint import fingerprint_of_value
from keepset.exchange.tensorflow.example import Example, SequenceExample
from keepset.exchange.tensorflow.spec_proto import parse_spec, spec_message

SAVES, SNAPSHOTS = cases("save"), cases("snapshot")
DISTRIBUTED, LEGACY = cases("distributed"), cases("legacy_v1")
RECORDS = sorted(path.name for path in (FOLDER / "tfrecord").glob("*.tfrecord"))


def assert_all_equal(found: list[Any], wanted: list[Any]) -> None:
    assert len(found) == len(wanted)
    for place, (one, other) in enumerate(zip(found, wanted, strict=True)):
        assert is_equal(one, other), f"element {place} is {one}, not {other}"


@pytest.mark.parametrize("name", SAVES)
def test_a_save_gives_its_elements_in_order(name: str) -> None:
    ds = ks.load(data("save", name))
    wanted = [decoded(each) for each in expected("save", name)["elements"]]
    assert_all_equal(list(ds), wanted)
    assert len(ds) == len(wanted)


@pytest.mark.parametrize("name", SAVES)
def test_a_spec_is_written_as_it_was_read(name: str) -> None:
    spec = parse_spec((data("save", name) / "dataset_spec.pb").read_bytes())
    assert parse_spec(spec_message(spec)) == spec
    assert ks.load(data("save", name)).element_spec == spec


@pytest.mark.parametrize("name", sorted({*SNAPSHOTS} - {"partial_only"}))
def test_a_snapshot_gives_its_elements_in_order(name: str) -> None:
    found = list(ks.load(data("snapshot", name)))
    # Nothing is kept of how elements were nested.
    wanted = [flat(decoded(each)) for each in expected("snapshot", name)["elements"]]
    assert_all_equal(found, wanted)


def test_with_a_spec_a_snapshot_gives_elements_as_they_were_nested() -> None:
    wanted = [decoded(each) for each in expected("snapshot", "nested_auto")["elements"]]
    plain = ks.load(data("snapshot", "nested_auto"))
    spec = ks.Dataset.from_tensors(wanted[0]).element_spec
    assert_all_equal(list(ks.load(data("snapshot", "nested_auto"), spec)), wanted)
    assert_all_equal(list(plain), list(map(flat, wanted)))


def test_an_unfinished_snapshot_says_so_and_gives_its_part_on_request() -> None:
    path = data("snapshot", "partial_only")
    with pytest.raises(ks.PendingSnapshotError, match="partial=True"):
        ks.load(path)
    found = list(ks.load(path, partial=True))
    wanted = [flat(decoded(each)) for each in expected("snapshot", "partial_only")["elements"]]
    assert 0 < len(found) <= len(wanted)
    assert_all_equal(found, wanted[: len(found)])


@pytest.mark.parametrize("name", DISTRIBUTED)
def test_what_several_workers_wrote_is_all_there(name: str) -> None:
    ds = ks.load(data("distributed", name))
    wanted = [decoded(each) for each in expected("distributed", name)["elements"]]
    found = list(ds)
    assert len(found) == len(wanted) == len(ds)
    assert_all_equal(sorted(found), sorted(wanted))


@pytest.mark.parametrize("name", LEGACY)
def test_the_oldest_form_is_read_too(name: str) -> None:
    wanted = [flat(decoded(each)) for each in expected("legacy_v1", name)["elements"]]
    assert_all_equal(list(ks.load(data("legacy_v1", name))), wanted)


@pytest.mark.parametrize("name", RECORDS)
def test_records_are_those_that_were_written(name: str) -> None:
    path = FOLDER / "tfrecord" / name
    facts = json.loads(path.with_suffix(".expected.json").read_text())
    wanted = [base64.b64decode(each) for each in facts["records_b64"]]
    assert list(ks.TFRecordDataset(path)) == wanted


@pytest.mark.parametrize("name", [name for name in RECORDS if name.startswith("examples")])
def test_examples_hold_what_was_put_into_them(name: str) -> None:
    path = FOLDER / "tfrecord" / name
    facts = json.loads(path.with_suffix(".expected.json").read_text())
    for record, wanted in zip(ks.TFRecordDataset(path), facts["examples"], strict=True):
        example = Example.FromString(record)
        assert example.features.feature.keys() == wanted.keys()
        for key, fact in wanted.items():
            feature = example.features.feature[key]
            assert feature.WhichOneof("kind") == fact["kind"]
            if fact["kind"] is not None:
                values = getattr(feature, fact["kind"]).value
                given = fact["value"]
                if fact["kind"] == "bytes_list":
                    given = [base64.b64decode(each) for each in given]
                if fact["kind"] == "float_list":
                    np.testing.assert_array_equal(
                        np.array(values, np.float32), np.array(given, np.float32)
                    )
                else:
                    assert values == given


def test_a_sequence_example_is_read() -> None:
    [record] = ks.TFRecordDataset(FOLDER / "tfrecord" / "sequence_example.tfrecord")
    example = SequenceExample.FromString(record)
    assert SequenceExample.FromString(example.SerializeToString()) == example
    assert len(example.feature_lists.feature_list) > 0


PARSED = json.loads((FOLDER / "tfrecord" / "parse_single_example.expected.json").read_text())


def _feature(described: dict[str, Any]) -> Any:
    [(kind, facts)] = described.items()
    facts = dict(facts)
    if "default" in facts:
        facts["default_value"] = facts.pop("default")
    if kind == "FixedLenSequenceFeature":
        facts["allow_missing"] = True
    if lengths := facts.pop("row_lengths", None):
        facts["partitions"] = [ks.RaggedFeature.RowLengths(lengths)]
    return getattr(ks, kind)(**facts)


@pytest.mark.parametrize("case", PARSED["cases"], ids=lambda case: str(case["name"]))
def test_examples_are_parsed_as_by_tensorflow(case: dict[str, Any]) -> None:
    serialized = base64.b64decode(case["example_b64"])
    features = {key: _feature(each) for key, each in case["spec"].items()}
    if "error" in case:
        with pytest.raises(ks.KeepsetError):
            ks.parse_single_example(serialized, features)
        return
    found = ks.parse_single_example(serialized, features)
    assert found.keys() == case["output"].keys()
    for key, wanted in case["output"].items():
        assert is_equal(found[key], decoded(wanted)), f"{key} is {found[key]}"
    # The same among others, where they are read all at once.
    several = list(ks.Dataset.from_tensor_slices([serialized] * 9).parse_example(features))
    assert len(several) == 9
    for each in several:
        assert all(is_equal(each[key], decoded(wanted)) for key, wanted in case["output"].items())


@pytest.mark.parametrize("name", SAVES)
def test_a_copy_elsewhere_has_the_same_fingerprint(name: str, tmp_path: Path) -> None:
    copied = tmp_path / "copy"
    shutil.copytree(data("save", name), copied)
    one, other = ks.load(data("save", name)), ks.load(copied)
    assert fingerprint_of_value(one) == fingerprint_of_value(other)
