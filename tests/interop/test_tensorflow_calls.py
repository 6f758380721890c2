"""Single calls, run by TensorFlow and by ``keepset.tf``: the same value, or the same kind of error.

Each line of a file in ``calls`` is an expression, or statements and an expression behind ``;``. The
first line is a title, behind which ``tolerance: 1e-4`` says how far floats may differ.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import keepset.tf

pytestmark = pytest.mark.interop

FOLDER = Path(__file__).parent / "calls"
FILES = FOLDER / "files"  # what the lines read


def _lines() -> list[tuple[str, str, float]]:
    found = []
    for file in sorted(FOLDER.glob("*.calls")):
        title, _, lines = file.read_text().partition("\n")
        _, _, number = title.partition("tolerance: ")
        tolerance = float(number or 1e-6)
        written = (line for line in lines.splitlines() if line and line[0] != "#")
        found += [(file.stem, line, tolerance) for line in written]
    return found


LINES = _lines()


@pytest.mark.parametrize(
    ("line", "tolerance"),
    [(line, tolerance) for _, line, tolerance in LINES],
    ids=[f"{file}: {line}" for file, line, _ in LINES],
)
def test_a_call_does_the_same(line: str, tolerance: float) -> None:
    import tensorflow as tf

    expected, got = outcome(line, tf), outcome(line, keepset.tf)
    if isinstance(expected, Exception):
        assert isinstance(got, Exception), (got, expected)
        kinds = kinds_of(expected, tf)
        assert kinds & kinds_of(got, keepset.tf), (got, expected)
    else:
        assert_same(got, expected, tolerance)


def outcome(line: str, tf: Any) -> Any:
    """What a line comes to: a value in plain Python and NumPy, or an error."""
    names: dict[str, Any] = {"tf": tf, "np": np, "D": tf.data.Dataset, "DIR": str(FILES)}
    *statements, last = ast.parse(line).body
    assert isinstance(last, ast.Expr)
    try:
        exec(compile(ast.Module(statements, []), "call", "exec"), names)
        value = eval(compile(ast.Expression(last.value), "call", "eval"), names)
        return plain(value, tf)
    except Exception as error:
        return error


def kinds_of(error: Exception, tf: Any) -> set[str]:
    """By which names programs catch an error."""
    kinds = {TypeError, ValueError, LookupError, AttributeError, NotImplementedError}
    kinds |= {StopIteration}
    found = {kind.__name__ for kind in kinds if isinstance(error, kind)}
    names = [name for name in dir(tf.errors) if name.endswith("Error") and name != "OpError"]
    return found | {name for name in names if isinstance(error, getattr(tf.errors, name))}


def plain(value: Any, tf: Any) -> Any:
    """A value without the classes of either library."""
    if isinstance(value, tf.TensorShape):
        return "shape", None if value.rank is None else value.as_list()
    if isinstance(value, tf.RaggedTensor):
        shape, splits = value.shape.as_list(), plain(list(value.nested_row_splits), tf)
        return "ragged", shape, splits, plain(value.flat_values, tf)
    if isinstance(value, tf.SparseTensor):
        parts = value.indices, value.values, value.dense_shape
        return "sparse", plain(list(parts), tf)
    if isinstance(value, tf.Tensor):
        return "tensor", str(value.dtype), tuple(value.shape), value.numpy()
    if isinstance(value, tf.data.Dataset):
        spec = [static(each) for each in tf.nest.flatten(value.element_spec)]
        return "dataset", spec, [plain(each, tf) for each in value.take(50)]
    if isinstance(value, tf.TypeSpec):
        return "type", repr(value), hash(value) is not None
    if isinstance(value, dict):
        return {key: plain(item, tf) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value).__name__, [plain(item, tf) for item in value]
    return type(value).__name__, value


def static(spec: Any) -> tuple[str, Any, str, Any]:
    """The type of a leaf in a dataset: shape, dtype, kind and ragged rank.

    A first element tells sizes that TensorFlow does not find by tracing a function, and the other
    way round; lines about such functions compare ``list(dataset)``.
    """
    shape, dtype = getattr(spec, "shape", None), getattr(spec, "dtype", None)
    sizes = None if shape is None or shape.rank is None else tuple(shape)
    return "spec", sizes, repr(dtype), (type(spec).__name__, getattr(spec, "ragged_rank", None))


def assert_same(got: Any, expected: Any, tolerance: float = 1e-6) -> None:
    assert type(got) is type(expected), (got, expected)
    if isinstance(expected, list | tuple):
        assert len(got) == len(expected), (got, expected)
        for one, other in zip(got, expected, strict=True):
            assert_same(one, other, tolerance)
    elif isinstance(expected, dict):
        assert got.keys() == expected.keys()
        for key in expected:
            assert_same(got[key], expected[key], tolerance)
    elif isinstance(expected, np.ndarray | np.generic) and expected.dtype.kind in "fc":
        # Next to 0, sums differ by what their items do.
        atol = 0 if tolerance == 1e-6 else tolerance
        assert_allclose(np.asarray(got), np.asarray(expected), rtol=tolerance, atol=atol)
    elif isinstance(expected, np.ndarray):
        assert got.dtype == expected.dtype
        assert (got == expected).all(), (got, expected)
    else:
        assert got == expected
