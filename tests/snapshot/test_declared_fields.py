"""What a field of a stage is declared to count for is true, for every field of every stage.

A field that counts changes the fingerprint; one that does not leaves the elements as they are. A
stage, or a field, without an entry in ``declared_examples`` fails here.
"""

from __future__ import annotations

import gzip
import os
import shutil
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.snapshot.declared_examples import EXAMPLES, Example, Together, Unseen

import keepset as ks
import keepset.tf as tf
from keepset.core.node import Node
from keepset.core.parameter import declared, is_default
from keepset.nodes.take import Skip
from keepset.recipe.stages import STAGES, input_fields, stage_class
from keepset.snapshot.identity.pipeline_identity import identify
from keepset.testing import assert_elements_equal

LOST = {("snapshot", "name")}  # nothing gives it one
MOST = 30  # elements that are compared, as some stages have no end


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("declared")


def changes(name: str, folder: Path) -> Iterator[tuple[str, Node, Any]]:
    """Each field of a stage with the stage that has another value of it."""
    example = EXAMPLES[name]
    values = example.changed(folder)
    known = input_fields(stage_class(name))
    for field in fields(stage_class(name)):
        if not field.init:
            continue
        node = example.node(folder)
        if field.name == "name":
            changed: dict[str, Any] = {"name": "another"}
        elif field.name in known and field.name not in values:
            # Without its first element an input is another one.
            before = getattr(node, field.name)
            first, *rest = before if known[field.name] else [before]
            other = Skip(parent=first, count=1)
            changed = {field.name: (other, *rest) if known[field.name] else other}
        else:
            value = values.pop(field.name)
            inner = value.value if isinstance(value, Unseen) else value
            changed = inner.values if isinstance(inner, Together) else {field.name: inner}
            yield field.name, node.replaced(**changed), value
            continue
        yield field.name, node.replaced(**changed), None
    assert not values, f"{name} has no field {', '.join(values)}"


def outcome(node: Node) -> Any:
    """The elements, or the error instead of one."""
    found: list[Any] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found.extend(islice(ks.Dataset(node), MOST))
        except Exception as error:
            return [*found, type(error).__name__]
    return found


def are_same(one: list[Any], other: list[Any]) -> bool:
    try:
        assert_elements_equal(one, other)
    except AssertionError:
        return False
    return True


def digest(node: Node) -> str:
    return identify(node).fingerprint


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_field_counts_or_leaves_the_elements_alone(name: str, folder: Path) -> None:
    example, kind = EXAMPLES[name], stage_class(name)
    node = example.node(folder)
    assert type(node) is kind
    assert digest(node) == digest(example.node(folder))
    expected = outcome(example.node(folder))
    assert expected
    counts = {field.name: declared(field).identity for field in fields(kind)}
    for field, changed, value in changes(name, folder):
        where = f"{name}.{field}"
        is_same = are_same(outcome(changed), expected)
        if counts[field]:
            assert digest(changed) != digest(node), f"{where} counts, and the digest is the same"
            assert is_same == isinstance(value, Unseen), f"{where}: {outcome(changed)}"
        else:
            assert digest(changed) == digest(node), f"{where} does not count, and the digest does"
            assert is_same, f"{where} does not count, and changes the elements: {outcome(changed)}"


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.filterwarnings("ignore:.*left out", "ignore:.*no seed")
def test_a_recipe_contains_the_fields_that_it_is_declared_to(name: str, folder: Path) -> None:
    for field, changed, _ in changes(name, folder):
        each = {one.name: one for one in fields(changed)}
        says = declared(each[field])
        document = ks.Dataset(changed).to_recipe(content=False)
        told = document.stages[-1]
        if says.inputs is not None or (name, field) in LOST:
            continue
        if not says.recipe:
            assert field not in told, f"{name}.{field} is not to be in a recipe"
            continue
        again = ks.from_recipe(document, trust=True, on_change="ignore")
        assert again.to_recipe(content=False) == document, f"{name}.{field}"
        where = "names" if "names" in told and field == "tensors" else field
        is_told = where in told or is_default(each[field], getattr(changed, field))
        assert is_told, f"{name}.{field} is lost"


