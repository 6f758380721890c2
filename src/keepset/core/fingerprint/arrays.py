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
from keepset.core.fingerprint.library_objects import is_jax_key
from keepset.core.fingerprint.moment import content_once, remembered
from keepset.core.fingerprint.origin import is_library_class, library_of
from keepset.core.fingerprint.plain import LARGE_BYTES, content_digest, token
from keepset.core.fingerprint.sketch import Part, Sketch, Uncountable, part, shortened

_TENSOR_LIBRARIES = {"torch", "jax", "jaxlib", "tensorflow", "cupy"}

# As many values are hashed together; fewer count one by one, so that a change can be shown.
_MANY_STRINGS = 1000

# How many elements of a large array are compared where hashing all would take too long.
_SAMPLED = 1024


def array_sketch(value: Any) -> Sketch | None:
    """The sketch of what belongs to NumPy, or is a tensor; None for everything else."""
    kind = type(value)
    if "numpy.ma" in sys.modules and kind is np.ma.MaskedArray:
        return _masked(value)
    if kind in (np.ndarray, np.memmap):
        return _array(value)
    if isinstance(value, np.generic) and is_library_class(kind):
        own = _dtype_bytes(value.dtype) + _array_content(np.asarray(value))
        return Sketch("scalar", shortened(f"{value.dtype} {value!s}"), own)
    if isinstance(value, np.dtype):
        return Sketch("dtype", f"dtype {value}", _dtype_bytes(value), _metadata(value))
    if isinstance(value, np.ufunc):
        return _ufunc(value)
    if kind is np.vectorize:
        # Its other attributes are a cache that fills on the first call.
        used = ["pyfunc", "otypes", "signature", "excluded"]
        parts = [part(f"attribute {name}", getattr(value, name)) for name in used]
        return Sketch("np.vectorize", "np.vectorize", parts=parts)
    return _random(value) or _tensor(value)


def _masked(value: Any) -> Sketch:
    parts = [
        # Also what lies under the mask, which taking the mask off brings back.
        part("data", np.asarray(value)),
        part("mask", np.ma.getmaskarray(value)),
        part("fill value", value.fill_value),
        part("hard mask", bool(value.hardmask)),
    ]
    return Sketch("masked array", f"masked {_array_text(value.data)}", parts=parts)


def _array(value: Array) -> Sketch:
    own = _dtype_bytes(value.dtype) + repr(value.shape).encode() + _layout(value)
    more = _metadata(value.dtype)
    if value.dtype.hasobject or value.dtype.kind == "T":
        # Not bytes but references.
        content = content_once(
            value, lambda: _strings_content(value), lambda: _sampled_strings(value)
        )
        if not content:
            items = part("items", value.reshape(-1).tolist())
            return Sketch("array", _array_text(value), own, [items, *more])
    else:
        content = _array_content(value)
    return Sketch("array", _array_text(value, content), own + content, more)


def _layout(value: Array) -> bytes:
    """Whether columns lie together: sums round differently then, and ravel("K") differs."""
    return b"F" if value.flags.f_contiguous and not value.flags.c_contiguous else b""


def _metadata(dtype: np.dtype[Any]) -> list[Part]:
    return [part("metadata", dict(dtype.metadata))] if dtype.metadata else []


def _array_content(value: Array) -> bytes:
    if not value.nbytes:
        return b"empty"
    if value.nbytes < LARGE_BYTES:
        return content_digest(_bytes(value))

    def sample() -> bytes:
        return _sample(value)

    def find() -> bytes:
        if _is_fixed(value):
            return remembered(value, lambda: _large_content(value), sample)
        return _large_content(value)

    # A source and what a function captures may be two views of one memory, which is hashed once.
    memory = (value.ctypes.data, value.shape, value.strides, value.dtype.str)
    return content_once(value, find, sample, memory)


def _is_fixed(value: Array) -> bool:
    """Whether nothing can write to an array, nor to what it is a view of."""
    base: Any = value
    while isinstance(base, np.ndarray):
        if base.flags.writeable:
            return False
        if base.base is None:
            return bool(base.flags.owndata)
        base = base.base
    if type(base) is memoryview:
        base = base.obj if base.readonly else None
    # Not a buffer of Arrow: a file that is mapped, or an array of NumPy, may lie under it.
    return type(base) is bytes


