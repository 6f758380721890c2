"""Torch objects: compiled modules and functions, sparse tensors, and tensors of a user's class."""

from __future__ import annotations

import io
import re
import sys
from typing import Any

from keepset.core.fingerprint.origin import is_library_class, library_of
from keepset.core.fingerprint.sketch import Part, Sketch, part

# Numbers that torch gives to classes of one name, in the order in which a process compiles them.
_MANGLED = re.compile(rb"[./]?___torch_mangle_(\d+)")
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
        return _archive(value)
    if isinstance(value, torch.nn.Module) and "parametrizations" in value._modules:
        return _parametrized(value)
    return None


def _parametrized(value: Any) -> Sketch:
    """A module that ``weight_norm`` made: it has a class of its own, and cannot be copied."""
    kind = type(value).__mro__[1]
    parts = [Part(f"class {kind.__name__}", kind, b"class")]
    parts += [part(f"attribute {name}", item) for name, item in sorted(vars(value).items())]
    return Sketch("object", f"{kind.__name__} object", parts=parts, library="torch")


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
    import zipfile  # slow, and seldom needed

    torch = sys.modules["torch"]
    file = io.BytesIO()
    if isinstance(value, torch.jit.ScriptFunction):
        file.write(value.save_to_buffer())
    else:
        torch.jit.save(value, file)
    found: list[tuple[bytes, list[int], bytes]] = []
    with zipfile.ZipFile(file) as archive:
        for name in archive.namelist():
            inner = name.partition("/")[2].encode()
            if not name.endswith(_NOT_COUNTED):
                numbers = [int(number) for number in _MANGLED.findall(inner)]
                found.append((_unmangled(inner), numbers, _unmangled(archive.read(name))))
    # Classes of one name stay in the order in which they were compiled.
    parts = [part("content", [(name, content) for name, _, content in sorted(found)])]
    return Sketch(
        "compiled function", f"scripted {type(value).__name__}", parts=parts, library="torch"
    )


def _unmangled(text: bytes) -> bytes:
    return _MANGLED.sub(b"", text)
