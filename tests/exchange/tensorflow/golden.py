"""Files that TensorFlow wrote, and what they hold; see the README beside them."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

import keepset as ks
from keepset.core.dtypes import as_dtype, storage_dtype

FOLDER = Path(__file__).parents[2] / "golden" / "tensorflow"


def cases(kind: str) -> list[str]:
    """The names of the data sets of one kind: ``save``, ``snapshot``, ..."""
    return sorted(path.name for path in (FOLDER / kind).iterdir() if path.is_dir())


def expected(kind: str, name: str) -> dict[str, Any]:
    return json.loads((FOLDER / kind / name / "expected.json").read_text())


def data(kind: str, name: str) -> Path:
    return FOLDER / kind / name / "data"


class Digest:
    """Stands for an array that is too large to be written down."""

    def __init__(self, dtype: str, shape: list[int], sha256: str) -> None:
        self.dtype, self.shape, self.sha256 = dtype, tuple(shape), sha256


def decoded(value: Any) -> Any:
    """An element out of its description."""
    match value:
        case None:
            return None
        case {"dict": items}:
            return {key: decoded(item) for key, item in items.items()}
        case {"tuple": items}:
            return tuple(map(decoded, items))
        case {"namedtuple": {"name": _, "fields": fields}}:
            return {key: decoded(item) for key, item in fields}
        case {"ragged": {"flat_values": values, "nested_row_splits": splits}}:
            made = decoded(values)
            for each in reversed(splits):
                made = ks.Ragged(made, decoded(each))
            return made
        case {"sparse": {"indices": indices, "values": values, "dense_shape": shape}}:
            return ks.Sparse(decoded(indices), decoded(values), decoded(shape))
        case {"dtype": "string", "shape": shape, "b64": texts}:
            array = np.empty(len(texts), object)
            array[:] = [base64.b64decode(text) for text in texts]
            return array.reshape(shape) if shape else array[0]
        case {"dtype": dtype, "shape": shape, "sha256": digest}:
            return Digest(dtype, shape, digest)
        case {"dtype": dtype, "shape": shape, "hex": digits}:
            array = np.frombuffer(bytes.fromhex(digits), storage_dtype(as_dtype(dtype))).reshape(
                shape
            )
            return array if shape else array[()]
    raise ValueError(f"{value!r} is not known")


def is_equal(found: Any, wanted: Any) -> bool:
    """Whether two elements have the same structure, types and bits."""
    if isinstance(wanted, Digest):
        return (
            found.dtype.name == wanted.dtype
            and found.shape == wanted.shape
            and hashlib.sha256(found.tobytes()).hexdigest() == wanted.sha256
        )
    if hasattr(found, "_asdict"):
        found = found._asdict()
    if isinstance(wanted, dict):
        return found.keys() == wanted.keys() and all(is_equal(found[k], wanted[k]) for k in wanted)
    if isinstance(wanted, tuple):
        return len(found) == len(wanted) and all(map(is_equal, found, wanted))
    if isinstance(wanted, ks.Ragged):
        return (
            isinstance(found, ks.Ragged)
            and found.row_splits.dtype == wanted.row_splits.dtype
            and np.array_equal(found.row_splits, wanted.row_splits)
            and is_equal(found.values, wanted.values)
        )
    if isinstance(wanted, ks.Sparse):
        parts = ("indices", "values", "dense_shape")
        return isinstance(found, ks.Sparse) and all(
            is_equal(getattr(found, part), getattr(wanted, part)) for part in parts
        )
    if wanted is None or isinstance(wanted, bytes):
        return bool(found == wanted)
    if np.asarray(wanted).dtype == object:
        return found.dtype == object and found.tolist() == wanted.tolist()
    return (
        found.dtype == wanted.dtype
        and np.shape(found) == np.shape(wanted)
        and found.tobytes() == wanted.tobytes()
    )


def flat(element: Any) -> Any:
    """The leaves alone, as a tuple, or the only one."""
    if hasattr(element, "_asdict"):
        element = element._asdict()
    leaves: list[Any] = []
    _leaves(element, leaves)
    return leaves[0] if len(leaves) == 1 else tuple(leaves)


def _leaves(element: Any, out: list[Any]) -> None:
    if isinstance(element, dict):
        for key in sorted(element):
            _leaves(element[key], out)
    elif isinstance(element, tuple):
        for item in element:
            _leaves(item, out)
    elif element is not None:
        out.append(element)
