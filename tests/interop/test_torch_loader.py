"""The loader that knows where its consumer is: order, epochs, and going on from anywhere."""

from __future__ import annotations

import itertools
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.adapters.pipelines import PIPELINES

import keepset as ks
from keepset import Dataset

pytestmark = [
    pytest.mark.interop,
    # More workers than cores are only slow.
    pytest.mark.filterwarnings("ignore:This DataLoader will create"),
]

torch = pytest.importorskip("torch")

from torch.utils.data import DataLoader  # noqa: E402


def make() -> Dataset:
    """A pipeline that draws a seed of its own each time it is built."""
    return Dataset.range(41).map(lambda x: x * 2).shuffle(10).batch(3)


def numbers(batches: Any) -> list[Any]:
    return [batch.tolist() for batch in batches]


def through_json(state: dict[str, Any]) -> Any:
    return json.loads(json.dumps(state))


def test_it_is_a_dataloader_of_the_pipelines_elements() -> None:
    loader = Dataset.range(10).map(lambda x: (x, {"y": x})).batch(4).to_torch().loader()
    assert isinstance(loader, DataLoader)
    assert len(loader) == 3
    [first, *_] = list(loader)
    assert isinstance(first, tuple)
    assert first[1]["y"].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("name", sorted(PIPELINES))
def test_every_pipeline_goes_on_from_every_element(name: str) -> None:
    made = PIPELINES[name](17)
    whole = list(made.to_torch().loader())
    for position in range(len(whole) + 1):
        loader = made.to_torch().loader()
        iterator = iter(loader)
        head = list(itertools.islice(iterator, position))
        state = through_json(loader.state_dict())
        again = PIPELINES[name](17).to_torch().loader()
        again.load_state_dict(state)
        assert repr(head + list(again)) == repr(whole)


@pytest.mark.parametrize(("before", "after"), [(0, 2), (2, 0), (2, 3), (1, 1)])
def test_it_goes_on_with_another_number_of_workers(before: int, after: int) -> None:
    ds = make()
    fresh = pickle.loads(pickle.dumps(ds))
    passes = [numbers(fresh) for _ in range(3)]
    loader = ds.to_torch().loader(num_workers=before)
    assert numbers(loader) == passes[0]
    second = iter(loader)
    head = [next(second).tolist() for _ in range(5)]
    state = through_json(loader.state_dict())
    assert (state["epoch"], state["taken"]) == (1, 5)
    again = make().to_torch().loader(num_workers=after)
    again.load_state_dict(state)
    assert again.epoch == 1
    assert head + numbers(again) == passes[1]
    # The epochs after it follow from the same seeds.
    assert again.epoch == 2
    assert numbers(again) == passes[2]


def test_it_goes_on_with_workers_that_are_spawned() -> None:
    ds = make()
    whole = numbers(ds.to_torch().loader())
    loader = ds.to_torch().loader()
    head = [batch.tolist() for batch in itertools.islice(loader, 4)]
    again = make().to_torch().loader(num_workers=2, multiprocessing_context="spawn")
    again.load_state_dict(loader.state_dict())
    assert head + numbers(again) == whole


@pytest.mark.parametrize(("before", "after"), [(2, 2), (2, 3), (3, 1)])
def test_ranks_have_one_state_and_any_number_of_ranks_goes_on(before: int, after: int) -> None:
    ds = Dataset.range(45).shuffle(10, seed=4).batch(2)
    whole = numbers(ds.to_torch().loader())
    ranks = [
        ds.to_torch(rank=rank, world_size=before).loader(num_workers=rank) for rank in range(before)
    ]
    iterators = [iter(loader) for loader in ranks]
    head = [next(each).tolist() for _ in range(3) for each in iterators]
    states = [through_json(loader.state_dict()) for loader in ranks]
    assert all(state == states[0] for state in states)
    rest = []
    for rank in range(after):
        loader = ds.to_torch(rank=rank, world_size=after).loader(num_workers=2)
        loader.load_state_dict(states[0])
        rest.append(numbers(loader))
    in_turns = itertools.zip_longest(*rest)
    assert head + [batch for turn in in_turns for batch in turn if batch is not None] == whole


@pytest.mark.parametrize("persistent", [False, True])
def test_each_loop_is_an_epoch_also_if_it_was_left_early(persistent: bool) -> None:
    ds = make()
    fresh = pickle.loads(pickle.dumps(ds))
    passes = [numbers(fresh) for _ in range(4)]
    loader = ds.to_torch().loader(num_workers=2, persistent_workers=persistent)
    assert numbers(loader) == passes[0]
    assert numbers(itertools.islice(loader, 3)) == passes[1][:3]
    assert loader.epoch == 1
    assert numbers(loader) == passes[2]
    assert numbers(loader) == passes[3]


def test_a_state_of_a_loader_with_persistent_workers_is_taken_by_them() -> None:
    one, other = (make().to_torch().loader(num_workers=2, persistent_workers=True) for _ in "ab")
    whole = numbers(one)
    numbers(other)
    one.set_epoch(0)
    head = numbers(itertools.islice(one, 2))
    other.load_state_dict(one.state_dict())
    assert head + numbers(other) == whole


