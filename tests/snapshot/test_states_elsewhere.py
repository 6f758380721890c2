"""A state that is taken over one copy of a snapshot, and restored over another one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.snapshot.test_pass_identity import values

import keepset as ks
from keepset.errors import StateError

COUNT = 12
Stages = Callable[[Any], Any]

pytestmark = pytest.mark.filterwarnings("ignore:.*has no seed")


def counted(x: Any) -> ks.Dataset:
    return ks.Dataset.range(x % 4)


def seeded(x: Any) -> ks.Dataset:
    return ks.Dataset.range(x).shuffle(5, seed=1)


def drawn(x: Any) -> ks.Dataset:
    return ks.Dataset.range(x).shuffle(5)


def drawn_late(x: Any) -> ks.Dataset:
    ds = ks.Dataset.range(x)
    return ds.shuffle(9) if x > 8 else ds


def drawn_within(x: Any) -> ks.Dataset:
    return ks.Dataset.range(3).flat_map(
        lambda y: ks.Dataset.range(4).map(lambda z: z + y).shuffle(4)
    )


SAME: dict[str, Stages] = {
    "flat_map": lambda ds: ds.flat_map(counted),
    "flat_map to one with a seed": lambda ds: ds.flat_map(seeded),
    "interleave": lambda ds: ds.interleave(counted, cycle_length=3),
    "interleave in threads": lambda ds: ds.interleave(
        counted, cycle_length=3, num_parallel_calls=2
    ),
    "window": lambda ds: ds.window(3).flat_map(lambda w: w.batch(3)),
    "group_by_window": lambda ds: ds.group_by_window(
        lambda x: x % 2, lambda k, w: w.batch(2), window_size=2
    ),
    "inside another": lambda ds: ds.flat_map(lambda x: ks.Dataset.range(3).flat_map(counted)),
}
OTHER: dict[str, Stages] = {
    "shuffle": lambda ds: ds.shuffle(5),
    "flat_map": lambda ds: ds.flat_map(drawn),
    "interleave": lambda ds: ds.interleave(drawn, cycle_length=3),
    "interleave in threads": lambda ds: ds.interleave(drawn, cycle_length=3, num_parallel_calls=2),
    "late": lambda ds: ds.flat_map(drawn_late),
    "inside another": lambda ds: ds.flat_map(drawn_within),
    "behind one that does not": lambda ds: ds.flat_map(drawn).flat_map(counted),
}


def state_at(ds: ks.Dataset, count: int) -> tuple[list[Any], Any]:
    """The first elements, and a state behind them."""
    iterator = iter(ds)
    seen = [next(iterator) for _ in range(count)]
    state = json.loads(json.dumps(iterator.state()))
    iterator.close()
    return [each.tolist() for each in seen], state


def made(stages: Stages, path: Path) -> ks.Dataset:
    return stages(ks.Dataset.range(COUNT)).snapshot(path)


@pytest.mark.parametrize("is_whole", [False, True], ids=["writing", "replaying"])
@pytest.mark.parametrize("stages", SAME.values(), ids=SAME)
def test_a_seed_that_nothing_used_is_no_other_order(
    stages: Stages, is_whole: bool, tmp_path: Path
) -> None:
    expected = values(stages(ks.Dataset.range(COUNT)))
    here, whole, empty = (tmp_path / name for name in ("here", "whole", "empty"))
    values(made(stages, whole))
    if is_whole:
        values(made(stages, here))
    seen, state = state_at(made(stages, here), 3)
    for path in (here, whole, empty):
        assert seen + [each.tolist() for each in made(stages, path).iterate(state)] == expected


@pytest.mark.parametrize("is_whole", [False, True], ids=["writing", "replaying"])
@pytest.mark.parametrize("stages", OTHER.values(), ids=OTHER)
def test_a_state_gives_the_elements_of_one_order_or_is_refused(
    stages: Stages, is_whole: bool, tmp_path: Path
) -> None:
    here, whole = tmp_path / "here", tmp_path / "whole"
    others = values(made(stages, whole))
    if is_whole:
        values(made(stages, here))
    states = [state_at(made(stages, here), count) for count in range(1, 20, 3) if count <= COUNT]
    own = values(made(stages, here))
    assert own != others
    refused = 0
    for seen, state in states:
        assert seen + [each.tolist() for each in made(stages, here).iterate(state)] == own
        try:
            rest = [each.tolist() for each in made(stages, whole).iterate(state)]
        except StateError:
            refused += 1
        else:
            assert seen + rest in (own, others)
    assert refused


def test_what_an_inner_snapshot_replays_depends_on_its_seeds(tmp_path: Path) -> None:
    def dataset(name: str) -> ks.Dataset:
        inner = ks.Dataset.range(COUNT).flat_map(drawn).snapshot(tmp_path / name / "inner")
        return inner.map(lambda x: x + 1).snapshot(tmp_path / name / "outer")

    for name in ("here", "there"):
        inner = ks.Dataset.range(COUNT).flat_map(drawn).snapshot(tmp_path / name / "inner")
        values(inner)  # so that the outer pass draws nothing itself
        values(dataset(name))
    _, state = state_at(dataset("here"), 20)
    with pytest.raises(StateError, match="another seed"):
        list(dataset("there").iterate(state))


def test_a_state_from_before_a_pass_was_interrupted_is_good_behind_it(tmp_path: Path) -> None:
    stages = SAME["flat_map"]
    seen, early = state_at(made(stages, tmp_path), 2)
    begun, later = state_at(made(stages, tmp_path), 7)
    expected = values(made(stages, tmp_path))
    for before, state in ((seen, early), (begun, later)):
        rest = [each.tolist() for each in made(stages, tmp_path).iterate(state)]
        assert before + rest == expected
