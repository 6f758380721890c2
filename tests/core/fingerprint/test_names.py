"""Modules of a user that are used as values count whole; methods count by what they are bound to."""

# ruff: noqa: E501 - sources are compared by eye more easily on one line each

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from keepset.core.fingerprint import differences, fingerprint_of_value
from keepset.errors import FingerprintError

Load = Callable[..., ModuleType]

USES = {
    "default": "import config\ndef f(x, cfg=config): return x * cfg.SIZE",
    "another name": "import config\nc = config\ndef f(x): return c.SIZE",
    "another local name": "import config\ndef f(x):\n    c = config\n    return c.SIZE",
    "getattr": "import config\ndef f(x): return getattr(config, 'SIZE')",
    "getattr of a variable": "import config\nNAME = 'SIZE'\ndef f(x): return getattr(config, NAME)",
    "vars": "import config\ndef f(x): return vars(config)['SIZE']",
    "__dict__": "import config\ndef f(x): return config.__dict__['SIZE']",
    "argument": "import config\ndef helper(m): return m.SIZE\ndef f(x): return helper(config)",
    "item": "import config\nTABLE = {'a': config}\ndef f(x): return TABLE['a'].SIZE",
    "list": "import config\nTABLE = [config]\ndef f(x): return TABLE[0].SIZE",
    "attribute": "import config\nclass A:\n    def __init__(self): self.m = config\n    def go(self, x): return self.m.SIZE\nf = A().go",
    "class attribute": "import config\nclass A:\n    m = config\ndef f(x): return A.m.SIZE",
    "partial": "import config, functools\ndef g(m, x): return m.SIZE\nf = functools.partial(g, config)",
    "captured": "import config\ndef make(m):\n    return lambda x: [m][0].SIZE\nf = make(config)",
    "captured attribute": "import config\ndef make(m):\n    return lambda x: m.SIZE\nf = make(config)",
    "conditional": "import config\ndef f(x): return (config if x else None).SIZE",
    "import inside": "def f(x):\n    import config\n    return getattr(config, 'SIZE')",
    "through a module": "import config, sys\nhub = type(sys)('hub')\nhub.inner = config\ndef f(x): return getattr(hub, 'inner').SIZE",
    "match": "import config\ndef f(x):\n    match config:\n        case object(SIZE=n): return n",
    "attrgetter": "import config, operator\nget = operator.attrgetter('SIZE')\ndef f(x): return get(config)",
    "module itself": "import config\nf = config",
    "function of it": "import config\ndef f(x): return getattr(config, 'size')()",
    "private": "import config\ndef f(x): return getattr(config, '_SIZE')",
    "class of it": "import config\ndef f(x): return getattr(config, 'Thing').n",
}
CONFIG = "import os, threading\nimport numpy as np\nSIZE = _SIZE = {0}\nLOCK = threading.Lock()\ndef size(): return {0}\nclass Thing:\n    n = {0}\n"


@pytest.mark.parametrize("source", USES.values(), ids=USES)
def test_a_module_as_a_value_counts_whole(load: Load, source: str) -> None:
    def digest(size: int) -> str:
        load(CONFIG.format(size), "config")
        return fingerprint_of_value(load(source).f).digest

    first = digest(1)
    assert digest(1) == first
    assert digest(2) != first


def test_attributes_that_are_taken_directly_count_alone(load: Load) -> None:
    def digest(size: int, other: int) -> str:
        load(f"SIZE = {size}\nOTHER = {other}", "config")
        return fingerprint_of_value(load("import config\ndef f(x): return config.SIZE").f).digest

    assert digest(1, 1) == digest(1, 2) != digest(2, 1)


def test_modules_that_a_module_imports_count_with_it(load: Load) -> None:
    def digest(n: int) -> str:
        load(f"N = {n}", "deeper")
        load("import deeper", "config")
        return fingerprint_of_value(load("import config\ndef f(x, c=config): return c").f).digest

    assert digest(1) == digest(1) != digest(2)


def test_the_change_is_named(load: Load) -> None:
    def facts(n: int) -> object:
        load(f"SIZE = {n}", "config")
        return fingerprint_of_value(load("import config\ndef f(x, c=config): return c").f)

    [found] = differences(facts(1), facts(2), name="map(f)")  # type: ignore[arg-type]
    assert str(found) == "map(f) > default c > attribute SIZE: 1 -> 2"


def test_a_module_of_a_library_counts_by_name(load: Load) -> None:
    import textwrap

    facts = fingerprint_of_value(textwrap)
    assert (facts.kind, facts.children) == ("module", ())