def test_at_the_end_of_a_loop_the_next_epoch_begins() -> None:
    loader = make().to_torch().loader()
    batches = iter(loader)
    for _ in range(14):
        next(batches)
    last = loader.state_dict()
    assert (last["epoch"], last["taken"]) == (0, 14)
    assert next(batches, None) is None
    ended = loader.state_dict()
    assert (ended["epoch"], ended["taken"]) == (1, 0)
    # Whoever stopped between the last batch and the end of the loop gets the end of the loop.
    loader.load_state_dict(last)
    assert numbers(loader) == []
    assert len(numbers(loader)) == 14


def test_set_epoch_goes_to_a_pass_and_keeps_a_place_within_it() -> None:
    ds = make()
    fresh = pickle.loads(pickle.dumps(ds))
    passes = [numbers(fresh) for _ in range(4)]
    loader = ds.to_torch().loader()
    loader.set_epoch(3)
    assert numbers(loader) == passes[3]
    loader.set_epoch(1)
    head = numbers(itertools.islice(loader, 4))
    state = loader.state_dict()
    again = ds.to_torch().loader()
    again.load_state_dict(state)
    again.set_epoch(1)  # as a training loop does before each epoch
    assert head + numbers(again) == passes[1]
    loader.set_epoch(1)  # it is under way, so this begins it again
    assert numbers(loader) == passes[1]


def test_two_loops_at_once_do_not_disturb_each_other() -> None:
    ds = make()
    fresh = pickle.loads(pickle.dumps(ds))
    passes = [numbers(fresh) for _ in range(2)]
    loader = ds.to_torch().loader()
    first, second = iter(loader), iter(loader)
    pairs = [(a.tolist(), b.tolist()) for a, b in zip(first, second, strict=True)]
    assert [list(each) for each in zip(*pairs, strict=True)] == passes


def test_loaders_of_one_data_set_have_states_of_their_own() -> None:
    data = make().to_torch()
    one, other = data.loader(), data.loader()
    state = make().to_torch().loader().state_dict()
    before = numbers(other)
    one.load_state_dict(state)
    other.set_epoch(0)
    assert numbers(other) == before


def test_a_state_of_another_pipeline_is_refused() -> None:
    loader = make().to_torch().loader()
    with pytest.raises(ks.StateError, match="another pipeline"):
        loader.load_state_dict(make().map(lambda x: x).to_torch().loader().state_dict())
    with pytest.raises(ks.StateError, match=r"pass what loader\.state_dict\(\) gave"):
        loader.load_state_dict(iter(make()).state())


def test_after_an_error_the_state_points_to_the_element_that_failed() -> None:
    bad = {9}

    def check(x: Any) -> Any:
        if int(x) in bad:
            raise ValueError(f"{x} is bad")
        return x

    def made() -> Any:
        return Dataset.range(20).map(check).batch(2).to_torch().loader()

    loader = made()
    iterator = iter(loader)
    seen = [x for _ in range(4) for x in next(iterator).tolist()]
    with pytest.raises(ValueError, match="9 is bad"):
        next(iterator)
    bad.clear()
    again = made()
    again.load_state_dict(loader.state_dict())
    assert seen + [x for batch in again for x in batch.tolist()] == list(range(20))


def test_a_length_that_nobody_knows_is_a_type_error() -> None:
    loader = Dataset.range(9).filter(lambda x: True).to_torch().loader()
    with pytest.raises(TypeError, match="unknown length"):
        len(loader)
    assert not hasattr(loader.dataset, "__len__")  # by which Keras decides
    assert hasattr(Dataset.range(9).to_torch().loader().dataset, "__len__")


@pytest.mark.parametrize("workers", [0, 2])
def test_batches_may_be_written_to(tmp_path: Path, workers: int) -> None:
    Dataset.range(64).map(lambda x: np.full(4, x)).save(tmp_path)
    for _ in range(2):
        loader = ks.load(tmp_path).batch(8).to_torch().loader(num_workers=workers)
        found = []
        for batch in loader:
            found += batch[:, 0].tolist()
            batch.zero_()
        assert found == list(range(64))


@pytest.mark.parametrize("persistent", [False, True])
def test_the_first_epoch_writes_a_snapshot_in_the_workers(tmp_path: Path, persistent: bool) -> None:
    calls = tmp_path / "calls"
    calls.touch()

    def slow(x: Any) -> Any:
        with calls.open("a") as file:
            file.write(".")
        return x * 2

    ds = Dataset.range(50).map(slow).snapshot(tmp_path / "kept", fingerprint="f")
    ds = ds.shuffle(10, seed=1).batch(4)
    loader = ds.to_torch().loader(num_workers=2, persistent_workers=persistent)
    epochs = [sorted(x for batch in loader for x in batch.tolist()) for _ in range(3)]
    assert epochs == [list(range(0, 100, 2))] * 3
    assert ks.Snapshot(tmp_path / "kept").is_complete
    # Each worker computes until it is whole, none after that.
    assert 50 <= calls.stat().st_size <= 100
