"""Elements as trees of JAX arrays: types, devices, reading ahead, and going on."""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tests.adapters.pipelines import PIPELINES

import keepset as ks
from keepset import Dataset
from keepset.testing import assert_elements_equal

pytestmark = pytest.mark.interop

jax = pytest.importorskip("jax")

HERE = Path(__file__).parent


@dataclasses.dataclass
class Record:
    x: Any
    rows: Any


def one(value: Any) -> Any:
    return next(iter(Dataset.from_tensors(value).to_jax()))


def test_elements_are_trees_of_arrays() -> None:
    ds = Dataset.range(5).map(lambda x: {"x": x, "pair": (x / 2, Record(x, [x, x])), "n": None})
    first, *_ = ds.batch(2).to_jax()
    assert isinstance(first["x"], jax.Array)
    assert isinstance(first["pair"], tuple)
    assert isinstance(first["pair"][1], Record)
    assert first["pair"][1].rows.tolist() == [[0, 0], [1, 1]]
    assert first["n"] is None
    scalar = next(iter(ds.to_jax()))["x"]
    assert isinstance(scalar, jax.Array)
    assert scalar.shape == ()
    assert len(ds.to_jax()) == 5


@pytest.mark.parametrize("name", ["bool", "int8", "uint16", "float16", "bfloat16", "complex64"])
def test_types_that_jax_has_stay(name: str) -> None:
    dtype = ks.TensorSpec([], name).dtype
    assert one(np.ones(3, dtype)).dtype == dtype
    assert one(np.ones(3, ml_dtypes.float8_e4m3fn)).dtype == ml_dtypes.float8_e4m3fn


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [("int64", "int32"), ("uint64", "uint32"), ("float64", "float32"), ("complex128", "complex64")],
)
def test_numbers_of_64_bits_become_such_of_32_unless_jax_has_them(wide: str, narrow: str) -> None:
    assert one(np.ones(3, wide)).dtype == narrow
    with jax.enable_x64(True):
        assert one(np.ones(3, wide)).dtype == wide


def test_an_integer_that_does_not_fit_is_an_error() -> None:
    for value in (np.array([1, 2**31]), np.array([-(2**31) - 1]), np.array([2**32], np.uint64)):
        with pytest.raises(ks.ElementError, match=r"does not fit.*jax_enable_x64"):
            one(value)
    assert one(np.array([2**31 - 1, -(2**31)])).tolist() == [2**31 - 1, -(2**31)]
    assert one(np.zeros(0, np.int64)).dtype == np.int32


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ("text", "no strings; bring it to numbers with map"),
        (["a", "b"], "no strings"),
        (np.datetime64("2024-05-01"), r"no dtype datetime64\[D\].*int64"),
        (np.zeros(2, np.longdouble), "bring it to float64"),
        (ks.Ragged.from_rows([[1], [2, 3]]), "padded_batch"),
        (ks.Sparse([[0]], [1], (2,)), "to_dense"),
    ],
)
def test_what_jax_has_not_is_refused_with_a_remedy(value: Any, complaint: str) -> None:
    with pytest.raises(ks.ElementError, match=complaint):
        Dataset.from_tensors(value).to_jax()  # before anything runs
    with pytest.raises(ks.ElementError, match=complaint):
        next(iter(Dataset.range(1).map(lambda _: value).to_jax()))


def test_nested_data_sets_are_refused() -> None:
    with pytest.raises(ks.ElementError, match="flat_map"):
        Dataset.range(5).window(2).to_jax()


@pytest.mark.parametrize("name", sorted(PIPELINES))
def test_every_pipeline_goes_on_from_every_element(name: str) -> None:
    data = PIPELINES[name](17).to_jax()
    beginning = iter(data).state()
    whole = list(data.iterate(beginning))
    for position in range(len(whole) + 1):
        with data.iterate(beginning) as iterator:
            head = list(itertools.islice(iterator, position))
            state = json.loads(json.dumps(iterator.state()))
        rest = list(PIPELINES[name](17).to_jax().iterate(state))
        assert_elements_equal(_numpy(head + rest), _numpy(whole))


def _numpy(elements: list[Any]) -> Any:
    return [jax.tree.map(np.asarray, element) for element in elements]


def test_each_iteration_is_a_pass_of_its_own() -> None:
    ds, other = (Dataset.range(20).shuffle(10, seed=2).batch(4) for _ in "ab")
    data = ds.to_jax()
    for _ in range(3):
        assert [batch.tolist() for batch in data] == [batch.tolist() for batch in other]


