"""Writing recipes: a pipeline, its parameters and its functions as plain data."""

from __future__ import annotations

import base64
import functools
import math
import os
import pathlib
import types
from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from keepset.core.chunk import Chunk
from keepset.core.dtypes import StringType, dtype_name, is_numeric
from keepset.core.element_json import element_to_json
from keepset.core.fingerprint import fingerprint_of_value
from keepset.core.fingerprint.reach import reach_of
from keepset.core.fingerprint.sketch import shortened
from keepset.core.lineage import secrets_of
from keepset.core.node import Node
from keepset.core.parameter import is_default
from keepset.core.ragged import Ragged
from keepset.core.random import Randomness
from keepset.core.secrets import (
    NONE,
    VAGUE,
    Mask,
    is_secret,
    secret_texts,
    strength_after,
    strength_of_name,
)
from keepset.core.secrets.arguments import positional_name, secret_signatures
from keepset.core.secrets.holders import strength_of_attribute, strength_of_key
from keepset.core.secrets.literals import masked_source
from keepset.core.sparse import Sparse
from keepset.core.spec import LeafSpec, spec_to_json
from keepset.core.structure import Structure, is_namedtuple
from keepset.errors import ElementError, FingerprintError, RecipeError
from keepset.recipe.imports import import_path
from keepset.recipe.source_text import futures_of, source_text
from keepset.recipe.stages import NAMING_FILES, parameter_fields, stage_name
from keepset.storage.private_url import PrivateUrl, whole_url

# What has more bytes, or more items, is named and not told.
MOST_BYTES: Final = 64 << 10
_MOST_ITEMS: Final = 8192
# Containers and functions that hold or use each other deeper than this are not written.
_MOST_DEEP: Final = 100
# As many items of a dict are shown one by one in a commit, too.
_MOST_KEYS: Final = 100
# An array of as many numbers is told for people.
_FEW_NUMBERS: Final = 64


