"""Elements as JSON, for states that have to carry one."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from keepset.core.dtypes import StringType, as_dtype, is_text, text_array
from keepset.core.ragged import Ragged
from keepset.core.sparse import Sparse
from keepset.core.spec import spec_from_json, spec_of, spec_to_json
from keepset.core.structure import structure_of
from keepset.errors import ElementError


def element_to_json(element: Any) -> Any:
    """Plain JSON that :func:`element_from_json` turns back into the same bits."""
    structure = structure_of(element)
    leaves = [_leaf_to_json(leaf) for leaf in structure.leaves(element)]
    return {"spec": spec_to_json(spec_of(element)), "leaves": leaves}


def element_from_json(value: Any) -> Any:
    structure = structure_of(spec_from_json(value["spec"]))
    leaves = [_leaf_from_json(leaf) for leaf in value["leaves"]]
    if len(leaves) != structure.num_leaves:
        raise ElementError(f"{len(leaves)} leaves were found where {structure} has others")
    return structure.build(leaves)


def _leaf_to_json(leaf: Any) -> Any:
    if isinstance(leaf, bytes):
        return {"bytes": _text(leaf)}
    if isinstance(leaf, str):
        return {"text": leaf}
    if isinstance(leaf, Ragged):
        return {"ragged": [_leaf_to_json(leaf.values), _leaf_to_json(leaf.row_splits)]}
    if isinstance(leaf, Sparse):
        return {"sparse": [_leaf_to_json(x) for x in (leaf.indices, leaf.values, leaf.dense_shape)]}
    if not isinstance(leaf, np.ndarray | np.generic):
        raise ElementError(f"a state cannot carry a value of type {type(leaf).__name__}")
    shape = list(leaf.shape)
    if isinstance(leaf, np.ndarray) and is_text(leaf):
        return {"texts": leaf.ravel().tolist(), "shape": shape}
    if leaf.dtype == object:
        return {"strings": [_text(item) for item in np.ravel(leaf)], "shape": shape}
    return {"array": _text(leaf.tobytes()), "dtype": leaf.dtype.name, "shape": shape}


def _leaf_from_json(value: Any) -> Any:
    match value:
        case {"bytes": text}:
            return base64.b64decode(text)
        case {"text": text}:
            return text
        case {"texts": [*items], "shape": shape}:
            return text_array(items).reshape(shape)
        case {"ragged": [values, splits]}:
            return Ragged(_leaf_from_json(values), _leaf_from_json(splits))
        case {"sparse": [*parts]}:
            return Sparse(*map(_leaf_from_json, parts))
        case {"strings": [*items], "shape": shape}:
            strings = np.empty(len(items), object)
            strings[:] = [base64.b64decode(item) for item in items]
            return strings.reshape(shape)
        case {"array": text, "dtype": name, "shape": shape}:
            dtype = as_dtype(name)
            assert not isinstance(dtype, StringType)
            array = np.frombuffer(base64.b64decode(text), dtype).reshape(shape).copy()
            return array if shape else array[()]
    raise ElementError(f"{value!r:.80} is not a leaf in JSON")


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
