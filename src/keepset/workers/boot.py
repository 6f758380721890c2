"""The first lines that run in a worker process or a nursery, as a script of their own.

A worker needs little of the library, and importing all of it would double the time to start one.
So ``keepset`` is at first an empty package here, and becomes the real one when a user's function
asks it for a name.
"""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from typing import Any


def _stand_in() -> None:
    # Not with pathlib, which takes longer to import than the rest of this file to run.
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    front = os.path.join(folder, "__init__.py")
    spec = spec_from_file_location("keepset", front, submodule_search_locations=[folder])
    assert spec is not None
    assert spec.loader is not None
    package, loader = module_from_spec(spec), spec.loader

    def load_on_demand(name: str) -> Any:
        # Gone before the real package is run, so that it misses what it really lacks.
        if package.__dict__.pop("__getattr__", None) is not None:
            loader.exec_module(package)
        return getattr(package, name)

    package.__dict__["__getattr__"] = load_on_demand
    sys.modules["keepset"] = package


def main() -> None:
    path, what, *rest = sys.argv[1:]
    sys.path[:] = json.loads(path)
    _stand_in()
    # Not before the stand-in is there, so they cannot be among the imports above.
    if what == "nursery":
        import_module("keepset.workers.nursing").main(int(rest[0]), rest[1:])
    else:
        import_module("keepset.workers.child").main(*map(int, rest))


if __name__ == "__main__":
    main()