class RecipeWriter:
    """Turns one pipeline into the stages of a recipe.

    Args:
        node: The last stage.
        known: Texts that are secret, and that nothing in the recipe may contain.
        hidden: The names that secrets are asked for by, of a recipe that this one is part of.

    Attributes:
        stages: Plain data, each stage behind those that it gets its elements from.
        nodes: The stages themselves.
        secrets: The texts that are secret by their names.
    """

    def __init__(
        self, node: Node, known: Iterable[str] = (), hidden: set[str] | None = None
    ) -> None:
        self.stages: list[dict[str, Any]] = []
        self.nodes: list[Node] = []
        self.secrets: set[str] = set(known)
        self._mask, self._hidden = Mask(known), set[str]() if hidden is None else hidden
        self._numbers: dict[int, int] = {}
        self._functions: dict[int, dict[str, Any]] = {}
        self._where, self._names_files, self._depth = "", False, 0
        self._add(node)

    @classmethod
    def of(cls, node: Node) -> RecipeWriter:
        """Write the recipe of a pipeline; secrets in it are hidden wherever they occur."""
        try:
            # What functions use that are written by their names counts, too.
            writer = cls(node, secrets_of(node))
            while writer.secrets - set(writer._mask.known):
                # What was found late may occur in what was written early.
                writer = cls(node, writer.secrets)
        except RecursionError as error:
            raise RecipeError(
                f"{node.title} has too many stages, or values that are nested too deeply, to be "
                "written as a recipe"
            ) from error
        return writer

    def _add(self, node: Node) -> None:
        for each in node.inputs:
            if id(each) not in self._numbers:
                self._add(each)
        name = stage_name(node)
        number = len(self.stages)
        self._where = f"stage {number}, {self._mask.text(node.title)}"
        if name is None:
            raise RecipeError(
                f"{self._where}: {type(node).__name__} is no stage of the library; a recipe cannot "
                "name it"
            )
        stage: dict[str, Any] = {"stage": name}
        self._names_files = name in NAMING_FILES
        before = [self._numbers[id(each)] for each in node.inputs]
        if before and before != [number - 1]:
            stage["inputs"] = before
        if node.name is not None:
            stage["name"] = self._mask.text(node.name)
        for field in parameter_fields(type(node)):
            value = getattr(node, field.name)
            if self._names_files and field.name == "tensors":
                stage["names"] = [
                    self._file_name(name, f"names[{i}]") for i, name in enumerate(value.tolist())
                ]
                continue
            if field.name != "name" and not is_default(field, value):
                strength = strength_of_name(field.name)
                if field.name == "args" and hasattr(node, "generator"):
                    stage["args"] = {"$tuple": self._arguments(node.generator, value, "args")}
                else:
                    stage[field.name] = self._value(value, field.name, strength)
        self._numbers[id(node)] = number
        self.stages.append(stage)
        self.nodes.append(node)

    def _value(self, value: Any, path: str, strength: int = NONE) -> Any:
        """Any value as plain data. What is not plain is an object with one key that has a ``$``.

        ``strength`` says how surely the name that it goes by is that of a secret.
        """
        if self._depth > _MOST_DEEP:
            raise self._unwritable(
                path.partition(" > ")[0], f"nested more than {_MOST_DEEP} levels deep, or in itself"
            )
        self._depth += 1
        try:
            return self._written(value, path, NONE if callable(value) else strength)
        finally:
            self._depth -= 1

    def _written(self, value: Any, path: str, strength: int) -> Any:
        if isinstance(value, PrivateUrl):
            value = whole_url(value)  # for what is hidden of it as of any other text
        kind = type(value)
        # What is larger is named by its digest in any case.
        is_text = kind in (str, bytes) and len(value) <= MOST_BYTES
        if is_text or is_secret(value, strength):
            secret = self._secret(value, path, strength)
            if secret is not None:
                return secret
        if value is None or kind in (bool, int) or (kind is str and len(value) <= MOST_BYTES):
            return value
        if kind is float:
            return value if math.isfinite(value) else {"$float": str(value)}
        if _is_large(value):
            return self._named(value, path, f"the {_summary(value)}")
        if kind is list:
            return self._items(value, path, strength)
        if kind is dict:
            return self._dict(value, path, strength)
        if kind is tuple:
            return {"$tuple": self._items(value, path, strength)}
        if isinstance(value, pathlib.PurePath) and self._mask.text(str(value)) != str(value):
            return {"$path": self._value(str(value), path)}
        plain = _plain(value)
        if plain is not None:
            return plain
        if isinstance(value, np.ndarray):
            return self._array(value, path, strength)
        if isinstance(value, Chunk):
            return self._chunk(value, path)
        if isinstance(value, Structure):
            return {"$structure": self._structure(value)}
        if kind in (set, frozenset):
            items = [self._value(item, path, strength) for item in value]
            return {
                "$set": sorted(items, key=repr),
                **({"frozen": True} if kind is frozenset else {}),
            }
        if hasattr(kind, "__keepset_node__"):
            inner = RecipeWriter(value.__keepset_node__(), self._mask.known, self._hidden)
            self.secrets |= inner.secrets
            return {"$dataset": inner.stages}
        if hasattr(kind, "__keepset_recipe__") and kind.__module__.startswith("keepset."):
            return self._own_record(value, path)
        if isinstance(value, types.FunctionType):
            return self._function(value, path)
        return self._object(value, path, strength)

    def _secret(self, value: Any, path: str, strength: int) -> Any:
        """What has to be given again because it is, or contains, a secret; None if it does not."""
        shown = self._mask.whole(value, strength)
        if shown is value:
            return None
        self.secrets |= secret_texts(value, strength)
        return {"$secret": self._name_of_secret(path), "shown": shown}

    def _name_of_secret(self, path: str) -> str:
        """What a secret is asked for by, which no other one is."""
        name = numbered = self._mask.text(f"{len(self.stages)}.{path}")
        more = 1
        while numbered in self._hidden:
            more += 1
            numbered = f"{name} {more}"
        self._hidden.add(numbered)
        return numbered

    def _items(self, value: Any, path: str, strength: int) -> list[Any]:
        return [
            self._value(item, f"{path}[{i}]", max(strength, strength_after(value, i)))
            for i, item in enumerate(value)
        ]

    def _dict(self, value: dict[Any, Any], path: str, strength: int = NONE) -> Any:
        def written(key: Any, item: Any) -> Any:
            named = NONE
            if type(key) in (str, bytes):
                named = strength_of_key(value, key)
            return self._value(item, f"{path}.{key}", max(strength, named))

        # Of keys those are secret that look random. Many of them are mostly names of data.
        of_keys = VAGUE if len(value) <= _MOST_KEYS else min(strength, VAGUE)
        if all(
            type(key) is str and not key.startswith("$") and self._mask.whole(key, of_keys) is key
            for key in value
        ):
            return {key: written(key, item) for key, item in value.items()}
        pairs = [
            (self._value(key, path, of_keys), written(key, item)) for key, item in value.items()
        ]
        return {"$dict": [list(pair) for pair in pairs]}

    def _array(self, value: Any, path: str, strength: int) -> Any:
        if value.dtype == object:
            dtype = "string"
        elif is_numeric(value.dtype):
            dtype = dtype_name(value.dtype)
        else:
            raise self._unwritable(path, f"an array of dtype {value.dtype}")
        shape = list(value.shape)
        if value.nbytes > MOST_BYTES:
            return self._named(value, path, dtype=dtype, shape=shape)
        if value.dtype == object:
            items = value.ravel().tolist()
            if not set(map(type, items)) <= {bytes}:
                raise self._unwritable(path, "an array of Python objects")
            if sum(map(len, items)) > MOST_BYTES:
                return self._named(value, path, dtype=dtype, shape=shape)
            told = [self._value(item, f"{path}[{i}]", strength) for i, item in enumerate(items)]
            return {"$array": {"strings": told, "shape": shape}}
        if value.size <= _FEW_NUMBERS and value.dtype.kind in "biu":
            numbers = {"dtype": dtype, "values": value.tolist()}
            return {"$array": numbers if value.ndim == 1 else numbers | {"shape": shape}}
        data = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
        return {"$array": {"dtype": dtype, "bytes": data, "shape": shape}}

    def _named(self, value: Any, path: str, what: str | None = None, **more: Any) -> dict[str, Any]:
        """What has to be given again, with a digest by which it is recognised."""
        try:
            digest = fingerprint_of_value(value).digest
        except FingerprintError as error:
            raise self._unwritable(path, f"too large, and cannot be compared: {error}") from error
        told = {"$data": f"{len(self.stages)}.{path}", **more, "digest": digest}
        return told if what is None else told | {"what": what}

    def _chunk(self, value: Chunk, path: str) -> Any:
        if value.size_bytes > MOST_BYTES:
            raise self._unwritable(path, f"{len(value):,} elements in memory")
        try:
            return {"$chunk": [element_to_json(row) for row in value.rows]}
        except ElementError:  # elements that hold data sets
            return {"$rows": [self._value(row, path) for row in value.rows]}

    def _structure(self, value: Structure) -> Any:
        """Nested as the structure is, with the number of each leaf in its place."""
        if value.has_records:
            return element_to_json(value.build([np.int64(i) for i in range(value.num_leaves)]))
        return self._value(value.build(range(value.num_leaves)), "structure")

    def _own_record(self, value: Any, path: str) -> Any:
        """One of the library's own values, which says what it is made of."""
        kind = type(value)
        where = f"{kind.__module__.removeprefix('keepset.')}:{kind.__qualname__}"
        told: dict[str, Any] = {"$keepset": where}
        names = kind.__keepset_recipe__
        if hasattr(kind, "from_data") and value.nbytes > MOST_BYTES:
            # Its content, which comes first, is named and not told, as that of a large array.
            told = self._named(value, path, f"the {repr(value).strip('<>')}", of=where)
            names = names[1:]
        for name in names:
            inner = getattr(value, name)
            told[name] = self._value(inner, f"{path}.{name}", strength_of_name(name))
        return told

    def _function(self, value: types.FunctionType, path: str) -> Any:
        known = self._functions.get(id(value))
        if known is not None:
            # Used more than once, or by itself.
            number = known.setdefault(
                "id", sum("id" in each for each in self._functions.values()) + 1
            )
            return {"$again": number}
        where = import_path(value)
        if where is not None:
            return {"$function": where}
        text = source_text(value)
        if text is None:
            raise self._unwritable(
                path, f"the function {value.__name__}, of which no source is known"
            )
        label = f"{path} > {value.__name__}"
        masked = masked_source(text, self._mask.known, secret_signatures(value))
        told: dict[str, Any] = {"name": value.__name__, "source": masked.text}
        if masked.hidden:
            told["secrets"] = {
                shown: self._name_of_secret(f"{label} > {name}")
                for shown, name in masked.hidden.items()
            }
        self.secrets |= masked.secrets
        if futures := futures_of(value):
            told["futures"] = futures
        self._functions[id(value)] = told
        self._tell_captured(value, told, label)
        if value.__defaults__:
            names = value.__code__.co_varnames[: value.__code__.co_argcount]
            named = zip(names[-len(value.__defaults__) :], value.__defaults__, strict=True)
            told["defaults"] = [
                self._value(each, f"{label} default {name}", strength_of_name(name))
                for name, each in named
            ]
        if value.__kwdefaults__:
            told["keyword_defaults"] = self._dict(value.__kwdefaults__, f"{label} default")
        if vars(value):
            told["attributes"] = self._dict(dict(vars(value)), label)
        return {"$function": told}

    def _tell_captured(self, value: types.FunctionType, told: dict[str, Any], label: str) -> None:
        reach = reach_of(value.__code__)
        free = value.__code__.co_freevars
        captured = {}
        for name, cell in zip(free, value.__closure__ or (), strict=True):
            if name == "__class__":
                raise self._unwritable(label, "a method that uses super()")
            try:
                content = cell.cell_contents
            except ValueError:
                captured[name] = {"$empty": True}  # not assigned yet
                continue
            captured[name] = self._value(content, f"{label} > {name}", strength_of_name(name))
        if captured:
            told["captured"] = captured
        used = {
            name: self._value(value.__globals__[name], f"{label} > {name}", strength_of_name(name))
            for name in sorted({*reach.names, *reach.assigned})
            if name not in free and name in value.__globals__
        }
        if used:
            told["uses"] = used

    def _object(self, value: Any, path: str, strength: int) -> Any:
        """What only its own module can make again."""
        if isinstance(value, types.ModuleType):
            return {"$module": value.__name__}
        if value is os.environ:
            return {"$import": "os:environ"}  # and not what is in it
        where = import_path(value)
        if where is not None:
            return {"$import": where}
        if isinstance(value, functools.partial):
            return {
                "$partial": {
                    "function": self._value(value.func, f"{path} > function"),
                    "arguments": self._arguments(value.func, value.args, f"{path} > argument"),
                    "keywords": self._dict(value.keywords, f"{path} > argument"),
                }
            }
        if isinstance(value, types.MethodType | types.BuiltinMethodType):
            owner = self._value(value.__self__, f"{path} > self")
            return {"$method": {"of": owner, "name": value.__name__}}
        kind = import_path(type(value))
        if kind is None:
            raise self._unwritable(path, f"a value of type {type(value).__name__}")
        strength = max(strength, strength_of_attribute(value, ""))
        if is_namedtuple(type(value)):
            items = {name: getattr(value, name) for name in value._fields}
            return {"$object": {"class": kind, "state": self._dict(items, path, strength)}}
        state = getattr(value, "__dict__", None)
        own = {"__reduce__", "__reduce_ex__", "__getstate__", "__setstate__", "__slots__"}
        bases = type(value).__mro__[:-1]
        # The content of a dict, a list or a text is not in the attributes of a class made of it.
        has_content = any(each.__module__ == "builtins" for each in bases)
        if state is None or has_content or any(own & set(vars(each)) for each in bases):
            raise self._unwritable(path, f"a value of type {type(value).__name__}")
        return {"$object": {"class": kind, "state": self._dict(dict(state), path, strength)}}

    def _arguments(self, function: Any, arguments: tuple[Any, ...], path: str) -> list[Any]:
        return [
            self._value(
                item,
                path,
                max(strength_of_name(positional_name(function, i)), strength_after(arguments, i)),
            )
            for i, item in enumerate(arguments)
        ]

    def _file_name(self, name: bytes, path: str) -> Any:
        """A name as text, if it is one."""
        told = _text(name)
        text = told.get("$bytes")
        return told if text is None else self._value(text, path)

    def _unwritable(self, path: str, what: str) -> RecipeError:
        where = shortened(self._mask.text(path), 200)
        return RecipeError(
            f"{self._where}: {where} is {what}, which a recipe cannot tell; put the function into "
            "a module that can be imported, or pass what it needs as numbers, texts and arrays"
        )