def test_as_many_as_asked_for_are_read_ahead() -> None:
    made: list[int] = []

    def note(x: Any) -> Any:
        made.append(int(x))
        return np.full(1 << 18, x, np.float32)  # so large that a chunk holds one

    for prefetch in (0, 2):
        made.clear()
        iterator = iter(Dataset.range(10).map(note).to_jax(prefetch=prefetch))
        for taken in range(1, 4):
            next(iterator)
            assert len(made) == taken + prefetch
    with pytest.raises(ks.InvalidArgumentError, match="prefetch must be 0 or more"):
        Dataset.range(3).to_jax(prefetch=-1)


def test_a_live_source_is_not_read_ahead() -> None:
    made: list[int] = []

    def live() -> Iterator[int]:
        for i in range(5):
            made.append(i)
            yield i

    iterator = iter(Dataset.from_generator(live).to_jax(prefetch=3))
    next(iterator)
    assert made == [0]


def test_elements_before_an_error_come_first() -> None:
    def check(x: Any) -> Any:
        if x == 3:
            raise ValueError("three is bad")
        return x

    iterator = iter(Dataset.range(6).map(check).to_jax(prefetch=4))
    assert [int(next(iterator)) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match="three is bad"):
        next(iterator)
    assert next(iterator, None) is None
    rest = Dataset.range(6).map(lambda x: x).to_jax().iterate(iterator.state())
    assert [int(x) for x in rest] == [3, 4, 5]


def test_an_unknown_length_is_said() -> None:
    with pytest.raises(TypeError, match="unknown length"):
        len(Dataset.range(9).filter(lambda x: True).to_jax())


def test_batches_of_a_file_survive_donation(tmp_path: Path) -> None:
    Dataset.range(64).map(lambda x: np.full(256, x, np.float32)).save(tmp_path)
    increase = jax.jit(lambda x: x + 1, donate_argnums=0)
    for _ in range(2):
        found = [float(increase(batch)[0, 0]) for batch in ks.load(tmp_path).batch(8).to_jax()]
        assert found == [float(x + 1) for x in range(0, 64, 8)]


def test_batches_are_divided_among_devices() -> None:
    environment = {
        **os.environ,
        "XLA_FLAGS": "--xla_force_host_platform_device_count=4",
        "JAX_PLATFORMS": "cpu",
    }
    text = subprocess.check_output(
        [sys.executable, HERE / "jax_devices.py"], env=environment, text=True
    )
    found = json.loads(text)
    assert found["devices"] == 4
    assert found["alike"] == [
        {
            "x": [[first, first] for first in range(start, start + 8, 2)],
            "y": [[first, first + 1] for first in range(start, start + 8, 2)],
        }
        for start in (0, 8)
    ]
    assert found["apart"] == [4, 1]
    assert found["single"] == [2]
    assert found["total"] == 3 * sum(range(8))
    assert "drop_remainder=True" in found["refused"]
    assert "one for each" in found["unlike"]


def test_processes_give_their_parts_of_each_batch(tmp_path: Path) -> None:
    script = tmp_path / "process.py"
    script.write_text(
        "import sys\n"
        "import jax, jax.numpy as jnp, numpy as np\n"
        "from jax.sharding import Mesh, NamedSharding, PartitionSpec\n"
        "import keepset as ks\n"
        "jax.config.update('jax_cpu_collectives_implementation', 'gloo')\n"
        "jax.distributed.initialize(sys.argv[1], 2, int(sys.argv[2]))\n"
        "sharding = NamedSharding(Mesh(np.array(jax.devices()), ('d',)), PartitionSpec('d'))\n"
        "ds = ks.Dataset.range(12).batch(2).shard(jax.process_count(), jax.process_index())\n"
        "for batch in ds.to_jax(sharding=sharding):\n"
        "    print('total', batch.shape, int(jax.jit(jnp.sum)(batch)))\n"
    )
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    address = f"localhost:{_free_port()}"
    running = [
        subprocess.Popen(
            [sys.executable, script, address, str(process)],
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for process in range(2)
    ]
    printed = [process.communicate(timeout=100)[0] for process in running]
    totals = [f"total (4,) {sum(range(i, i + 4))}" for i in (0, 4, 8)]
    for text in printed:
        assert [line for line in text.splitlines() if line.startswith("total")] == totals


def _free_port() -> int:
    import socket

    with socket.socket() as found:
        found.bind(("localhost", 0))
        port: int = found.getsockname()[1]
        return port
