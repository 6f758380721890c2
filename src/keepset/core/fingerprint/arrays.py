"""Arrays: NumPy's arrays, scalars, dtypes, ufuncs and random generators, and other tensors."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import xxhash

from keepset.core.arrays import as_array
from keepset.core.dtypes import Array
from keepset.core.fingerprint.facts import digest_of
from keepset.core.fingerprint.moment import content_once
from keepset.core.fingerprint.plain import LARGE_BYTES, content_digest
from keepset.core.fingerprint.sketch import Sketch, Uncountable, part, shortened

_TENSOR_LIBRARIES = {"torch", "jax", "jaxlib", "tensorflow", "cupy"}

# As many strings are hashed together; fewer count one by one, so that a change can be shown.
_MANY_STRINGS = 1000

# How many elements of a large array are compared where hashing all would take too long.
_SAMPLED = 1024


def array_sketch(value: Any) -> Sketch | None:
    """The sketch of what belongs to NumPy, or is a tensor; None for everything else."""
    if "numpy.ma" in sys.modules and isinstance(value, np.ma.MaskedArray):
        parts = [part("data", value.filled()), part("mask", np.ma.getmaskarray(value))]
        return Sketch("masked array", f"masked {_array_text(value.data)}", parts=parts)
    if type(value) in (np.ndarray, np.memmap):
        return _array(value)
    if isinstance(value, np.generic):
        own = _dtype_bytes(value.dtype) + _array_content(np.asarray(value))
        return Sketch("scalar", shortened(f"{value.dtype} {value!s}"), own)
    if isinstance(value, np.dtype):
        return Sketch("dtype", f"dtype {value}", _dtype_bytes(value))
    if isinstance(value, np.ufunc):
        return _ufunc(value)
    if isinstance(value, np.vectorize):
        # Its other attributes are a cache that fills on the first call.
        used = ["pyfunc", "otypes", "signature", "excluded"]
        parts = [part(f"attribute {name}", getattr(value, name)) for name in used]
        return Sketch("np.vectorize", "np.vectorize", parts=parts)
    return _random(value) or _tensor(value)


def _array(value: Array) -> Sketch:
    own = _dtype_bytes(value.dtype) + repr(value.shape).encode()
    if value.dtype.hasobject or value.dtype.kind == "T":
        # Not bytes but references.
        content = content_once(
            value, lambda: _strings_content(value), lambda: _sampled_strings(value)
        )
        if not content:
            items = part("items", value.reshape(-1).tolist())
            return Sketch("array", _array_text(value), own, [items])
    else:
        content = _array_content(value)
    return Sketch("array", _array_text(value, content), own + content)


def _array_content(value: Array) -> bytes:
    if not value.nbytes:
        return b"empty"
    if value.nbytes < LARGE_BYTES:
        return content_digest(_bytes(value))
    return content_once(value, lambda: _large_content(value), lambda: _sample(value))


def _strings_content(value: Array) -> bytes:
    """Of many byte strings, their lengths and all that they hold; empty for anything else."""
    items = value.reshape(-1).tolist() if value.size >= _MANY_STRINGS else []
    if set(map(type, items)) != {bytes}:
        return b""
    lengths = np.fromiter(map(len, items), np.int64, len(items))
    state = xxhash.xxh3_128(lengths.astype("<i8", copy=False).data)
    for start in range(0, len(items), _MANY_STRINGS):  # a few at a time: all would be a copy
        state.update(b"".join(items[start : start + _MANY_STRINGS]))
    return b"strings" + state.digest()


def _sample(value: Array) -> bytes:
    """Some elements from everywhere in an array."""
    places = np.linspace(0, value.size - 1, _SAMPLED, dtype=np.int64)
    return value[np.unravel_index(places, value.shape)].tobytes()


def _sampled_strings(value: Array) -> bytes:
    items = value.reshape(-1)[:: max(1, value.size // _SAMPLED)].tolist()
    return b"".join(item if isinstance(item, bytes) else b"?" for item in items)


def _large_content(value: Array) -> bytes:
    if value.flags.c_contiguous:
        return content_digest(_bytes(value))
    # A strided array is copied block by block, so that hashing it needs no second gigabyte.
    state = xxhash.xxh3_128()
    for block in _blocks(value):
        state.update(_bytes(block))
    return b"xxh3" + state.digest()


def _bytes(value: Array) -> Any:
    """The bytes of an array, as a flat one."""
    return np.ascontiguousarray(value).reshape(-1).view(np.uint8)


def _blocks(value: Array) -> Iterator[Array]:
    """The array in pieces of a few megabytes, in the order of its elements."""
    rows = len(value)
    step = rows * 4 * LARGE_BYTES // value.nbytes
    if value.ndim > 1 and step == 0:
        for row in value:
            yield from _blocks(row)
    else:
        step = max(step, 1)
        yield from (value[start : start + step] for start in range(0, rows, step))


def _array_text(value: Array, content: bytes = b"") -> str:
    text = f"{value.dtype} array of shape {value.shape}"
    if value.size <= 8 and value.dtype.kind in "biufc":
        return shortened(f"{text}: {value.tolist()}", 120)
    return f"{text}, content {content[-4:].hex()}" if content else text


def _dtype_bytes(dtype: np.dtype[Any]) -> bytes:
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return digest_of(b"subarray", _dtype_bytes(base), repr(shape).encode())
    if dtype.fields is None:
        # ml_dtypes share one NumPy code, so the name has to tell them apart.
        order = "" if dtype.isnative else "swapped"
        return f"{dtype.name} {dtype.itemsize} {order}".encode()
    fields = [(name, *dtype.fields[name][:2]) for name in dtype.names or ()]
    parts = [(name.encode(), _dtype_bytes(item), repr(at).encode()) for name, item, at in fields]
    return digest_of(b"record", str(dtype.itemsize).encode(), *(b for row in parts for b in row))


def _ufunc(value: np.ufunc) -> Sketch:
    for module in ("numpy", "scipy.special", "ml_dtypes"):
        if getattr(sys.modules.get(module), value.__name__, None) is value:
            name = f"{module}.{value.__name__}"
            return Sketch("ufunc", name, name.encode(), library=module.partition(".")[0])
    raise Uncountable(f"the ufunc {value.__name__!r}", ", because it hides the function it calls")


def _random(value: Any) -> Sketch | None:
    if "numpy.random" not in sys.modules:
        return None  # then there is none
    if isinstance(value, np.random.Generator):
        return Sketch("generator", "np.random.Generator", parts=[part("bits", value.bit_generator)])
    if isinstance(value, np.random.RandomState):
        state = value.get_state(legacy=False)
        return Sketch("generator", "np.random.RandomState", parts=[part("state", state)])
    if isinstance(value, np.random.BitGenerator | np.random.SeedSequence):
        name = type(value).__name__
        return Sketch("generator", f"np.random.{name}", parts=[part("state", value.state)])
    return None


def _tensor(value: Any) -> Sketch | None:
    library = type(value).__module__.partition(".")[0]
    if library not in _TENSOR_LIBRARIES or not hasattr(value, "__array__"):
        return None
    try:
        sketch = _array(as_array(value))
    # One that is no array: TensorFlow has such for data sets, files and the like.
    except Exception as error:
        raise Uncountable(f"a tensor of {library}", shortened(f" ({error})", 200)) from error
    sketch.kind, sketch.text, sketch.library = "tensor", f"{library} {sketch.text}", library
    return sketch