BOUND = "class Scaler:\n    def __init__(self, n): self.n = n\n    def transform(self, x): return x * self.n * {}\n    @classmethod\n    def make(cls, x): return {}\n"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (BOUND.format(1, 1) + "transform = Scaler(2).transform\nf = transform", BOUND.format(1, 1) + "transform = Scaler(3).transform\nf = transform"),
        (BOUND.format(1, 1) + "transform = Scaler(2).transform\nf = transform", BOUND.format(2, 1) + "transform = Scaler(2).transform\nf = transform"),
        (BOUND.format(1, 1) + "make = Scaler.make\nf = make", BOUND.format(1, 2) + "make = Scaler.make\nf = make"),
        (BOUND.format(1, 1) + "transform = Scaler(2).transform\ndef f(x): return transform(x)", BOUND.format(1, 1) + "transform = Scaler(3).transform\ndef f(x): return transform(x)"),
        ("append = [1].append\nf = append", "append = [2].append\nf = append"),
        ("import random\nrandom = random.Random(1).random\nf = random", "import random\nrandom = random.Random(2).random\nf = random"),
        ("import random\nclass R(random.Random):\n    def choice(self, x): return x[0]\nchoice = R(1).choice\nf = choice", "import random\nclass R(random.Random):\n    def choice(self, x): return x[1]\nchoice = R(1).choice\nf = choice"),
    ],
    ids=["state", "body", "class method", "global", "builtin", "library's object", "derived"],
)  # fmt: skip
def test_a_bound_method_that_is_a_global_counts_with_its_object(
    load: Load, one: str, other: str
) -> None:
    first = fingerprint_of_value(load(one).f).digest
    assert fingerprint_of_value(load(one, "elsewhere").f).digest == first
    assert fingerprint_of_value(load(other).f).digest != first


EXTENSION = """
#include <Python.h>
static PyObject *go(PyObject *self, PyObject *x) {{ return PyLong_FromLong({n}); }}
static PyMethodDef methods[] = {{{{"go", go, METH_O, ""}}, {{NULL, NULL, 0, NULL}}}};
static PyTypeObject Thing = {{PyVarObject_HEAD_INIT(NULL, 0) .tp_name = "{name}.Thing", .tp_basicsize = sizeof(PyObject), .tp_new = PyType_GenericNew}};
static struct PyModuleDef definition = {{PyModuleDef_HEAD_INIT, "{name}", NULL, -1, methods}};
PyMODINIT_FUNC PyInit_{name}(void) {{
    PyObject *module = PyModule_Create(&definition);
    PyType_Ready(&Thing);
    PyModule_AddObject(module, "Thing", (PyObject *)&Thing);
    return module;
}}
"""


@pytest.mark.parametrize("use", ["f = EXT.go", "def f(x): return EXT.go(x)", "f = EXT.Thing", "f = EXT.Thing().__class__", "f = EXT", "def f(x): return getattr(EXT, 'go')"])  # fmt: skip
def test_a_user_s_compiled_module_counts_by_its_file(
    load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, use: str
) -> None:
    """The file is changed, and need not even be one that could be loaded."""
    built = _built()
    (tmp_path / "here").mkdir()
    monkeypatch.syspath_prepend(str(tmp_path / "here"))
    copied = Path(shutil.copy(built, tmp_path / "here" / built.name))
    monkeypatch.delitem(sys.modules, "compiled_one", raising=False)
    source = "import compiled_one\n" + use.replace("EXT", "compiled_one")
    first = fingerprint_of_value(load(source).f).digest
    assert fingerprint_of_value(load(source).f).digest == first
    copied.rename(tmp_path / "moved")
    copied.write_bytes(built.read_bytes() + b"another build")
    assert fingerprint_of_value(load(source).f).digest != first
    monkeypatch.delitem(sys.modules, "compiled_one", raising=False)


def _built() -> Path:
    folder = Path(__file__).parent / "__pycache__"
    path = folder / f"compiled_one{sysconfig.get_config_var('EXT_SUFFIX')}"
    if not path.exists():
        compiler = shutil.which("cc")
        if compiler is None:
            pytest.skip("there is no C compiler")
        folder.mkdir(exist_ok=True)
        (folder / "compiled_one.c").write_text(EXTENSION.format(n=1, name="compiled_one"))
        include = sysconfig.get_path("include")
        command = [compiler, "-shared", "-fPIC", f"-I{include}", "-o", str(path)]
        done = subprocess.run(
            [*command, str(folder / "compiled_one.c")], capture_output=True, text=True, check=False
        )
        if done.returncode:
            pytest.skip(f"no extension can be built here: {done.stderr[:200]}")
    return path


def test_a_shared_library_counts_by_its_file(tmp_path: Path) -> None:
    import ctypes

    copied = Path(shutil.copy(_built(), tmp_path / "one.so"))
    library = ctypes.CDLL(str(copied))
    before = fingerprint_of_value(library).digest
    function = fingerprint_of_value(library.PyInit_compiled_one).digest
    assert fingerprint_of_value(ctypes.CDLL(str(copied))).digest == before
    copied.rename(tmp_path / "moved")
    copied.write_bytes(b"another build")
    assert fingerprint_of_value(library).digest != before
    assert fingerprint_of_value(library.PyInit_compiled_one).digest != function


def test_what_runs_in_a_module_is_no_error_and_elsewhere_it_is(load: Load) -> None:
    module = load("import threading\nLOCK = threading.Lock()\nDEEP = [LOCK]")
    with pytest.raises(FingerprintError, match="attribute DEEP holds item 0"):
        fingerprint_of_value(module, name="map(f)")
    del module.DEEP
    assert fingerprint_of_value(module).kind == "module"
