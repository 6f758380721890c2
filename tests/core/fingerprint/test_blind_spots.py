"""What a fingerprint cannot see through is reported where it is used."""

# ruff: noqa: E501 - small programs are read more easily on one line each

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import keepset as ks
from keepset.core.fingerprint import Blind, Ignore, combine, fingerprint_of_value

Load = Callable[..., ModuleType]

# Programs, and what is reported of their `f`: label, kind, and where the name of a file comes from.
SPOTS = {
    "sys.modules": (
        "import sys\ndef f(x): return sys.modules['config'].SIZE",
        "use sys.modules",
        "code",
        "",
    ),
    "__subclasses__": (
        "class A: pass\ndef f(x): return A.__subclasses__()",
        "call type.__subclasses__",
        "code",
        "",
    ),
    "resolve_name": (
        "import pkgutil\ndef f(x): return pkgutil.resolve_name('operations:g')(x)",
        "call pkgutil.resolve_name",
        "code",
        "",
    ),
    "instantiate": (
        "def f(x):\n    from hydra.utils import instantiate\n    return instantiate({'_target_': 'operations.g'})(x)",
        "call hydra.utils.instantiate",
        "code",
        "",
    ),
    "get_method": (
        "def f(x):\n    import hydra.utils\n    return hydra.utils.get_method('operations.g')(x)",
        "call hydra.utils.get_method",
        "code",
        "",
    ),
    "a module of a file": (
        "import importlib.util\ndef f(x): return importlib.util.spec_from_file_location('g', 'g.py')",
        "call importlib.util.spec_from_file_location",
        "code",
        "",
    ),
    "path that an object made here holds": (
        "from pathlib import Path\nclass Rows:\n    def __init__(s, p): s.p = Path(p)\n    def read(s): return s.p.open().read()\ndef f(x): return Rows('k.txt').read()",
        "call Path.open",
        "file",
        "constant",
    ),
    "path that an object made here is given": (
        "from pathlib import Path\nclass Rows:\n    def __init__(s, p): s.p = p\n    def __iter__(s): return iter(s.p.read_text())\ndef f(x): return list(Rows(Path('k.txt')))",
        "call Path.read_text",
        "file",
        "constant",
    ),
    "path that an object of a base class holds": (
        "from pathlib import Path\nclass Base:\n    def __init__(s, p): s.p = Path(p)\nclass Rows(Base):\n    def read(s): return s.p.open().read()\ndef f(x): return Rows('k.txt').read()",
        "call Path.open",
        "file",
        "constant",
    ),
    "path that an object of a class made here holds": (
        "from pathlib import Path\ndef f(x):\n    class Rows:\n        def read(s): return s.p.open().read()\n        def __init__(s, p): s.p = Path(p)\n    return Rows('k.txt').read()",
        "call Path.open",
        "file",
        "derived",
    ),
    "open of a text": ("def f(x): return open('a.txt').read()", "call open", "file", "constant"),
    "open of a global": (
        "P = 'a.txt'\ndef f(x):\n    with open(P) as g: return g.read()",
        "call open",
        "file",
        "constant",
    ),
    "open of the element": ("def f(x): return open(x).read()", "call open", "file", "element"),
    "open of a part of the element": (
        "def f(x):\n    path = x['path']\n    return open(path)",
        "call open",
        "file",
        "element",
    ),
    "open of something made of the element": (
        "def f(x):\n    path = 'data/' + x['path']\n    return open(path)",
        "call open",
        "file",
        "derived",
    ),
    "open of the decoded element": (
        "def f(x):\n    name = x.decode('utf-8')\n    return open(name)",
        "call open",
        "file",
        "element",
    ),
    "open of a file next to the element": (
        "def f(x): return open(x.replace(b'im', b'lab'))",
        "call open",
        "file",
        "derived",
    ),
    "open of the element or a file next to it": (
        "def f(x):\n    if x.endswith(b'g'): x = x[:-3] + b'txt'\n    return open(x)",
        "call open",
        "file",
        "derived",
    ),
    "file next to the element by a path": (
        "import os\nfrom pathlib import Path\ndef f(x): return Path(os.fsdecode(x)).with_suffix('.txt').read_text()",
        "call Path.read_text",
        "file",
        "derived",
    ),
    "file in another folder": (
        "import pathlib\ndef f(x):\n    p = pathlib.Path(x.decode())\n    return (p.parent.parent / 'labels' / p.name).read_text()",
        "call Path.read_text",
        "file",
        "derived",
    ),
    "file next to the element by a text": (
        "def f(x): return open(f'{x}.txt')",
        "call open",
        "file",
        "derived",
    ),
    "helper with a file next to the element": (
        "def read(p): return open(p)\ndef f(x): return read(x.replace('a', 'b'))",
        "call open",
        "file",
        "derived",
    ),
    "helper of a helper with a file next to the element": (
        "def read(p): return open(p)\ndef load(*, path): return read(path)\ndef f(x): return load(path=x + '.txt')",
        "call open",
        "file",
        "derived",
    ),
    "helper that decodes": (
        "def text(p): return p.decode()\ndef f(x): return open(text(x))",
        "call open",
        "file",
        "element",
    ),
    "helper that makes another name": (
        "def label(p): return p.replace('im', 'lab')\ndef f(x): return open(label(x))",
        "call open",
        "file",
        "derived",
    ),
    "method with a file next to the element": (
        "class C:\n    def read(self, p): return open(p)\n    def __call__(self, x): return self.read(x + '.txt')\nf = C()",
        "call open",
        "file",
        "derived",
    ),
    "method with the element": (
        "class C:\n    def read(self, p): return open(p)\n    def __call__(self, x): return self.read(x)\nf = C()",
        "call open",
        "file",
        "element",
    ),
    "Path.exists": (
        "from pathlib import Path\ndef f(x): return Path('a').exists()",
        "call Path.exists",
        "file",
        "constant",
    ),
    "Path.cwd": (
        "from pathlib import Path\ndef f(x): return str(Path.cwd())",
        "call pathlib.Path.cwd",
        "environment",
        "",
    ),
    "configparser": (
        "import configparser\ndef f(x):\n    c = configparser.ConfigParser()\n    c.read('a.ini')\n    return c['a']['b']",
        "call ConfigParser.read",
        "file",
        "constant",
    ),
    "expandvars": (
        "import os\ndef f(x): return os.path.expandvars('$HOME/a')",
        "call os.path.expandvars",
        "environment",
        "",
    ),
    "pkgutil": (
        "import pkgutil\ndef f(x): return pkgutil.get_data('keepset', 'py.typed')",
        "call pkgutil.get_data",
        "file",
        "constant",
    ),
    "XML": (
        "import xml.etree.ElementTree as ET\ndef f(x): return ET.parse('a.xml').getroot().tag",
        "call xml.etree.ElementTree.parse",
        "file",
        "constant",
    ),
    "a seed that is None": (
        "import numpy as np\nSEED = None\ndef f(x): return np.random.default_rng(SEED).random()",
        "call numpy.random.default_rng",
        "random",
        "",
    ),
    "a seed that is None by default": (
        "import random\ndef f(x, seed=None): return random.Random(seed).random()",
        "call random.Random",
        "random",
        "",
    ),
    "strftime": (
        "import time\ndef f(x): return time.strftime('%Y')",
        "call time.strftime",
        "clock",
        "",
    ),
    "open of a local text": (
        "def f(x):\n    path = 'a' + '.txt'\n    return open(path)",
        "call open",
        "file",
        "constant",
    ),
    "open of a default": (
        "def f(x, path='a.txt'): return open(path)",
        "call open",
        "file",
        "constant",
    ),
    "open under another name": (
        "read = open\ndef f(x): return read('a.txt')",
        "call open",
        "file",
        "constant",
    ),
    "open as a value": ("def f(x): return list(map(open, x))", "call open", "file", "derived"),
    "io.open": ("import io\ndef f(x): return io.open('a.txt')", "call open", "file", "constant"),
    "gzip": (
        "import gzip\ndef f(x): return gzip.open('a.txt')",
        "call gzip.open",
        "file",
        "constant",
    ),
    "Path.read_text": (
        "from pathlib import Path\ndef f(x): return Path('a.txt').read_text()",
        "call Path.read_text",
        "file",
        "constant",
    ),
    "Path of the element": (
        "from pathlib import Path\ndef f(x): return Path(x).read_bytes()",
        "call Path.read_bytes",
        "file",
        "element",
    ),
    "global path": (
        "import pathlib\nROOT = pathlib.Path('a')\ndef f(x): return (ROOT / 'b').read_bytes()",
        "call Path.read_bytes",
        "file",
        "constant",
    ),
    "file below a global path": (
        "import pathlib\nROOT = pathlib.Path('a')\ndef f(x): return (ROOT / x).open()",
        "call Path.open",
        "file",
        "derived",
    ),
    "np.load": (
        "import numpy as np\ndef f(x): return np.load('a.npy')",
        "call numpy.load",
        "file",
        "constant",
    ),
    "np.loadtxt imported inside": (
        "def f(x):\n    from numpy import loadtxt\n    return loadtxt(x)",
        "call numpy.loadtxt",
        "file",
        "element",
    ),
    "a library that is not loaded": (
        "def f(x):\n    import sunau_never, wave\n    return wave.open(x)",
        "call wave.open",
        "file",
        "element",
    ),
    "helper with a text": (
        "def read(p): return open(p)\ndef f(x): return read('a.txt')",
        "call open",
        "file",
        "constant",
    ),
    "helper with the element": (
        "def read(p): return open(p)\ndef f(x): return read(x)",
        "call open",
        "file",
        "element",
    ),
    "attribute of an object": (
        "class C:\n    def __init__(self): self.p = 'a'\n    def __call__(self, x): return open(self.p)\nf = C()",
        "call open",
        "file",
        "constant",
    ),
    "a file that a new object reads": (
        "class C:\n    def __init__(self): self.v = open('a.txt').read()\ndef f(x): return C().v",
        "call open",
        "file",
        "constant",
    ),
    "nested function": (
        "def f(x):\n    def g(p): return open(p)\n    return g(x)",
        "call open",
        "file",
        "element",
    ),
    "os.environ": (
        "import os\ndef f(x): return os.environ['A']",
        "use os.environ",
        "environment",
        "",
    ),
    "environ.get": (
        "from os import environ as e\ndef f(x): return e.get('A')",
        "use os.environ",
        "environment",
        "",
    ),
    "os.getenv": (
        "import os\ndef f(x): return os.getenv('A')",
        "call os.getenv",
        "environment",
        "",
    ),
    "eval": ("def f(x): return eval('x + 1')", "call eval", "code", ""),
    "exec": ("def f(x): exec('y = x')", "call exec", "code", ""),
    "globals": ("N = 1\ndef f(x): return globals()['N']", "call globals", "code", ""),
    "vars": ("def f(x): return vars()", "call vars", "code", ""),
    "import_module": (
        "import importlib\ndef f(x): return importlib.import_module('math').sin(x)",
        "call importlib.import_module",
        "code",
        "",
    ),
    "__import__": ("def f(x): return __import__('math')", "call __import__", "code", ""),
    "np.random": (
        "import numpy as np\ndef f(x): return np.random.rand()",
        "call numpy.random.rand",
        "random",
        "",
    ),
    "random": (
        "import random\ndef f(x): return random.random()",
        "call random.random",
        "random",
        "",
    ),
    "random's name": (
        "from random import choice as pick\ndef f(x): return pick(x)",
        "call random.choice",
        "random",
        "",
    ),
    "unseeded generator": (
        "import numpy as np\ndef f(x): return np.random.default_rng().random()",
        "call numpy.random.default_rng",
        "random",
        "",
    ),
    "unseeded Random": (
        "import random\ndef f(x): return random.Random().random()",
        "call random.Random",
        "random",
        "",
    ),
    "urandom": ("import os\ndef f(x): return os.urandom(3)", "call os.urandom", "random", ""),
    "uuid": ("import uuid\ndef f(x): return uuid.uuid4().hex", "call uuid.uuid4", "random", ""),
    "secrets": (
        "import secrets\ndef f(x): return secrets.token_hex()",
        "call secrets.token_hex",
        "random",
        "",
    ),
    "generator": (
        "import numpy as np\nR = np.random.default_rng(0)\ndef f(x): return R.random()",
        "global R",
        "random",
        "",
    ),
    "Random": (
        "import random\nR = random.Random(0)\ndef f(x): return R.random()",
        "global R",
        "random",
        "",
    ),
    "generator of keepset.tf": (
        "import keepset.tf as tf\nR = tf.random.Generator.from_seed(0)\n"
        "def f(x): return R.uniform([])",
        "global R",
        "random",
        "",
    ),
    "random function of keepset.tf": (
        "import keepset.tf as tf\ndef f(x): return tf.random.normal([])",
        "call keepset.tf.random.normal",
        "random",
        "",
    ),
    "random image of keepset.tf": (
        "import keepset.tf as tf\ndef f(x): return tf.image.random_flip_left_right(x)",
        "call keepset.tf.image.random_flip_left_right",
        "random",
        "",
    ),
    "random crop of keepset.tf": (
        "import keepset.tf as tf\ndef f(x): return tf.image.random_crop(x, [1, 1, 3])",
        "call keepset.tf.image.random_crop",
        "random",
        "",
    ),
    "time": ("import time\ndef f(x): return time.time()", "call time.time", "clock", ""),
    "time's name": (
        "from time import time as now\ndef f(x): return now()",
        "call time.time",
        "clock",
        "",
    ),
    "clock in a helper": (
        "import time\ndef g(): return time.perf_counter()\ndef f(x): return g()",
        "call time.perf_counter",
        "clock",
        "",
    ),
    "datetime": (
        "import datetime\ndef f(x): return datetime.datetime.now()",
        "call datetime.now",
        "clock",
        "",
    ),
    "datetime's name": (
        "from datetime import datetime\ndef f(x): return datetime.utcnow()",
        "call datetime.utcnow",
        "clock",
        "",
    ),
    "date": (
        "from datetime import date\ndef f(x): return date.today()",
        "call datetime.date.today",
        "clock",
        "",
    ),
    "datetime64": (
        "import numpy as np\ndef f(x): return np.datetime64('now') - np.datetime64('2020-01-01')",
        "call numpy.datetime64",
        "clock",
        "",
    ),
    "today of pandas": (
        "import pandas as pd\ndef f(x): return pd.to_datetime('today')",
        "call pandas.to_datetime",
        "clock",
        "",
    ),
}


