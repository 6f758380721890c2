"""Data sets for PyTorch's own DataLoader: which kind, each element once, and the right epoch."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
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

from torch.utils.data import DataLoader, RandomSampler, Subset  # noqa: E402

METHODS = [(0, None), (1, "fork"), (3, "fork"), (2, "spawn")]
RESHUFFLED = Dataset.range(40).shuffle(10, seed=3).batch(4)


def kind_of(ds: Dataset) -> str:
    return type(ds.to_torch()).__name__


def numbers(batches: Any) -> list[int]:
    return [int(x) for batch in batches for x in batch.reshape(-1)]


def orders(ds: Dataset, count: int) -> list[list[int]]:
    """The orders of the first passes over a data set that nobody has iterated over."""
    fresh = pickle.loads(pickle.dumps(ds))
    return [numbers(fresh) for _ in range(count)]


@pytest.mark.parametrize(("workers", "method"), METHODS)
@pytest.mark.parametrize("kind", ["map", "iterable"])
def test_each_element_comes_once_over_all_workers(
    kind: str, workers: int, method: str | None
) -> None:
    ds = Dataset.range(50).map(lambda x: {"x": x, "rows": np.full(3, x)})
    data = ds.to_torch(kind=kind)
    assert len(data) == 50
    how = {"num_workers": workers, "multiprocessing_context": method}
    single = [int(row["x"]) for row in DataLoader(data, batch_size=None, **how)]
    assert single == list(range(50))
    collated = [x for row in DataLoader(data, batch_size=8, **how) for x in row["rows"][:, 0]]
    assert sorted(map(int, collated)) == list(range(50))


@pytest.mark.parametrize("name", sorted(PIPELINES))
def test_batches_come_in_the_order_of_the_pipeline(name: str) -> None:
    ds = PIPELINES[name](31)
    data = ds.to_torch(kind="iterable")
    data.set_epoch(1)
    alone, shared = (
        list(DataLoader(data, batch_size=None, num_workers=workers)) for workers in (0, 3)
    )
    assert len(alone) > 3
    assert repr(shared) == repr(alone)


def test_the_kind_is_a_map_where_elements_are_a_list() -> None:
    assert kind_of(Dataset.range(9).map(str).batch(2)) == "TorchMapData"
    assert kind_of(Dataset.range(9).shuffle(ks.GLOBAL, 1, False)) == "TorchMapData"
    assert kind_of(Dataset.range(9).filter(lambda x: True)) == "TorchIterableData"
    assert kind_of(Dataset.range(9).shuffle(ks.GLOBAL, 1)) == "TorchIterableData"
    assert kind_of(Dataset.range(9).repeat()) == "TorchIterableData"


def test_the_kind_can_be_chosen() -> None:
    forward = Dataset.range(9).filter(lambda x: True)
    with pytest.raises(ks.NotAddressableError, match=r"filter.*use kind='iterable'"):
        forward.to_torch(kind="map")
    with pytest.raises(ks.NotAddressableError, match="finite length"):
        Dataset.range(9).repeat().to_torch(kind="map")
    with pytest.raises(ks.InvalidArgumentError, match="'map', 'iterable' or None"):
        forward.to_torch(kind="list")
    mixed = Dataset.range(9).shuffle(ks.GLOBAL, 1).to_torch(kind="map")
    assert sorted(int(mixed[i]) for i in range(9)) == list(range(9))


def test_a_map_works_with_samplers_and_subsets() -> None:
    data = Dataset.range(20).map(lambda x: x * x).to_torch()
    assert int(data[-1]) == 361
    with pytest.raises(IndexError, match="position 20 is outside"):
        data[20]
    assert [int(x) for x in Subset(data, [3, 4])] == [9, 16]
    generator = torch.Generator().manual_seed(1)
    loader = DataLoader(data, 6, sampler=RandomSampler(data, generator=generator), num_workers=2)
    assert sorted(numbers(loader)) == [x * x for x in range(20)]
    assert sorted(numbers(DataLoader(data, 6, shuffle=True))) == [x * x for x in range(20)]


def test_a_batch_of_a_map_is_gathered_at_once() -> None:
    calls: list[list[int]] = []

    class Squares:
        def __len__(self) -> int:
            return 20

        def __getitem__(self, i: int) -> int:
            return i * i

        def __getitems__(self, indices: list[int]) -> list[int]:
            calls.append(list(indices))
            return [i * i for i in indices]

    list(DataLoader(ks.from_torch(Squares()).to_torch(), batch_size=5))
    assert calls == [list(range(i, i + 5)) for i in range(0, 20, 5)]


def test_an_iterable_counts_its_epochs_without_workers() -> None:
    loader = DataLoader(RESHUFFLED.to_torch(), batch_size=None)
    assert [numbers(loader) for _ in range(3)] == orders(RESHUFFLED, 3)


@pytest.mark.parametrize(("workers", "persistent"), [(0, False), (2, False), (2, True)])
@pytest.mark.parametrize("kind", ["map", "iterable"])
def test_set_epoch_reaches_the_workers(kind: str, workers: int, persistent: bool) -> None:
    ds = Dataset.range(40).shuffle(ks.GLOBAL, seed=3).batch(4)
    data = ds.to_torch(kind=kind)
    loader = DataLoader(data, batch_size=None, num_workers=workers, persistent_workers=persistent)
    found = []
    for epoch in (0, 1, 2, 1):
        data.set_epoch(epoch)
        found.append(numbers(loader))
    first, second, third = orders(ds, 3)
    assert found == [first, second, third, second]
    assert first != second != third


def test_set_epoch_reaches_workers_that_are_spawned() -> None:
    data = RESHUFFLED.to_torch()
    loader = DataLoader(
        data,
        batch_size=None,
        num_workers=2,
        persistent_workers=True,
        multiprocessing_context="spawn",
    )
    found = []
    for epoch in (0, 2):
        data.set_epoch(epoch)
        found.append(numbers(loader))
    passes = orders(RESHUFFLED, 3)
    assert found == [passes[0], passes[2]]


def test_workers_that_were_told_no_epoch_warn(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import keepset as ks\n"
        "from torch.utils.data import DataLoader\n"
        "data = ks.Dataset.range(40).shuffle(10, seed=3).batch(4).to_torch()\n"
        "loader = DataLoader(data, batch_size=None, num_workers=2)\n"
        "print([[int(b[0]) for b in loader] for _ in range(2)])\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    first, second = eval(done.stdout)
    assert first == second
    assert done.stderr.count("call data.set_epoch(epoch)") == 1


def test_a_pipeline_that_is_not_shuffled_needs_no_epoch() -> None:
    loader = DataLoader(
        Dataset.range(9).filter(lambda x: True).to_torch(),
        batch_size=None,
        num_workers=2,
        worker_init_fn=_warnings_are_errors,
    )
    for _ in range(3):
        assert [int(x) for x in loader] == list(range(9))


def _warnings_are_errors(worker: int) -> None:
    import warnings

    warnings.simplefilter("error")


@pytest.mark.parametrize("kind", ["map", "iterable"])
def test_ranks_divide_the_elements(kind: str) -> None:
    ds = Dataset.range(23).map(lambda x: x * 2)
    data = [ds.to_torch(kind=kind, rank=rank, world_size=3) for rank in range(3)]
    assert [len(each) for each in data] == [8, 8, 7]
    parts = [[int(x) for x in DataLoader(each, batch_size=None, num_workers=2)] for each in data]
    assert parts == [list(range(2 * rank, 46, 6)) for rank in range(3)]
    even = [ds.to_torch(kind=kind, rank=rank, world_size=3, drop_last=True) for rank in range(3)]
    assert [len(list(DataLoader(each, batch_size=None))) for each in even] == [7, 7, 7]


def test_half_a_place_is_refused() -> None:
    for half in ({"rank": 0}, {"world_size": 2}):
        with pytest.raises(ks.InvalidArgumentError, match="pass both or neither"):
            Dataset.range(3).to_torch(**half)  # type: ignore[arg-type]


def test_the_place_is_that_of_torch_distributed(tmp_path: Path) -> None:
    script = tmp_path / "rank.py"
    script.write_text(
        "import sys\n"
        "import torch.distributed as dist\n"
        "import keepset as ks\n"
        "rank = int(sys.argv[1])\n"
        f"dist.init_process_group('gloo', init_method='file://{tmp_path}/store',\n"
        "                        rank=rank, world_size=2)\n"
        "ds = ks.Dataset.range(30).shuffle(10, seed=1).batch(4)\n"
        "loader = ds.to_torch().loader(num_workers=2)\n"
        "print([x for batch in loader for x in batch.tolist()])\n"
        "dist.destroy_process_group()\n"
    )
    environment = {**os.environ, "GLOO_SOCKET_IFNAME": "lo"}
    running = [
        subprocess.Popen(
            [sys.executable, script, str(rank)],
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for rank in range(2)
    ]
    printed = [process.communicate(timeout=100)[0] for process in running]
    parts = [eval(text.strip().splitlines()[-1]) for text in printed]
    assert [len(part) for part in parts] == [16, 14]
    assert sorted(parts[0] + parts[1]) == list(range(30))


def test_what_main_has_opened_does_not_disturb_forked_workers(tmp_path: Path) -> None:
    Dataset.range(2000).map(lambda x: {"x": x, "rows": np.full(50, x)}).save(tmp_path, "LZ4")
    ds = ks.load(tmp_path).shuffle(100, seed=1).batch(10)
    iterator = iter(ds)
    next(iterator)  # threads read ahead from here on
    data = ds.to_torch()
    data.set_epoch(0)
    for _ in range(5):
        loader = DataLoader(data, batch_size=None, num_workers=2)
        assert sorted(numbers(batch["x"] for batch in loader)) == list(range(2000))
    iterator.close()


def test_workers_may_have_workers_of_their_own() -> None:
    ds = Dataset.range(24).map(lambda x: x * 2, num_parallel_calls=2, executor="process").batch(4)
    loader = DataLoader(ds.to_torch(kind="iterable"), batch_size=None, num_workers=2)
    assert numbers(loader) == list(range(0, 48, 2))


def test_an_error_in_a_function_reaches_the_consumer() -> None:
    def check(x: Any) -> Any:
        if x == 7:
            raise ValueError("seven is bad")
        return x

    for workers in (0, 1):  # torch waits five seconds for each worker of a loop that failed
        loader = DataLoader(
            Dataset.range(9).map(check).to_torch(kind="iterable"),
            batch_size=None,
            num_workers=workers,
        )
        iterator = iter(loader)
        assert [int(next(iterator)) for _ in range(7)] == list(range(7))
        with pytest.raises(ValueError, match="seven is bad"):
            next(iterator)
