"""Blind spots: where walked functions use what their fingerprint cannot see through.

What is used is known by the object that a name leads to, and not by how it is spelled:
``from time import time as now`` is a clock, and a function of one's own called ``open`` is none.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from types import FunctionType
from typing import Any

from keepset.core.fingerprint.blind import Blind
from keepset.core.fingerprint.callable_methods import methods_of, running
from keepset.core.fingerprint.effects import Call, Effects
from keepset.core.fingerprint.functions import effects_of_function
from keepset.core.fingerprint.ignore import SEPARATOR, Ignore
from keepset.core.fingerprint.targets import Dotted, Made, Targets, is_path_class
from keepset.core.fingerprint.vertex import Vertex
from keepset.core.fingerprint.writers import is_random_generator
from keepset.core.record import record

# Names by module; a star stands for anything.
_FILES = {
    "builtins": ["open"],
    "bz2": ["open", "BZ2File"],
    "codecs": ["open"],
    "cv2": ["imread"],
    "glob": ["glob", "iglob"],
    "gzip": ["open", "GzipFile"],
    "h5py": ["File"],
    "imageio": ["imread"],
    "imageio.v2": ["imread"],
    "imageio.v3": ["imread"],
    "io": ["open", "FileIO", "open_code"],
    # Pipelines that a function opens; of those before a snapshot the files count.
    "keepset": [
        *("load", "read_*", "TFRecordDataset", "Dataset.load", "Dataset.list_files"),
        *("Dataset.read_*", "from_hf"),
    ],
    "keepset.tf.data": ["TFRecordDataset", "TextLineDataset", "FixedLengthRecordDataset"],
    "keepset.tf.io": ["read_file", "gfile.*", "matching_files"],
    "librosa": ["load"],
    "linecache": ["getline", "getlines"],
    "lzma": ["open", "LZMAFile"],
    "numpy": ["load", "loadtxt", "genfromtxt", "fromfile", "memmap"],
    "os": ["open", "popen", "listdir", "scandir", "walk", "stat"],
    "os.path": ["exists", "getmtime", "getsize", "isdir", "isfile"],
    "pandas": ["read_*"],
    "PIL.Image": ["open"],
    "polars": ["read_*", "scan_*"],
    "pyarrow.csv": ["read_csv"],
    "pyarrow.feather": ["read_*"],
    "pyarrow.json": ["read_json"],
    "pyarrow.parquet": ["read_*", "ParquetFile"],
    "requests": ["get", "post", "request"],
    "scipy.io": ["loadmat"],
    "skimage.io": ["imread"],
    "soundfile": ["read"],
    "subprocess": ["call", "check_call", "check_output", "getoutput", "run", "Popen"],
    "sqlite3": ["connect"],
    "tarfile": ["open"],
    "torch": ["load"],
    "torchaudio": ["load"],
    "torchvision.io": ["read_*"],
    "urllib.request": ["urlopen", "urlretrieve"],
    "wave": ["open"],
    "zipfile": ["ZipFile"],
}
_ENVIRONMENT = {
    "os": ["environ", "environb", "getenv", "getenvb", "getcwd"],
    "platform": ["node", "uname"],
    "socket": ["gethostname"],
    "sys": ["argv"],
}
_CODE = {
    "builtins": ["__import__", "compile", "eval", "exec", "globals", "locals"],
    "importlib": ["import_module", "reload"],
    "runpy": ["run_module", "run_path"],
    "sys": ["modules"],
}
_RANDOM = {
    "numpy.random": ["*"],
    "os": ["urandom"],
    "random": ["*"],
    "secrets": ["*"],
    "torch": [
        *("bernoulli", "multinomial", "normal", "poisson", "rand", "rand_*", "randint"),
        *("randint_*", "randn", "randn_*", "randperm"),
    ],
    "uuid": ["uuid1", "uuid4"],
}
_CLOCK = {
    "datetime": ["date.today", "datetime.now", "datetime.today", "datetime.utcnow"],
    "time": [
        *("ctime", "gmtime", "localtime", "monotonic", "monotonic_ns", "perf_counter"),
        *("perf_counter_ns", "process_time", "process_time_ns", "time", "time_ns"),
    ],
}
_KINDS = {
    "file": _FILES,
    "environment": _ENVIRONMENT,
    "code": _CODE,
    "random": _RANDOM,
    "clock": _CLOCK,
}
# With a seed they give the same numbers each time.
_SEEDED = {
    *("numpy.random.default_rng", "numpy.random.RandomState", "numpy.random.SeedSequence"),
    *("numpy.random.Generator", "random.Random", "random.seed", "numpy.random.seed"),
    *(f"numpy.random.{name}" for name in ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")),
}
# What is in the module of a kind and is not of it.
_NOT_MEANT = {
    *("random.getstate", "random.setstate", "numpy.random.get_state", "numpy.random.set_state"),
    *("numpy.random.BitGenerator", "numpy.random.bit_generator", "secrets.compare_digest"),
}
# They tell the time only if they are not given one.
_WITHOUT_ARGUMENTS = {"time.ctime", "time.gmtime", "time.localtime", "builtins.vars"}
_PATH_METHODS = {"glob", "iterdir", "open", "read_bytes", "read_text", "rglob", "stat"}

_WHY = {
    "file": "the content of the file does not count; read it before the pipeline is built and let "
    "the function use the value",
    "environment": "it does not count; read it into a variable before the pipeline is built",
    "code": "what it leads to does not count; name the functions and variables themselves",
    "random": "each pass gives other elements; use random_map(fn, seed=...)",
    "clock": "each pass gives other elements; read the time before the pipeline is built",
}


@record
class _Spot:
    """Something that a fingerprint cannot see through: its full name and kind."""

    name: str
    kind: str

    @property
    def label(self) -> str:
        name = self.name.removeprefix("builtins.").removeprefix("datetime.datetime.")
        name = f"datetime.{name}" if self.name.startswith("datetime.datetime.") else name
        is_value = self.name in ("os.environ", "os.environb", "sys.argv", "sys.modules")
        return f"{'use' if is_value else 'call'} {name}"


def blind_spots(root: Vertex, vertices: list[Vertex], ignore: Ignore | None) -> tuple[Blind, ...]:
    """What the functions that ``root`` runs cannot be compared by, without what is ignored."""
    found = dict.fromkeys([*_Search(root).run(), *_generators(vertices)])
    if ignore is None:
        return tuple(found)
    return tuple(
        blind for blind in found if not ignore.matches(f"{blind.where}{SEPARATOR}{blind.label}")
    )


def _generators(vertices: list[Vertex]) -> Iterator[Blind]:
    """Random generators that functions use: each draw changes what the next one gives."""
    for vertex in vertices:
        above = vertex.parent
        if above is None or not is_random_generator(vertex.value):
            continue
        if not is_random_generator(above.value):
            remedy = "its state counts and moves with each element; use random_map(fn, seed=...)"
            yield Blind(vertex.label, above.path, "random", False, remedy)


class _Search:
    def __init__(self, root: Vertex) -> None:
        self._targets, self._known = Targets(effects_of_function), _known(_loaded())
        self._running = running([root])
        self._functions = [
            vertex
            for vertex in self._running
            if vertex.sketch is not None and vertex.sketch.kind == "function"
        ]
        self._owners = self._self_parameters()
        # Functions that another one calls with what does not depend on the elements.
        self._called_with_constants: set[int] = set()

    def run(self) -> list[Blind]:
        self._look_at_callers()
        return [blind for vertex in self._functions for blind in self._spots(vertex)]

    def _self_parameters(self) -> dict[int, str]:
        found: dict[int, str] = {}
        for vertex in self._running:
            if vertex.sketch is not None and vertex.sketch.kind == "class":
                for _, function, _ in methods_of(vertex, self._running):
                    effects = effects_of_function(function)
                    if effects is not None and effects.parameters:
                        found[id(function)] = effects.parameters[0]
        return found

    def _look_at_callers(self) -> None:
        for _ in range(3):
            known = len(self._called_with_constants)
            for vertex in self._functions:
                for call in self._calls(vertex.value):
                    if not call.is_empty and self._is_constant(vertex.value, call.depends):
                        bound = self._targets.bound(vertex.value)
                        for inner, _ in self._targets.callees(vertex.value, call, bound):
                            self._called_with_constants.add(id(inner))
            if len(self._called_with_constants) == known:
                break

    def _calls(self, function: FunctionType) -> tuple[Call, ...]:
        effects = effects_of_function(function)
        return effects.calls if effects is not None else ()

    def _is_constant(self, function: FunctionType, depends: frozenset[str]) -> bool:
        if id(function) in self._called_with_constants:
            return "*" not in depends
        defaults = {*self._targets.bound(function), self._owners.get(id(function), "")}
        return not depends - defaults

    def _spots(self, vertex: Vertex) -> Iterator[Blind]:
        function, effects = vertex.value, effects_of_function(vertex.value)
        if effects is None:
            return
        bound = self._targets.bound(function)
        called = set()
        for call in effects.calls:
            called.add(call.path)
            for spot in self._of_call(function, call, bound):
                constant = spot.kind == "file" and self._is_constant(function, call.depends)
                yield _blind(spot, vertex.path, constant)
        yield from self._of_uses(vertex, effects, called, bound)

    def _of_uses(
        self, vertex: Vertex, effects: Effects, called: set[Any], bound: dict[str, list[Any]]
    ) -> Iterator[Blind]:
        """What is not called but passed on, or is no function."""
        for path in sorted(effects.uses - called, key=repr):
            for value in self._targets.values(vertex.value, path, bound):
                spot = _spot_of(value, self._known)
                if spot is not None and not _needs_look(spot):
                    yield _blind(spot, vertex.path, False)

    def _of_call(
        self, function: FunctionType, call: Call, bound: dict[str, list[Any]]
    ) -> Iterator[_Spot]:
        root, steps = call.path
        if steps and steps[-1][0] == "attr" and steps[-1][1] in _PATH_METHODS:
            for value in self._targets.values(function, (root, steps[:-1]), bound):
                kind = value.kind if isinstance(value, Made) else type(value)
                if is_path_class(kind) and not _only_writes(call, 0):
                    yield _Spot(f"Path.{steps[-1][1]}", "file")
        if steps and steps[-1] == ("attr", "__subclasses__"):
            yield _Spot("type.__subclasses__", "code")
        for value in self._targets.values(function, call.path, bound):
            spot = _spot_of(value, self._known)
            if spot is not None and _applies(spot, call):
                yield spot


def _blind(spot: _Spot, where: str, constant: bool) -> Blind:
    return Blind(spot.label, where, spot.kind, constant, _WHY[spot.kind])


def _needs_look(spot: _Spot) -> bool:
    return spot.name in _SEEDED or spot.name in _WITHOUT_ARGUMENTS


def _applies(spot: _Spot, call: Call) -> bool:
    if spot.name in _SEEDED:
        return call.is_empty or call.constants[:1] == (None,)
    if spot.name in _WITHOUT_ARGUMENTS:
        return call.is_empty
    if spot.kind == "random" and any(name == "generator" for name, _ in call.keywords):
        return False  # torch.rand(3, generator=...)
    return not (spot.kind == "file" and _only_writes(call, 1))


def _only_writes(call: Call, at: int) -> bool:
    """Whether a file is opened for writing alone: a log."""
    modes = [call.constants[at] if at < len(call.constants) else "r", dict(call.modes).get("mode")]
    return any(isinstance(mode, str) and mode[:1] in "wax" and "+" not in mode for mode in modes)


def _spot_of(value: Any, objects: dict[int, tuple[Any, _Spot]]) -> _Spot | None:
    if isinstance(value, Dotted):
        return _named(value.name)
    value = getattr(value, "__func__", value)  # class methods are bound anew each time
    known = objects.get(id(value))
    return known[1] if known is not None and known[0] is value else None


@functools.lru_cache(maxsize=1024)
def _named(name: str) -> _Spot | None:
    for kind, modules in _KINDS.items():
        for module, patterns in modules.items():
            if name.startswith(f"{module}.") and name not in _NOT_MEANT:
                last = name[len(module) + 1 :]
                if any(fnmatchcase(last, pattern) for pattern in patterns):
                    return _Spot(name, kind)
    return None


def _loaded() -> tuple[str, ...]:
    return tuple(name for name in _all_modules() if name in sys.modules)


@functools.cache
def _all_modules() -> tuple[str, ...]:
    return tuple(sorted({module for modules in _KINDS.values() for module in modules}))


@functools.lru_cache(maxsize=8)
def _known(loaded: tuple[str, ...]) -> dict[int, tuple[Any, _Spot]]:
    """The objects that the names of loaded modules lead to."""
    found: dict[int, tuple[Any, _Spot]] = {}
    for kind, modules in _KINDS.items():
        for module in (name for name in modules if name in loaded):
            for pattern in modules[module]:
                for name, value in _matching(sys.modules[module], pattern):
                    full = f"{module}.{name}"
                    if full not in _NOT_MEANT:
                        function = getattr(value, "__func__", value)
                        found.setdefault(id(function), (function, _Spot(full, kind)))
    vars_spot = _Spot("builtins.vars", "code")
    found[id(vars)] = vars, vars_spot
    return found


def _member(value: Any, name: str) -> Any:
    """What a module or a class has by a name, without importing or binding anything."""
    places = value.__mro__ if isinstance(value, type) else [value]
    found = (vars(place)[name] for place in places if name in getattr(place, "__dict__", {}))
    return next(found, None)


def _matching(module: Any, pattern: str) -> Iterator[tuple[str, Any]]:
    if "*" not in pattern:
        value: Any = module
        for name in pattern.split("."):
            value = _member(value, name)
        if value is not None:
            yield pattern, value
        return
    for name, value in list(vars(module).items()):
        # Not what the module imported for its own use.
        home = getattr(value, "__module__", None)
        is_its_own = home not in ("math", None) or hasattr(value, "__self__")
        if fnmatchcase(name, pattern) and name[0] != "_" and callable(value) and is_its_own:
            yield name, value
