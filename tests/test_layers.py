"""The layers of the library: code imports its own layer or a lower one, and no import hides."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "keepset"

# Lowest first. The parts of one layer are neighbours and do not import each other.
LAYERS = (
    ("errors",),
    ("core",),
    ("storage", "codecs", "workers"),
    ("format",),
    ("nodes",),
    ("snapshot",),
    ("exchange", "adapters", "recipe", "distributed"),
    ("dataset",),
    ("testing",),
    ("report", "cli", "tf"),
    ("__main__",),
)
HEIGHT = {part: height for height, parts in enumerate(LAYERS) for part in parts}
FRONT = "__init__"  # the public names: sees every part, and no part sees it

# Within a part, lowest first; what lies beside these folders is above them.
SNAPSHOT_LAYERS = ("reading", "files", "identity", "writing", "upkeep")

# Required, but slow to import and not needed by everybody: processes, object stores, files of ours.
LAZY = {"cloudpickle", "crc32c", "ml_dtypes", "obstore"}
# Parts of the library that not everybody needs and all would wait for, and slow parts of Python's.
SLOW = {
    "keepset.adapters.huggingface.pipeline",
    "keepset.adapters.jax",
    "keepset.adapters.keras.data",
    "keepset.adapters.tensorflow.pipeline",
    "keepset.adapters.tensorflow.source",
    "keepset.adapters.torch.loader",
    "keepset.adapters.torch.pipeline",
    "keepset.adapters.torch.tensors",
    "keepset.dataset.kept_stages",
    "keepset.dataset.tensorflow_files",
    "keepset.dataset.written_arrays",
    "keepset.dataset.written_tables",
    "keepset.dataset.written_images",
    "keepset.exchange.memory.tables",
    "keepset.exchange.tensorflow.loading",
    "keepset.exchange.tensorflow.saving",
    "keepset.dataset.loaded_stages",
    # A walk over all that functions use, for messages.
    "keepset.core.lineage",
    "keepset.core.secrets.reachable",
    "keepset.recipe.describing",
    "keepset.recipe.document",
    "keepset.snapshot.beginning",
    "keepset.snapshot.explaining",
    "keepset.snapshot.writing.saving",
    "keepset.storage.disk_cache",
    "keepset.storage.objects",
    "keepset.workers.processes",
    "difflib",
    "hashlib",
    "importlib.metadata",
    "urllib.parse",
    "zipfile",
}


def test_every_import_keeps_to_the_layers() -> None:
    assert list(layer_violations(PACKAGE)) == []


def test_the_folders_of_snapshot_keep_to_their_layers_too() -> None:
    assert list(snapshot_violations(PACKAGE)) == []


def test_only_optional_packages_are_imported_inside_functions() -> None:
    assert list(hidden_imports(PACKAGE, required_packages() - LAZY)) == []


@pytest.mark.parametrize(
    ("file", "source", "complaint"),
    [
        ("core/chunk.py", "import keepset.nodes.map", "core must not import nodes"),
        ("nodes/map.py", "from keepset.dataset import Dataset", "nodes must not import dataset"),
        ("nodes/map.py", "from keepset import dataset", "nodes must not import dataset"),
        ("nodes/map.py", "from keepset import Dataset", "nodes must not import __init__"),
        ("nodes/map.py", "import keepset as ks", "nodes must not import __init__"),
        ("nodes/map.py", "from ..dataset import Dataset", "nodes must not import dataset"),
        ("nodes/__init__.py", "from .. import dataset", "nodes must not import dataset"),
        ("errors.py", "from .core import spec", "errors must not import core"),
        ("codecs/gzip.py", "import keepset.storage", "codecs must not import storage"),
        ("dataset.py", "import keepset.testing", "dataset must not import testing"),
        ("testing/contract.py", "import keepset.cli", "testing must not import cli"),
        ("misc.py", "import keepset.errors", "misc has no layer"),
        ("core/spec.py", "import keepset.misc", "misc has no layer"),
        ("core/spec.py", "def f(): import keepset.nodes", "core must not import nodes"),
        (
            "core/spec.py",
            "if TYPE_CHECKING:\n    from keepset.nodes import Map",
            "core must not import nodes",
        ),
    ],
)
def test_a_forbidden_import_is_found(
    tmp_path: Path, file: str, source: str, complaint: str
) -> None:
    write(tmp_path / file, source)
    [violation] = layer_violations(tmp_path)
    assert violation.startswith(f"{file}:")
    assert complaint in violation


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("nodes/map.py", "from keepset.core.node import Node"),
        ("nodes/map.py", "from ..errors import KeepsetError\nfrom .batch import Batch"),
        ("nodes/__init__.py", "from .map import Map"),
        ("nodes/map.py", "import numpy, keepset_extra"),
        ("testing/contract.py", "from keepset import dataset"),
        ("__init__.py", "from .cli import main\nfrom keepset.dataset import Dataset"),
    ],
)
def test_an_allowed_import_is_left_alone(tmp_path: Path, file: str, source: str) -> None:
    write(tmp_path / file, source)
    assert list(layer_violations(tmp_path)) == []


@pytest.mark.parametrize(
    ("source", "hidden"),
    [
        ("def f():\n    from keepset.core import spec", "keepset.core"),
        ("def f():\n    from . import batch", "keepset.nodes"),
        ("class A:\n    async def f(self):\n        if self: import json", "json"),
        ("def f():\n    import numpy.linalg", "numpy.linalg"),
    ],
)
def test_an_import_hidden_in_a_function_is_found(tmp_path: Path, source: str, hidden: str) -> None:
    write(tmp_path / "nodes" / "map.py", source)
    [violation] = hidden_imports(tmp_path, {"numpy"})
    assert violation.startswith("nodes/map.py:")
    assert f" {hidden} " in violation


def test_an_optional_package_may_be_imported_in_a_function(tmp_path: Path) -> None:
    write(tmp_path / "nodes" / "map.py", "import json\ndef f():\n    import pandas")
    assert list(hidden_imports(tmp_path, {"numpy"})) == []


@pytest.mark.parametrize(
    ("file", "source", "is_allowed"),
    [
        ("snapshot/reading/kept.py", "import keepset.snapshot.writing.lease", False),
        ("snapshot/writing/saving.py", "from keepset.snapshot.stage import x", False),
        ("snapshot/writing/saving.py", "from keepset.snapshot.reading.kept import x", True),
        ("snapshot/writing/saving.py", "from keepset.snapshot.writing.lease import x", True),
        ("snapshot/stage.py", "from keepset.snapshot.upkeep.removing import x", True),
    ],
)
def test_a_forbidden_import_between_folders_is_found(
    tmp_path: Path, file: str, source: str, is_allowed: bool
) -> None:
    write(tmp_path / file, source)
    assert bool(list(snapshot_violations(tmp_path))) != is_allowed


@dataclass(frozen=True)
class Import:
    """One imported module, by its full name, and where it is imported."""

    file: str
    line: int
    module: str
    in_function: bool

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def layer_violations(package: Path) -> Iterator[str]:
    """Say which imports point up or sideways, and which parts have no layer."""
    for found in imports(package):
        importer, imported = part_of(found.file), part_imported(found.module)
        if imported is None or importer in (FRONT, imported):
            continue
        for part in (importer, imported):
            if part != FRONT and part not in HEIGHT:
                yield f"{found}: {part} has no layer; give it one in {Path(__file__).name}"
                break
        else:
            if imported == FRONT or HEIGHT[imported] >= HEIGHT[importer]:
                yield f"{found}: {importer} must not import {imported}"


def snapshot_violations(package: Path) -> Iterator[str]:
    """Say which imports between the folders of snapshot point up."""
    heights = {folder: height for height, folder in enumerate(SNAPSHOT_LAYERS)}
    top = len(heights)
    for found in imports(package):
        part, _, rest = found.file.partition("/")
        inner = found.module.removeprefix("keepset.snapshot.")
        if part != "snapshot" or inner == found.module:
            continue
        importer, imported = rest.partition("/")[0], inner.partition(".")[0]
        if heights.get(imported, top) > heights.get(importer, top):
            yield f"{found}: snapshot/{importer} must not import {imported}"


def hidden_imports(package: Path, required: set[str]) -> Iterator[str]:
    """Say which imports inside functions are not of optional packages."""
    always_there = {"keepset", *required, *sys.stdlib_module_names}
    for found in imports(package):
        name = found.module.partition(".")[0]
        if found.in_function and name in always_there and found.module not in SLOW:
            yield f"{found}: import {found.module} at the top of the file, not in a function"


def imports(package: Path) -> Iterator[Import]:
    """Give every import of every file, wherever in the file it stands."""
    for path in sorted(package.rglob("*.py")):
        file = path.relative_to(package).as_posix()
        for node, in_function in statements(ast.parse(path.read_bytes(), str(path))):
            for module in imported_modules(node, file):
                yield Import(file, node.lineno, module, in_function)


def statements(tree: ast.AST, in_function: bool = False) -> Iterator[tuple[ast.stmt, bool]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.stmt):
            yield node, in_function
        inside = in_function or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        yield from statements(node, inside)


def imported_modules(node: ast.stmt, file: str) -> Iterator[str]:
    """Give the full names of the modules that a statement imports from."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        folders = ["keepset", *Path(file).parts[:-1]]
        base = folders[: len(folders) - node.level + 1] if node.level else []
        module = ".".join([*base, *([node.module] if node.module else [])])
        names = [alias.name for alias in node.names] if module == "keepset" else []
        # "from keepset import" takes a part, or a public name from the front.
        yield from {f"keepset.{name}" if name in HEIGHT else module for name in names} or {module}


def part_of(file: str) -> str:
    return Path(file).parts[0].removesuffix(".py")


def part_imported(module: str) -> str | None:
    """Name the part of the library that a module belongs to; None for other people's."""
    package, _, inside = module.partition(".")
    if package != "keepset":
        return None
    return inside.partition(".")[0] or FRONT


def required_packages() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return {re.split(r"[^\w-]", name)[0].replace("-", "_") for name in project["dependencies"]}


def write(path: Path, source: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source)