def _strings_content(value: Array) -> bytes:
    """Of many plain values, such as strings, their lengths and bytes; empty for anything else."""
    items = value.reshape(-1).tolist() if value.size >= _MANY_STRINGS else []
    if not items:
        return b""
    state = xxhash.xxh3_128()
    for start in range(0, len(items), _MANY_STRINGS):  # a few at a time: all would be a copy
        tokens = [token(item) for item in items[start : start + _MANY_STRINGS]]
        if None in tokens:
            return b""
        found = [each for each in tokens if each is not None]
        state.update(np.fromiter(map(len, found), "<i8", len(found)).data)
        state.update(b"".join(found))
    return b"strings" + state.digest()


def _sample(value: Array) -> bytes:
    """Some elements from everywhere in an array."""
    places = np.linspace(0, value.size - 1, _SAMPLED, dtype=np.int64)
    return value[np.unravel_index(places, value.shape)].tobytes()


def _sampled_strings(value: Array) -> bytes:
    """Some items from everywhere in an array; empty if one of them is no plain value."""
    items = value.reshape(-1)[:: max(1, value.size // _SAMPLED)].tolist()
    tokens = [token(item) for item in items]
    return b"" if None in tokens else b"".join(each for each in tokens if each is not None)


def _large_content(value: Array) -> bytes:
    if value.flags.c_contiguous:
        return content_digest(_bytes(value))
    if value.flags.f_contiguous:
        # Bringing it into the other order would take thirty times as long as hashing it.
        return b"columns" + content_digest(_bytes(value.T))
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
    if dtype.kind == "T":
        settings = [repr(getattr(dtype, name, "")) for name in ("na_object", "coerce")]
        return digest_of(b"StringDType", *(each.encode() for each in settings))
    if dtype.fields is None:
        # ml_dtypes share one NumPy code, so the name has to tell them apart.
        order = "" if dtype.isnative else "swapped"
        return f"{dtype.name} {dtype.itemsize} {order}".encode()
    fields = [(name, dtype.fields[name]) for name in dtype.names or ()]
    parts = [
        (name.encode(), _dtype_bytes(item), repr((at, *title)).encode())
        for name, (item, at, *title) in fields
    ]
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
    if not is_library_class(type(value)):
        return None
    if isinstance(value, np.random.Generator):
        return Sketch("generator", "np.random.Generator", parts=[part("bits", value.bit_generator)])
    if value is np.random.mtrand._rand:
        # The one behind np.random.normal, which distributions of scipy hold: it counts by name.
        return Sketch("generator", "the generator of np.random", b"np.random", library="numpy")
    if isinstance(value, np.random.RandomState):
        state = value.get_state(legacy=False)
        return Sketch("generator", "np.random.RandomState", parts=[part("state", state)])
    if isinstance(value, np.random.BitGenerator | np.random.SeedSequence):
        name = type(value).__name__
        parts = [part("state", value.state)]
        # What new generators are made from.
        seeds = getattr(value, "seed_seq", None)
        parts += [part("seeds", seeds)] if isinstance(seeds, np.random.SeedSequence) else []
        return Sketch("generator", f"np.random.{name}", parts=parts)
    return None


def _tensor(value: Any) -> Sketch | None:
    kind = type(value)
    library = library_of(kind)
    if library not in _TENSOR_LIBRARIES or not hasattr(kind, "__array__"):
        return None
    if not is_library_class(kind) or _is_sparse(value) or is_jax_key(value):
        return None
    if kind.__name__ in ("UninitializedParameter", "UninitializedBuffer"):
        # Of a lazy module of torch, whose first call decides its shape and content.
        return Sketch(
            "tensor", f"{library} {kind.__name__}", str(value.dtype).encode(), library=library
        )
    try:
        sketch = _array(as_array(value))
    # One that is no array: TensorFlow has such for data sets, files and the like.
    except Exception as error:
        raise Uncountable(f"a tensor of {library}", shortened(f" ({error})", 200)) from error
    sketch.kind, sketch.text, sketch.library = "tensor", f"{library} {sketch.text}", library
    if library == "torch":
        # What a program has written to the tensor itself.
        added = sorted(vars(value).items())
        sketch.parts += [part(f"attribute {name}", item) for name, item in added]
    return sketch


def _is_sparse(value: Any) -> bool:
    return str(getattr(value, "layout", "")).startswith("torch.sparse")