def spots(function: Any, ignore: Ignore | None = None) -> tuple[Blind, ...]:
    return fingerprint_of_value(function, name="map(f)", ignore=ignore).blind


@pytest.mark.parametrize(("source", "label", "kind", "file"), SPOTS.values(), ids=SPOTS)
def test_these_are_reported(load: Load, source: str, label: str, kind: str, file: str) -> None:
    [found] = spots(load(source).f)
    assert (found.label, found.kind, found.file) == (label, kind, file)
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
    "methods of a seeded generator": "import random\nimport numpy as np\ndef f(x): return random.Random(int(x)).randint(0, 9) + np.random.RandomState(int(x)).rand()",
    "a stream in memory": "import io, gzip\nimport numpy as np\ndef f(x): return np.load(io.BytesIO(x)), gzip.GzipFile(fileobj=io.BytesIO(x))",
    "a seed that is a variable": "import numpy as np\nSEED = 3\ndef f(x): return np.random.default_rng(SEED).random()",
    "strftime of a time": "import time\ndef f(x): return time.strftime('%Y', time.gmtime(x))",
    "other methods of paths": "from pathlib import Path\ndef f(x): return Path('a').parent.name",
    "a file that was read when the object was made": "class C:\n    def __init__(self):\n        with open('/dev/null') as g: self.v = g.read()\n    def __call__(self, x): return x\nf = C()",
    "a time that is written": "import numpy as np, pandas as pd\ndef f(x): return np.datetime64('2020-01-01'), np.datetime64(x), pd.Timestamp(x)",
    "a class that makes times": "import numpy as np\ndef f(x): return np.asarray(x, np.datetime64)",
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


