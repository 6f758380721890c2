"""A process that has imported Keepset, and forks a child for the programs that it is asked to run.

Requests are lines of JSON on the standard input, replies on the standard output. The programs of
one request run in one child, one after the other: most of what a child costs are the pages that
it copies while the first one runs.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import sys
import tempfile
import traceback
import types
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import keepset as ks

# Uses what the programs use, so that most of it is imported but once.
_FIRST = """
import asyncio, dataclasses, enum, functools, inspect, typing, unittest.mock
import numpy as np
import pandas
import pyarrow.parquet
import keepset as ks
import keepset.tf as tf
tf.data.Dataset, tf.constant
np.save("a.npy", np.arange(1))
ks.Dataset.from_tensor_slices([b"a"]).write_tfrecord("a.tfrecord")
for name in ("a.csv", "a.jsonl"):
    with open(name, "w") as file:
        print('{"a": 1}', file=file)
for read in (
    ks.read_text("a.csv"),
    ks.read_csv("a.csv", header=False),
    ks.read_json_lines("a.jsonl"),
    ks.read_npy("a.npy"),
    ks.read_fixed_length("a.csv", 1),
    ks.TFRecordDataset("a.tfrecord"),
    ks.Dataset.list_files("*.csv"),
):
    list(read)
ds = ks.read_text("a.csv").map(lambda x: x)
"""


def main() -> None:
    _import_what_is_used()
    gc.freeze()
    for line in sys.stdin:
        sys.stdout.write(json.dumps(_forked(json.loads(line))) + "\n")
        sys.stdout.flush()


def _import_what_is_used() -> None:
    """Import here what a pass imports late, so that no child has to.

    The pass itself runs in a child: it may start threads, which no fork would carry over.
    """
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "job.py")
        script.write_text(_FIRST)
        # The first stores, and the second replays.
        for _ in range(2):
            request = {"script": str(script), "store": f"{folder}/store", "passes": ["stored"]}
            (reply,) = _forked([request])
            if "error" in reply:
                raise RuntimeError(reply["error"])
            for name in reply["modules"]:
                with contextlib.suppress(ImportError):
                    importlib.import_module(name)


def _forked(requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        # What the programs print must not come between the replies.
        os.dup2(2, 1)
        with open(writing, "w") as pipe:
            for request in requests:
                print(json.dumps(_reply(**request)), file=pipe, flush=True)
        os._exit(0)
    os.close(writing)
    with open(reading) as pipe:
        replies = [json.loads(line) for line in pipe]
    _, status = os.waitpid(child, 0)
    # Where a program ends its process, the next one gets another.
    if len(replies) < len(requests):
        replies.append({"error": f"the process ended with status {status}"})
    return replies + (_forked(requests[len(replies) :]) if len(replies) < len(requests) else [])


def _reply(script: str, store: str, passes: list[str]) -> dict[str, Any]:
    try:
        return _run(Path(script), store, passes)
    except BaseException as error:
        return {"error": f"{type(error).__name__}: {error}\n{traceback.format_exc()}"}


def _run(script: Path, store: str, passes: list[str]) -> dict[str, Any]:
    before = set(sys.modules)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        dataset = _main(script).ds
        reply = _explained(dataset, store)
        for each in passes:
            source = dataset.snapshot(store) if each == "stored" else dataset
            reply[each] = [_plain(element) for element in source]
    reply["warnings"] = [str(each.message) for each in caught]
    reply["modules"] = sorted(set(sys.modules) - before)
    return reply


def _main(script: Path) -> types.ModuleType:
    """Run a script as ``python script`` does."""
    # Two versions of a module may agree in size and time, which is all that a .pyc file is
    # recognised by.
    sys.dont_write_bytecode = True
    os.chdir(script.parent)
    sys.path[0] = str(script.parent)
    sys.argv = [str(script)]
    module = types.ModuleType("__main__")
    module.__dict__.update(__file__=str(script), __builtins__=__builtins__)
    sys.modules["__main__"] = module
    code = compile(script.read_bytes(), script, "exec", dont_inherit=True)
    exec(code, module.__dict__)
    return module


def _explained(dataset: ks.Dataset, store: str) -> dict[str, Any]:
    try:
        explanation = ks.explain(dataset, store)
    except ks.FingerprintError as error:
        return {"refused": str(error), "hit": False, "fingerprint": "", "explained": ""}
    return {
        "refused": "",
        "hit": explanation.hit,
        "fingerprint": explanation.fingerprint,
        "explained": str(explanation),
    }


def _plain(element: Any) -> Any:
    """An element as JSON, in which different elements differ."""
    if isinstance(element, dict):
        return ["dict", *([key, _plain(value)] for key, value in element.items())]
    if isinstance(element, tuple | list):
        return [type(element).__name__, *map(_plain, element)]
    if isinstance(element, ks.Ragged | ks.Sparse):
        return repr(element)
    array = np.asarray(element)
    content = repr(array.tolist()) if array.dtype.hasobject else array.tobytes().hex()
    return [str(array.dtype), array.shape, content]


if __name__ == "__main__":
    main()
