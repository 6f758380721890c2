"""Code: compiled functions, compared and hashed without positions, paths and docstrings."""

from __future__ import annotations

import dis
import platform
from types import CodeType
from typing import Any

from keepset.core.fingerprint.facts import digest_of
from keepset.core.fingerprint.plain import token

_COMPARED = (
    "co_code",
    "co_names",
    "co_varnames",
    "co_freevars",
    "co_cellvars",
    "co_argcount",
    "co_posonlyargcount",
    "co_kwonlyargcount",
    "co_flags",
    "co_exceptiontable",
)


def same_code(one: CodeType, other: CodeType) -> bool:
    """Whether two code objects do the same, wherever they stand in a file."""
    return (
        one.co_name == other.co_name
        and all(getattr(one, name) == getattr(other, name) for name in _COMPARED)
        and code_digest(one) == code_digest(other)
    )


def code_digest(code: CodeType) -> bytes:
    """128 bits of a code object; they mean something only within one version of Python."""
    facts = [repr(getattr(code, name)).encode() for name in _COMPARED]
    constants = list(code.co_consts)
    if constants and isinstance(constants[0], str) and not _loads_first_constant(code):
        constants[0] = None  # a docstring
    return digest_of(*facts, *(_constant(item) for item in constants))


def version_note() -> str:
    major, minor, _ = platform.python_version_tuple()
    return f"{platform.python_implementation()} {major}.{minor}"


def _loads_first_constant(code: CodeType) -> bool:
    return any(
        instruction.arg == 0 and instruction.opcode in dis.hasconst
        for instruction in dis.get_instructions(code)
    )


def _constant(value: Any) -> bytes:
    if isinstance(value, CodeType):
        return b"code" + value.co_name.encode() + code_digest(value)
    plain = token(value)
    if plain is not None:
        return plain
    if isinstance(value, tuple):
        return digest_of(b"tuple", *map(_constant, value))
    if isinstance(value, frozenset):
        return digest_of(b"frozenset", *sorted(map(_constant, value)))
    if isinstance(value, slice):
        return digest_of(b"slice", *map(_constant, (value.start, value.stop, value.step)))
    return repr(value).encode()
