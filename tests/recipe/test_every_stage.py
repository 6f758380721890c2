"""Every stage of the library has a recipe that makes it again.

Most are in the contract suite, and those that read files in the suite of the doors. Here are the
others, and the test that none is missing.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import PIL.Image
import pytest
from tests.exchange.doors import DOORS
from tests.stand_ins import is_stand_in
from tests.test_contract import CASES

import keepset
import keepset as ks
from keepset.core.node import Node
from keepset.nodes.deal import Deal
from keepset.recipe.reading import NOT_PARAMETERS
from keepset.recipe.stages import STAGES, stage_class, stage_name
from keepset.snapshot.identity.pipeline_identity import identify
from keepset.testing import assert_elements_equal

Make = Callable[[Path], ks.Dataset]


def saved(folder: Path, **options: Any) -> Path:
    ks.Dataset.range(9).map(lambda x: {"x": x}).save(folder / "kept", **options)
    return folder / "kept"


def pictures(folder: Path) -> Path:
    for number in range(3):
        path = folder / "pictures" / "cat" / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        PIL.Image.new("RGB", (4, 3), (number, 0, 0)).save(path)
    (folder / "pictures" / "cat" / "broken.png").write_bytes(b"no picture")
    return folder / "pictures"


def records(folder: Path) -> Path:
    (folder / "f").write_bytes(b"HEAD" + b"aabbcc")
    return folder / "f"


def remote(folder: Path) -> ks.Dataset:
    url = f"memory://{folder.name}/a.npy"
    ks.Dataset.range(5).write_npy(url)
    return ks.read_npy(url)


def tfrecords(folder: Path) -> ks.Dataset:
    ks.Dataset.from_tensor_slices(["a", "b"]).write_tfrecord(folder / "f.tfrecord")
    return ks.TFRecordDataset(folder / "f.tfrecord")


OTHERS: dict[str, Make] = {
    "deal": lambda folder: ks.Dataset(
        Deal(parent=ks.Dataset.range(9)._node, first=1, step=3, size=2)
    ),
    "load": lambda folder: ks.load(saved(folder)),
    "load, one column": lambda folder: ks.load(saved(folder)).select("x"),
    "load_tensorflow": lambda folder: ks.load(saved(folder, format="tensorflow")),
    "read_fixed_length": lambda folder: ks.read_fixed_length(records(folder), 2, header_bytes=4),
    "read_images": lambda folder: ks.read_images(pictures(folder), decode=False),
    "remote_files": remote,
    "rows": lambda folder: next(iter(ks.Dataset.range(9).window(3))),
    "skip_corrupt": lambda folder: ks.read_images(pictures(folder), on_corrupt="skip"),
    "slice": lambda folder: ks.Dataset.range(9)[2:8:2],
    "snapshot": lambda folder: ks.Dataset.range(9).snapshot(folder / "snapshot").batch(2),
    "tfrecord": tfrecords,
    "writable": lambda folder: ks.load(saved(folder), writable=True),
}


@pytest.mark.parametrize("make", OTHERS.values(), ids=OTHERS)
@pytest.mark.filterwarnings("ignore:.*left out", "ignore:.*damaged")
def test_a_recipe_makes_the_same_stage_again(make: Make, tmp_path: Path) -> None:
    ds = make(tmp_path)
    recipe = ds.to_recipe()
    for text in (recipe.to_json(), recipe.to_yaml()):
        again = ks.from_recipe(ks.Recipe.parse(text), trust=True, on_change="error")
        assert identify(again._node).fingerprint == identify(ds._node).fingerprint
        assert again.to_recipe() == recipe
        assert_elements_equal(list(again), list(ds))


@pytest.mark.filterwarnings("ignore:.*left out")
def test_no_stage_is_missing(tmp_path: Path) -> None:
    seen: set[str | None] = set()
    for number, make in enumerate(OTHERS.values()):
        folder = tmp_path / str(number)
        folder.mkdir()
        seen |= {stage_name(node) for node in make(folder)._node.walk()}
    for case in CASES:
        seen |= {stage_name(node) for node in case.make()._node.walk()}
    for name, door in DOORS.items():
        path = tmp_path / f"{name}{door.ending}"
        door.write(door.dataset(3), path)
        seen |= {stage_name(node) for node in door.read(path)._node.walk()}
    assert set(STAGES) - seen == set()


def stages() -> list[type[Node]]:
    """All classes of stages that there are, but those that others are made from."""
    found: list[type[Node]] = []
    for module in pkgutil.walk_packages(keepset.__path__, "keepset."):
        if not module.name.endswith("__main__"):
            try:
                importlib.import_module(module.name)
            except ImportError:
                continue  # a framework that is not installed
    todo = Node.__subclasses__()
    while todo:
        kind = todo.pop()
        todo += kind.__subclasses__()
        if kind.__module__.startswith("keepset.") and not inspect.isabstract(kind):
            found.append(kind)
    return found


def test_every_class_of_a_stage_has_a_name() -> None:
    named = {stage_class(name) for name in STAGES}
    # What only part of an element is made by, or only workers see.
    lacking = sorted(
        kind.__name__ for kind in stages() if kind not in named and not is_stand_in(kind)
    )
    assert lacking == []


def test_no_parameter_is_called_as_what_a_recipe_says_itself() -> None:
    for name in STAGES:
        assert not {field.name for field in fields(stage_class(name))} & {*NOT_PARAMETERS}, name