def test_every_stage_has_an_example() -> None:
    assert set(EXAMPLES) == set(STAGES)


def test_two_stages_are_never_called_the_same() -> None:
    """Their kind is all that tells stages of equal parameters apart."""
    kinds = Counter(example_kind(name, example) for name, example in EXAMPLES.items())
    assert max(kinds.values()) == 1, kinds


def example_kind(name: str, example: Example) -> str:
    kind: Any = stage_class(name)
    return str(kind.kind.fget(object.__new__(kind)))


def test_the_compression_of_a_text_counts(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(b"first\nsecond\n", mtime=0))

    def lines(*compression: Any) -> list[bytes]:
        ds = tf.data.TextLineDataset(str(path), *compression)
        return [x.numpy() for x in ds.snapshot(str(tmp_path / "snapshot"))]

    raw = lines()
    assert lines("GZIP") == [b"first", b"second"] != raw
    assert lines() == raw


def test_the_order_of_what_was_saved_in_shards_counts(tmp_path: Path) -> None:
    def saved(name: str, numbers: list[int]) -> ks.Dataset:
        ks.Dataset.from_tensor_slices(np.array(numbers)).save(
            tmp_path / name, shard_func=lambda x: x % 2
        )
        return ks.load(tmp_path / name)

    one, other = saved("one", [0, 1, 2, 3]), saved("other", [0, 2, 1, 3])
    assert digest(one._node) != digest(other._node)
    assert digest(saved("again", [0, 1, 2, 3])._node) == digest(one._node)


def test_what_was_loaded_unchecked_is_not_what_was_checked(tmp_path: Path) -> None:
    ks.Dataset.range(3).save(tmp_path)
    assert digest(ks.load(tmp_path)._node) != digest(ks.load(tmp_path, verify=False)._node)


def skip_two(shards: ks.Dataset) -> ks.Dataset:
    return shards.flat_map(lambda shard: shard).skip(2)


def test_the_reader_of_a_snapshot_counts_for_the_next_one(tmp_path: Path) -> None:
    def second(**options: Any) -> list[int]:
        ds = ks.Dataset.range(4).snapshot(tmp_path / "first", **options)
        return [int(x) for x in ds.map(lambda x: x + 1).snapshot(tmp_path / "second")]

    assert second() == [1, 2, 3, 4]
    assert second(reader_func=skip_two, num_shards=1) == [3, 4]
    assert second() == [1, 2, 3, 4]


def test_a_snapshot_in_between_does_not_count(tmp_path: Path) -> None:
    plain = ks.Dataset.range(4).map(abs)
    kept = ks.Dataset.range(4).snapshot(tmp_path).prefetch(2).map(abs)
    assert digest(plain._node) == digest(kept._node)


def test_a_seed_for_everything_counts() -> None:
    def found(seed: int | None) -> tuple[str, list[int]]:
        ks.set_seed(seed)
        try:
            ds = ks.Dataset.range(9).shuffle(9)
            return digest(ds._node), [int(x) for x in ds]
        finally:
            ks.set_seed(None)

    assert found(1) == found(1)
    assert found(1)[0] != found(2)[0]
    assert digest(ks.Dataset.range(9).shuffle(9)._node) == found(None)[0]


@pytest.mark.filterwarnings("error")
def test_buckets_need_no_seed(tmp_path: Path) -> None:
    ds = ks.Dataset.range(4).map(np.arange).bucket_by_sequence_length(len, [2], [2, 2])
    assert len(list(ds.snapshot(tmp_path))) == 2


def test_files_that_workers_of_tensorflow_numbered_count_by_how_they_stand(tmp_path: Path) -> None:
    golden = Path(__file__).parents[1] / "golden" / "tensorflow" / "distributed" / "range_none"
    shutil.copytree(golden / "data", tmp_path / "data")
    before = digest(ks.load(tmp_path / "data")._node)
    assert digest(ks.load(tmp_path / "data")._node) == before
    for chunk in (tmp_path / "data" / "chunks").iterdir():
        os.utime(chunk, (7, 7))
    assert digest(ks.load(tmp_path / "data")._node) != before