OPENING = {
    "the element": ("files.map(job.read)", False),
    "the element through other stages": ("files.shuffle(4, seed=1).repeat(2).map(job.read)", False),
    "the element behind a predicate": ("files.filter(job.is_one).map(job.read)", False),
    "one of two that are zipped": ("ks.Dataset.zip((files, files)).map(job.read_both)", False),
    "one that is zipped with numbers": (
        "ks.Dataset.zip((files, ks.Dataset.range(9))).map(job.read_first)",
        False,
    ),
    "a file next to the element": ("files.map(job.read_label)", True),
    "what another function made": ("files.map(job.label).map(job.read)", True),
    "names in a file": ("ks.read_text(str(folder / '*.txt')).map(job.read)", True),
    "names in a column": (
        "ks.Dataset.zip((files, ks.Dataset.from_tensor_slices(['a.txt']))).map(job.read_both)",
        True,
    ),
    "names in a list": ("ks.Dataset.from_tensor_slices(['a.txt']).map(job.read)", True),
}


@pytest.mark.parametrize(("pipeline", "warns"), OPENING.values(), ids=OPENING)
def test_only_files_that_a_stage_names_may_be_opened_in_silence(
    load: Load, tmp_path: Path, pipeline: str, warns: bool
) -> None:
    job = load(
        "def read(x): return open(x).read()\n"
        "def read_first(x, _): return open(x).read()\n"
        "def read_both(x, y): return open(x).read() + open(y).read()\n"
        "def is_one(x): return x.endswith(b'.txt')\n"
        "def label(x): return x.replace(b'a.txt', b'b.txt')\n"
        "def read_label(x): return open(x.replace(b'a.txt', b'b.txt')).read()"
    )
    (tmp_path / "a.txt").write_text("a")
    files = ks.Dataset.list_files(str(tmp_path / "*.txt"), shuffle=False)
    ds = eval(pipeline, {"ks": ks, "files": files, "job": job, "folder": tmp_path})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ds.snapshot(tmp_path / "stored")
    texts = [str(each.message) for each in caught]
    assert len(texts) == warns, texts
    assert all("uses open, which the fingerprint" in text for text in texts)


