"""What a fingerprint cannot see through is reported where it is used."""

# ruff: noqa: E501 - small programs are read more easily on one line each

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import keepset as ks
from keepset.core.fingerprint import Blind, Ignore, combine, fingerprint_of_value

Load = Callable[..., ModuleType]

# Programs, and what is reported of their `f`: label, kind, and whether a file's name is constant.
SPOTS = {
    "sys.modules": (
        "import sys\ndef f(x): return sys.modules['config'].SIZE",
        "use sys.modules",
        "code",
        False,
    ),
    "__subclasses__": (
        "class A: pass\ndef f(x): return A.__subclasses__()",
        "call type.__subclasses__",
        "code",
        False,
    ),
    "open of a text": ("def f(x): return open('a.txt').read()", "call open", "file", True),
    "open of a global": (
        "P = 'a.txt'\ndef f(x):\n    with open(P) as g: return g.read()",
        "call open",
        "file",
        True,
    ),
    "open of the element": ("def f(x): return open(x).read()", "call open", "file", False),
    "open of a part of the element": (
        "def f(x):\n    path = 'data/' + x['path']\n    return open(path)",
        "call open",
        "file",
        False,
    ),
    "open of a local text": (
        "def f(x):\n    path = 'a' + '.txt'\n    return open(path)",
        "call open",
        "file",
        True,
    ),
    "open of a default": ("def f(x, path='a.txt'): return open(path)", "call open", "file", True),
    "open under another name": (
        "read = open\ndef f(x): return read('a.txt')",
        "call open",
        "file",
        True,
    ),
    "open as a value": ("def f(x): return list(map(open, x))", "call open", "file", False),
    "io.open": ("import io\ndef f(x): return io.open('a.txt')", "call open", "file", True),
    "gzip": ("import gzip\ndef f(x): return gzip.open('a.txt')", "call gzip.open", "file", True),
    "Path.read_text": (
        "from pathlib import Path\ndef f(x): return Path('a.txt').read_text()",
        "call Path.read_text",
        "file",
        True,
    ),
    "Path of the element": (
        "from pathlib import Path\ndef f(x): return Path(x).read_bytes()",
        "call Path.read_bytes",
        "file",
        False,
    ),
    "global path": (
        "import pathlib\nROOT = pathlib.Path('a')\ndef f(x): return (ROOT / 'b').read_bytes()",
        "call Path.read_bytes",
        "file",
        True,
    ),
    "file below a global path": (
        "import pathlib\nROOT = pathlib.Path('a')\ndef f(x): return (ROOT / x).open()",
        "call Path.open",
        "file",
        False,
    ),
    "np.load": (
        "import numpy as np\ndef f(x): return np.load('a.npy')",
        "call numpy.load",
        "file",
        True,
    ),
    "np.loadtxt imported inside": (
        "def f(x):\n    from numpy import loadtxt\n    return loadtxt(x)",
        "call numpy.loadtxt",
        "file",
        False,
    ),
    "a library that is not loaded": (
        "def f(x):\n    import sunau_never, wave\n    return wave.open(x)",
        "call wave.open",
        "file",
        False,
    ),
    "helper with a text": (
        "def read(p): return open(p)\ndef f(x): return read('a.txt')",
        "call open",
        "file",
        True,
    ),
    "helper with the element": (
        "def read(p): return open(p)\ndef f(x): return read(x)",
        "call open",
        "file",
        False,
    ),
    "attribute of an object": (
        "class C:\n    def __init__(self): self.p = 'a'\n    def __call__(self, x): return open(self.p)\nf = C()",
        "call open",
        "file",
        True,
    ),
    "nested function": (
        "def f(x):\n    def g(p): return open(p)\n    return g(x)",
        "call open",
        "file",
        False,
    ),
    "os.environ": (
        "import os\ndef f(x): return os.environ['A']",
        "use os.environ",
        "environment",
        False,
    ),
    "environ.get": (
        "from os import environ as e\ndef f(x): return e.get('A')",
        "use os.environ",
        "environment",
        False,
    ),
    "os.getenv": (
        "import os\ndef f(x): return os.getenv('A')",
        "call os.getenv",
        "environment",
        False,
    ),
    "eval": ("def f(x): return eval('x + 1')", "call eval", "code", False),
    "exec": ("def f(x): exec('y = x')", "call exec", "code", False),
    "globals": ("N = 1\ndef f(x): return globals()['N']", "call globals", "code", False),
    "vars": ("def f(x): return vars()", "call vars", "code", False),
    "import_module": (
        "import importlib\ndef f(x): return importlib.import_module('math').sin(x)",
        "call importlib.import_module",
        "code",
        False,
    ),
    "__import__": ("def f(x): return __import__('math')", "call __import__", "code", False),
    "np.random": (
        "import numpy as np\ndef f(x): return np.random.rand()",
        "call numpy.random.rand",
        "random",
        False,
    ),
    "random": (
        "import random\ndef f(x): return random.random()",
        "call random.random",
        "random",
        False,
    ),
    "random's name": (
        "from random import choice as pick\ndef f(x): return pick(x)",
        "call random.choice",
        "random",
        False,
    ),
    "unseeded generator": (
        "import numpy as np\ndef f(x): return np.random.default_rng().random()",
        "call numpy.random.default_rng",
        "random",
        False,
    ),
    "unseeded Random": (
        "import random\ndef f(x): return random.Random().random()",
        "call random.Random",
        "random",
        False,
    ),
    "urandom": ("import os\ndef f(x): return os.urandom(3)", "call os.urandom", "random", False),
    "uuid": ("import uuid\ndef f(x): return uuid.uuid4().hex", "call uuid.uuid4", "random", False),
    "secrets": (
        "import secrets\ndef f(x): return secrets.token_hex()",
        "call secrets.token_hex",
        "random",
        False,
    ),
    "generator": (
        "import numpy as np\nR = np.random.default_rng(0)\ndef f(x): return R.random()",
        "global R",
        "random",
        False,
    ),
    "Random": (
        "import random\nR = random.Random(0)\ndef f(x): return R.random()",
        "global R",
        "random",
        False,
    ),
    "time": ("import time\ndef f(x): return time.time()", "call time.time", "clock", False),
    "time's name": (
        "from time import time as now\ndef f(x): return now()",
        "call time.time",
        "clock",
        False,
    ),
    "clock in a helper": (
        "import time\ndef g(): return time.perf_counter()\ndef f(x): return g()",
        "call time.perf_counter",
        "clock",
        False,
    ),
    "datetime": (
        "import datetime\ndef f(x): return datetime.datetime.now()",
        "call datetime.now",
        "clock",
        False,
    ),
    "datetime's name": (
        "from datetime import datetime\ndef f(x): return datetime.utcnow()",
        "call datetime.utcnow",
        "clock",
        False,
    ),
    "date": (
        "from datetime import date\ndef f(x): return date.today()",
        "call datetime.date.today",
        "clock",
        False,
    ),
}


