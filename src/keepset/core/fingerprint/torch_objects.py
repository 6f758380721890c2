"""Torch objects: compiled modules and functions, sparse tensors, and tensors of a user's class."""

from __future__ import annotations

import io
import re
import sys
import zipfile
from typing import Any

from keepset.core.fingerprint.origin import is_library_class, library_of
from keepset.core.fingerprint.sketch import Part, Sketch, part

# Numbers that torch gives to classes of one name, in the order in which a process compiles them.
_MANGLED = re.compile(rb"___torch_mangle_\d+\.")
# Files of an archive that name places in sources, or the archive itself.
_NOT_COUNTED = (".debug_pkl", "/version", "/byteorder", "/.data/serialization_id")

_COMPRESSED = {
    "torch.sparse_csr": ("crow_indices", "col_indices"),
    "torch.sparse_bsr": ("crow_indices", "col_indices"),
    "torch.sparse_csc": ("ccol_indices", "row_indices"),
    "torch.sparse_bsc": ("ccol_indices", "row_indices"),
}


def torch_sketch(value: Any) -> Sketch | None:
    """The sketch of an object of torch that needs a rule; None for everything else."""
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "Tensor"):
        return None
    if isinstance(value, torch.Tensor):
        return _tensor(value, torch)
    if not library_of(type(value)).startswith("torch") and not isinstance(value, torch.nn.Module):
        return None
    if isinstance(value, torch.jit.ScriptModule):
        return _archive(value)
    if isinstance(value, torch.jit.ScriptFunction):
        code, constants = value.code_with_constants
        parts = [part("code", _unmangled(code.encode()))]
        parts += [part("constants", dict(sorted(constants.const_mapping.items())))]
        return Sketch("compiled function", f"scripted function {value.name}", parts=parts)
    return None


def _tensor(value: Any, torch: Any) -> Sketch | None:
    kind = type(value)
    layout = str(value.layout)
    parts = [Part(f"class {kind.__name__}", kind, b"class"), part("layout", layout)]
    if layout == "torch.strided":
        if is_library_class(kind):
            return None
        parts.append(part("content", value.detach().as_subclass(torch.Tensor)))
    else:
        parts += [part("shape", tuple(value.shape)), *_sparse(value.detach(), layout)]
    attributes = getattr(value, "__dict__", {})
    parts += [part(f"attribute {name}", item) for name, item in sorted(attributes.items())]
    text = f"torch {value.dtype} tensor of shape {tuple(value.shape)}, {layout}"
    return Sketch("tensor", text, parts=parts, library="torch")


def _sparse(value: Any, layout: str) -> list[Part]:
    if layout == "torch.sparse_coo":
        # As it stands: entries that occur twice are added up by some operations only.
        return [part("indices", value._indices()), part("values", value._values())]
    names = (*_COMPRESSED[layout], "values")
    return [part(name, getattr(value, name)()) for name in names]


def _archive(value: Any) -> Sketch:
    """A compiled module by what ``torch.jit.save`` writes, without where its source lies."""
    torch = sys.modules["torch"]
    file = io.BytesIO()
    torch.jit.save(value, file)
    content = {}
    with zipfile.ZipFile(file) as archive:
        for name in archive.namelist():
            inner = name.partition("/")[2]
            if not name.endswith(_NOT_COUNTED):
                content[_unmangled(inner.encode()).decode()] = _unmangled(archive.read(name))
    parts = [part("content", dict(sorted(content.items())))]
    return Sketch("compiled function", "scripted module", parts=parts, library="torch")


def _unmangled(text: bytes) -> bytes:
    return _MANGLED.sub(b"", text)