@pytest.mark.parametrize("steps", [1, 2])
def test_a_partial_that_holds_itself_has_an_end(steps: int) -> None:
    first = last = functools.partial(print)
    for _ in range(steps - 1):
        last = functools.partial(print)
        last.__setstate__((first, (1,), {}, {}))  # type: ignore[attr-defined]
    first.__setstate__((last, (1,), {}, {}))  # type: ignore[attr-defined]
    assert fingerprint_of_value(lambda x: x + (first is not None)).blind == ()
    assert list(ks.Dataset.range(1).map(lambda x: x + (first is not None))) == [1]


OMEGACONF = """
    class AnyNode:
        def __init__(self, value): self._val = value

    class DictConfig:
        def __init__(self, content):
            self._content = {
                name: DictConfig(each) if isinstance(each, dict) else AnyNode(each)
                for name, each in content.items()
            }
"""


def test_functions_that_a_configuration_names_are_reported(
    install: Callable[[str, str], ModuleType], tmp_path: Path
) -> None:
    make = install("omegaconf", OMEGACONF).DictConfig
    config = make({"model": {"size": "${scale:2}", "same": "${model.size}"}, "n": "${oc.decode:3}"})

    def reported(**options: Any) -> list[str]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            ks.Dataset.range(3).map(lambda x: (x, config)[:1]).snapshot(tmp_path, **options)
        return [str(each.message) for each in caught]

    [said] = reported()
    assert "function > captured config uses resolver scale, which the fingerprint" in said
    assert reported(ignore=["resolver scale"]) == []


def test_a_variable_of_the_environment_in_a_configuration_is_reported(
    install: Callable[[str, str], ModuleType], tmp_path: Path
) -> None:
    config = install("omegaconf", OMEGACONF).DictConfig({"home": "${oc.env:HOME}"})
    with pytest.warns(UserWarning, match=r"uses resolver oc\.env"):
        ks.Dataset.range(3).map(lambda x: (x, config)[:1]).snapshot(tmp_path)