def spots(function: Any, ignore: Ignore | None = None) -> tuple[Blind, ...]:
    return fingerprint_of_value(function, name="map(f)", ignore=ignore).blind


@pytest.mark.parametrize(("source", "label", "kind", "constant"), SPOTS.values(), ids=SPOTS)
def test_these_are_reported(load: Load, source: str, label: str, kind: str, constant: bool) -> None:
    [found] = spots(load(source).f)
    assert (found.label, found.kind, found.constant) == (label, kind, constant)
    assert found.where.startswith("map(f)")
    assert found.remedy


NONE = {
    "arithmetic": "import numpy as np\ndef f(x): return np.sqrt(x) + abs(x)",
    "own function of that name": "def open(x): return x\ndef f(x): return open(x)",
    "own method of that name": "class C:\n    def open(self, x): return x\nc = C()\ndef f(x): return c.open(x)",
    "method of that name": "import re\nP = re.compile('a')\ndef f(x): return x.time(), re.compile('b')",
    "seeded generator": "import numpy as np\ndef f(x): return np.random.default_rng(x).random()",
    "seeded Random": "import random\ndef f(x): return random.Random(3).random()",
    "written file": "def f(x):\n    with open('log.txt', 'a') as log: log.write(x)\n    return x",
    "written file by keyword": "def f(x):\n    with open('log.txt', mode='w') as log: log.write(x)\n    return x",
    "time of something": "import time\ndef f(x): return time.gmtime(x)",
    "attributes of an object": "class C: pass\nc = C()\ndef f(x): return vars(c)",
    "other things of os": "import os\ndef f(x): return os.path.join(x, os.sep)",
    "a method that nothing calls": "import time\nclass C:\n    def log(self): return time.time()\n    def __call__(self, x): return x\nf = C()",
}


@pytest.mark.parametrize("source", NONE.values(), ids=NONE)
def test_these_are_not(load: Load, source: str) -> None:
    assert spots(load(source).f) == ()


def test_the_place_is_named(load: Load) -> None:
    job = load("import time\ndef now(): return time.time()\ndef f(x): return now() + time.time()")
    assert [(each.where, each.label) for each in spots(job.f)] == [
        ("map(f)", "call time.time"),
        ("map(f) > helper now", "call time.time"),
    ]


def test_ignored_ones_are_not_reported(load: Load) -> None:
    job = load("import time\ndef now(): return time.time()\ndef f(x): return now() + time.time()")
    ignore = Ignore(["call time.time"])
    assert spots(job.f, ignore) == ()
    assert ignore.used == {"call time.time"}
    one = Ignore(["helper now > call time.time"])
    assert [each.where for each in spots(job.f, one)] == ["map(f)"]


def test_functions_without_a_source_are_read_too() -> None:
    space: dict[str, Any] = {"__name__": "typed"}
    exec("import time, os\ndef f(x): return time.time(), os.environ['A'], open(x)", space)
    labels = {each.label for each in spots(space["f"])}
    assert labels == {"call time.time", "use os.environ", "call open"}


def test_stages_put_their_blind_spots_together(load: Load) -> None:
    facts = fingerprint_of_value(load(SPOTS["time"][0]).f, name="map(f)")
    both = combine("map", "map(f)", [("function", facts), ("again", facts)])
    assert both.blind == facts.blind


def test_a_stage_warns_of_the_file_that_is_always_the_same(load: Load, tmp_path: Path) -> None:
    job = load(
        "import os\n"
        "def f(x): return open(x).read() + open('stats.json').read() + os.environ['HOME']"
    )
    (tmp_path / "a.txt").write_text("a")
    files = ks.Dataset.list_files(str(tmp_path / "*.txt"), shuffle=False)
    with pytest.warns(UserWarning, match="cannot see") as caught:
        files.map(job.f).snapshot(tmp_path / "stored")
    texts = [str(each.message) for each in caught]
    assert [text.split(", which")[0].rpartition(" uses ")[2] for text in texts] == [
        "open",
        "os.environ",
    ]
    assert texts[0].count("ignore=") == 1