def _is_large(value: Any) -> bool:
    """Whether it is only named; arrays and the library's own values say so themselves."""
    kind = type(value)
    if kind in (list, tuple, dict, set, frozenset):
        return len(value) > _MOST_ITEMS
    if kind in (bytes, str):
        return len(value) > MOST_BYTES
    if isinstance(value, Ragged):
        return value.flat_values.nbytes + value.row_splits.nbytes > MOST_BYTES
    return isinstance(value, Sparse) and value.values.nbytes + value.indices.nbytes > MOST_BYTES


def _summary(value: Any) -> str:
    if isinstance(value, Ragged | Sparse):
        return f"{type(value).__name__} of {dtype_name(value.dtype)} {list(value.shape)}"
    many = "letters" if type(value) is str else "bytes" if type(value) is bytes else "items"
    return f"{type(value).__name__} of {len(value):,} {many}"


def _plain(value: Any) -> Any:
    """Values that tell themselves."""
    if isinstance(value, bytes):
        return _text(value)
    if isinstance(value, StringType):
        return {"$dtype": value.name}
    if isinstance(value, np.dtype):
        return {"$dtype": dtype_name(value)}
    if isinstance(value, LeafSpec):
        return {"$spec": spec_to_json(value)}
    if isinstance(value, Randomness):
        told: dict[str, Any] = {"seed": value.seed}
        return {"$random": told | ({} if value.rerandomize else {"rerandomize": False})}
    if isinstance(value, np.bool_ | np.integer) and is_numeric(value.dtype):
        return {"$scalar": value.item(), "dtype": dtype_name(value.dtype)}
    if isinstance(value, np.generic | Ragged | Sparse):
        return {"$element": element_to_json(value)}
    if isinstance(value, complex):
        return {"$complex": [value.real, value.imag]}
    if isinstance(value, range):
        return {"$range": [value.start, value.stop, value.step]}
    if isinstance(value, slice) and all(
        part is None or type(part) is int for part in (value.start, value.stop, value.step)
    ):
        return {"$slice": [value.start, value.stop, value.step]}
    if isinstance(value, pathlib.PurePath):
        return {"$path": str(value)}
    return {"$ellipsis": True} if value is ... else None


def _text(value: bytes) -> dict[str, str]:
    """Bytes for people, if they are text."""
    try:
        text = value.decode()
    except UnicodeDecodeError:
        text = ""
    if text.isprintable() and text.encode() == value:
        return {"$bytes": text}
    return {"$base64": base64.b64encode(value).decode()}
