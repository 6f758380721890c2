"""Blind names: the functions and values of libraries that a fingerprint cannot see through."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from types import BuiltinMethodType, MethodType
from typing import Any

from keepset.core.fingerprint.class_attributes import is_a
from keepset.core.fingerprint.stand_ins import Dotted, Made
from keepset.core.record import record

_PATH_METHODS = [
    *("exists", "glob", "is_dir", "is_file", "is_symlink", "iterdir", "lstat", "open"),
    *("read_bytes", "read_text", "readlink", "rglob", "samefile", "stat", "walk"),
]
# Names by module; a star stands for anything.
_FILES = {
    "builtins": ["open"],
    "bz2": ["open", "BZ2File"],
    "codecs": ["open"],
    "cv2": ["imread", "imreadmulti", "VideoCapture"],
    "datasets": ["load_*"],
    "decord": ["VideoReader"],
    "dbm": ["open"],
    "filecmp": ["cmp"],
    "fileinput": ["input", "FileInput"],
    "fsspec": ["open", "open_files"],
    "glob": ["glob", "iglob"],
    "gzip": ["open", "GzipFile"],
    "h5py": ["File"],
    "httpx": ["get", "post", "request"],
    "imageio": ["imread"],
    "imageio.v2": ["imread"],
    "imageio.v3": ["imread"],
    "importlib.resources": ["contents", "files", "is_resource", "open_*", "path", "read_*"],
    "io": ["open", "FileIO", "open_code"],
    "joblib": ["load"],
    "json5": ["load"],
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
    "numpy": ["fromfile", "fromregex", "genfromtxt", "load", "loadtxt", "memmap"],
    "numpy.lib.format": ["open_memmap"],
    "os": [
        *("access", "listdir", "lstat", "open", "popen", "readlink", "scandir", "stat", "system"),
        "walk",
    ],
    "os.path": [
        *("exists", "getatime", "getctime", "getmtime", "getsize", "isdir", "isfile", "islink"),
        *("lexists", "samefile"),
    ],
    "pandas": ["read_*"],
    "PIL.Image": ["open"],
    "PIL.ImageFont": ["load", "load_path", "truetype"],
    "pathlib": [*(f"Path.{name}" for name in _PATH_METHODS)],
    "pkgutil": ["get_data"],
    "polars": ["read_*", "scan_*"],
    "pyarrow": ["memory_map"],
    "pyarrow.csv": ["open_csv", "read_csv"],
    "pyarrow.dataset": ["dataset"],
    "pyarrow.feather": ["read_*"],
    "pyarrow.fs": ["*FileSystem"],
    "pyarrow.json": ["read_json"],
    "pyarrow.parquet": ["read_*", "ParquetFile"],
    "requests": ["get", "post", "request"],
    "safetensors": ["safe_open"],
    "safetensors.numpy": ["load_file"],
    "safetensors.torch": ["load_file"],
    "scipy.io": ["loadmat", "mmread"],
    "scipy.io.wavfile": ["read"],
    "scipy.sparse": ["load_npz"],
    "shelve": ["open"],
    "skimage.io": ["imread"],
    "soundfile": ["blocks", "read", "SoundFile"],
    "shutil": ["disk_usage", "which"],
    "subprocess": ["call", "check_call", "check_output", "getoutput", "run", "Popen"],
    "sqlite3": ["connect"],
    "tarfile": ["open"],
    "tifffile": ["imread"],
    "tokenizers": ["Tokenizer.from_file", "Tokenizer.from_pretrained"],
    "torch": ["from_file", "load"],
    "torchaudio": ["load"],
    "torchvision.io": ["read_*"],
    "transformers": ["AutoTokenizer.from_pretrained", "AutoModel.from_pretrained", "pipeline"],
    "urllib.request": ["urlopen", "urlretrieve"],
    "wave": ["open"],
    "xml.dom.minidom": ["parse"],
    "xml.etree.ElementTree": ["iterparse", "parse"],
    "zarr": ["open", "open_*", "load"],
    "zipfile": ["ZipFile"],
}
_ENVIRONMENT = {
    "builtins": ["input"],
    "getpass": ["getpass", "getuser"],
    "locale": ["getlocale", "localeconv"],
    "multiprocessing": ["cpu_count", "current_process"],
    "os": [
        *("cpu_count", "environ", "environb", "getcwd", "getcwdb", "getenv", "getenvb", "getlogin"),
        *("getpid", "getppid", "getuid", "sched_getaffinity", "uname"),
    ],
    "os.path": ["expanduser", "expandvars"],
    "pathlib": ["Path.cwd", "Path.home"],
    "platform": ["node", "uname"],
    "socket": ["getfqdn", "gethostbyname", "gethostname"],
    "sys": ["argv", "stdin"],
    "threading": ["get_ident", "get_native_id"],
}
_CODE = {
    "builtins": ["__import__", "compile", "eval", "exec", "globals", "locals"],
    "gc": ["get_objects", "get_referents", "get_referrers"],
    # What they make names classes and functions, whose code does not count.
    "pickle": ["loads", "Unpickler"],
    "cloudpickle": ["loads"],
    "dill": ["loads"],
    # They find code by a text, which may stand in a configuration.
    "detectron2.config": ["instantiate"],
    "django.utils.module_loading": ["import_string"],
    "hydra.utils": ["instantiate", "call", "get_class", "get_method", "get_object"],
    "hydra_zen": ["instantiate"],
    "marshal": ["loads"],
    "mmengine": ["Registry.build", "build_from_cfg"],
    "pkgutil": ["resolve_name"],
    "werkzeug.utils": ["import_string"],
    "importlib": ["import_module", "reload"],
    "importlib.machinery": ["SourceFileLoader", "SourcelessFileLoader"],
    "importlib.util": ["module_from_spec", "spec_from_file_location"],
    "importlib.metadata": ["entry_points", "version"],
    "inspect": ["currentframe", "getsource", "getsourcelines", "stack"],
    "pydoc": ["locate"],
    "runpy": ["run_module", "run_path"],
    "sys": ["_getframe", "modules"],
}
_RANDOM = {
    "keepset.tf.image": ["random_*", "sample_distorted_bounding_box"],
    "keepset.tf.random": [
        *("categorical", "gamma", "normal", "poisson", "shuffle", "truncated_normal", "uniform"),
        *("Generator.from_non_deterministic_state", "get_global_generator"),
    ],
    "numpy.random": ["*"],
    "os": ["getrandom", "urandom"],
    "random": ["*"],
    "secrets": ["*"],
    "torch": [
        *("bernoulli", "multinomial", "normal", "poisson", "rand", "rand_*", "randint"),
        *("randint_*", "randn", "randn_*", "randperm"),
    ],
    "torch.nn.functional": ["alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d"],
    "torch.nn.init": [
        "kaiming_*",
        "normal_",
        "orthogonal_",
        "trunc_normal_",
        "uniform_",
        "xavier_*",
    ],
    "uuid": ["uuid1", "uuid4"],
}
_CLOCK = {
    "datetime": ["date.today", "datetime.now", "datetime.today", "datetime.utcnow"],
    "numpy": ["datetime64"],
    "pandas": ["Timestamp", "Timestamp.now", "Timestamp.today", "Timestamp.utcnow", "to_datetime"],
    "time": [
        *("clock_gettime", "clock_gettime_ns", "ctime", "gmtime", "localtime", "monotonic"),
        *("monotonic_ns", "perf_counter", "perf_counter_ns", "process_time", "process_time_ns"),
        *("strftime", "thread_time", "thread_time_ns", "time", "time_ns"),
    ],
    "timeit": ["default_timer"],
}
_KINDS = {
    "file": _FILES,
    "environment": _ENVIRONMENT,
    "code": _CODE,
    "random": _RANDOM,
    "clock": _CLOCK,
}
# With a seed they give the same numbers each time.
SEEDED = {
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
WITHOUT_ARGUMENTS = {"time.ctime", "time.gmtime", "time.localtime", "builtins.vars"}
# They tell the time only if they are asked for it by a word.
OF_A_WORD = {"numpy.datetime64", "pandas.Timestamp", "pandas.to_datetime"}
CLOCK_WORDS = ("now", "today")
# Methods of objects that a function makes or uses, by the class that has them.
_METHODS = {
    "configparser.RawConfigParser": ["read"],
    "pathlib.Path": _PATH_METHODS,
}


_BOUND = (MethodType, BuiltinMethodType)


@record
class Spot:
    """Something that a fingerprint cannot see through: its full name and kind."""

    name: str
    kind: str

    @property
    def label(self) -> str:
        name = self.name.removeprefix("builtins.").removeprefix("datetime.datetime.")
        name = f"datetime.{name}" if self.name.startswith("datetime.datetime.") else name
        is_value = self.name in ("os.environ", "os.environb", "sys.argv", "sys.modules")
        return f"{'use' if is_value else 'call'} {name}"


def spot_of(value: Any) -> Spot | None:
    """What cannot be seen through, of something that a function calls or uses."""
    if is_a(value, Dotted):
        return _named(value.name)
    passed: set[int] = set()
    while is_a(value, functools.partial) and id(value) not in passed:
        passed.add(id(value))  # one may hold itself
        value = value.func
    owner = getattr(value, "__self__", None) if is_a(value, _BOUND) else None
    if is_a(value, MethodType):
        value = value.__func__  # class methods are bound anew each time
    known = _known(_loaded()).get(id(value))
    if known is None or known[0] is not value:
        return None
    # random.random is a method of a generator: that of another one is something else.
    return known[1] if known[2] is None or known[2] is owner else None


@functools.lru_cache(maxsize=1024)
def _named(name: str) -> Spot | None:
    for kind, modules in _KINDS.items():
        for module, patterns in modules.items():
            if name.startswith(f"{module}.") and name not in _NOT_MEANT:
                last = name[len(module) + 1 :]
                if any(fnmatchcase(last, pattern) for pattern in patterns):
                    return Spot(name, kind)
    return None


def _loaded() -> tuple[tuple[str, int], ...]:
    """The modules that are loaded, and how many names they have: some load more when asked."""
    modules = ((name, sys.modules.get(name)) for name in _all_modules())
    return tuple((name, len(vars(module))) for name, module in modules if module is not None)


@functools.cache
def _all_modules() -> tuple[str, ...]:
    return tuple(sorted({module for modules in _KINDS.values() for module in modules}))


@functools.lru_cache(maxsize=8)
def _known(loaded: tuple[tuple[str, int], ...]) -> dict[int, tuple[Any, Spot, Any]]:
    """The objects that the names of loaded modules lead to, and what they must be bound to."""
    found: dict[int, tuple[Any, Spot, Any]] = {}
    names = {name for name, _ in loaded}
    for kind, modules in _KINDS.items():
        for module in (name for name in modules if name in names):
            for pattern in modules[module]:
                for name, value in _matching(sys.modules[module], pattern):
                    full = f"{module}.{name}"
                    if full not in _NOT_MEANT:
                        function = getattr(value, "__func__", value)
                        owner = value.__self__ if is_a(value, MethodType) else None
                        owner = None if is_a(owner, type) else owner
                        found.setdefault(id(function), (function, Spot(full, kind), owner))
    vars_spot = Spot("builtins.vars", "code")
    found[id(vars)] = vars, vars_spot, None
    return found


def _member(value: Any, name: str) -> Any:
    """What a module or a class has by a name, without importing or binding anything."""
    places = value.__mro__ if is_a(value, type) else [value]
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


def method_spot(value: Any, name: str) -> Spot | None:
    """What cannot be seen through, of a method that is called on a value."""
    kind = value.kind if is_a(value, Made) else type(value)
    for full, names in _METHODS.items():
        module, _, owner = full.rpartition(".")
        known = getattr(sys.modules.get(module), owner, None)
        if name in names and known is not None and issubclass(kind, known):
            shown = "ConfigParser" if owner == "RawConfigParser" else owner
            return Spot(f"{shown}.{name}", "file")
    return None
