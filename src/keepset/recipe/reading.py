"""Reading recipes: the pipeline that plain data tells of. Nothing runs that was not allowed."""

from __future__ import annotations

import base64
import functools
import os
import pathlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from importlib import import_module
from types import CellType, FunctionType
from typing import Any, Final

import numpy as np

from keepset.core.chunk import Chunk
from keepset.core.dtypes import StringType, as_dtype
from keepset.core.element_json import element_from_json
from keepset.core.fingerprint import fingerprint_of_value
from keepset.core.node import Node
from keepset.core.random import Randomness
from keepset.core.secrets.literals import filled_source
from keepset.core.spec import spec_from_json
from keepset.core.structure import is_namedtuple, structure_of
from keepset.errors import KeepsetError, RecipeError, UntrustedRecipeError
from keepset.recipe.imports import Trust, imported, module_of
from keepset.recipe.parameter_types import check_types
from keepset.recipe.source_text import function_of
from keepset.recipe.stages import NAMING_FILES, input_fields, parameter_fields, stage_class
from keepset.storage import path_text

# Makes a stage of its inputs and parameters, in place of its class.
Builder = Callable[[list[Node], dict[str, Any]], Node]

# A parameter may be anything that JSON can say, and stages and dtypes find that out in many ways.
_WHAT_NONSENSE_RAISES: Final = (
    *(KeepsetError, LookupError, TypeError, ValueError),
    *(ArithmeticError, AssertionError, AttributeError, RecursionError),
)

NOT_PARAMETERS: Final = ("stage", "inputs", "digest", "files")


class RecipeReader:
    """Makes the stages of a recipe.

    Args:
        trust: Whose code may be used.
        wrap: Makes a data set of a node.
        builders: For stages whose class alone does not make them, by their names.
        data: Arrays that the recipe only names.
        moved: Where folders are now, by where they were.
        store_options: For files in object stores.
    """

    def __init__(
        self,
        trust: Trust,
        wrap: Callable[[Node], Any],
        builders: Mapping[str, Builder],
        data: Mapping[str, Any],
        moved: Mapping[str, str],
        store_options: Mapping[str, Any] | None,
    ) -> None:
        self._trust, self._wrap, self._builders, self._data = trust, wrap, builders, data
        # Those below others first, so that the nearest counts.
        places = [(path_text(old), path_text(new)) for old, new in moved.items()]
        self._moved = sorted(places, key=lambda pair: -len(pair[0]))
        self._store_options = store_options
        self._functions: dict[int, FunctionType] = {}

    def nodes(self, stages: list[dict[str, Any]]) -> list[Node]:
        """The stages, in their order; the last one is the pipeline."""
        made: list[Node] = []
        for number, stage in enumerate(stages):
            try:
                made.append(self._node(stage, made))
            except _WHAT_NONSENSE_RAISES as error:
                if isinstance(error, RecipeError) and error.stage is not None:
                    raise
                raise RecipeError(
                    f"stage {number}, {stage['stage']}: {error}", stage=number
                ) from error
        return made

    def _node(self, stage: dict[str, Any], made: list[Node]) -> Node:
        name, kind = stage["stage"], stage_class(stage["stage"])
        inputs = [made[number] for number in self._inputs(stage, kind, made)]
        known = {field.name for field in parameter_fields(kind)}
        given = {key: value for key, value in stage.items() if key not in NOT_PARAMETERS}
        if name in NAMING_FILES:
            known = (known - {"tensors"}) | {"names"}
        odd = [key for key in given if key not in known]
        if odd:
            raise RecipeError(
                f"{name} takes no {', '.join(odd)}; it takes {', '.join(sorted(known))}"
            )
        parameters = {key: self._value(value) for key, value in given.items()}
        if name in NAMING_FILES:
            parameters["tensors"] = self._names(parameters.pop("names"))
        has = {field.name for field in fields(kind)}
        if "wrap" in has:
            parameters["wrap"] = self._wrap
        if "store_options" in has and self._store_options:
            parameters["store_options"] = dict(self._store_options)
        check_types(kind, parameters, name)
        if name in self._builders:
            return self._builders[name](inputs, parameters)
        return kind(**_by_field(kind, inputs), **parameters)

    def _names(self, told: list[Any]) -> Any:
        names = np.empty(len(told), object)
        names[:] = [os.fsencode(self._place(os.fsdecode(name))) for name in told]
        return names

    def _place(self, path: str) -> str:
        """Where a file or a folder is now."""
        path = path_text(path)
        for old, new in self._moved:
            if path == old or path.startswith(old.rstrip("/") + "/"):
                return new.rstrip("/") + path[len(old.rstrip("/")) :]
        return path

    def _inputs(self, stage: dict[str, Any], kind: type[Node], made: list[Node]) -> list[int]:
        wanted = input_fields(kind)
        if not wanted:
            return []
        numbers = stage.get("inputs", [len(made) - 1])
        if not all(isinstance(number, int) and 0 <= number < len(made) for number in numbers):
            raise RecipeError(
                f"inputs {numbers} are not all numbers of stages before it (0 to {len(made) - 1})"
            )
        fewest = sum(not several for several in wanted.values())
        if len(numbers) < max(1, fewest) or (len(numbers) > fewest and fewest == len(wanted)):
            raise RecipeError(f"{stage['stage']} has {len(numbers)} inputs, and needs {fewest}")
        return list(numbers)

    def _value(self, told: Any) -> Any:
        if isinstance(told, list):
            return [self._value(item) for item in told]
        if not isinstance(told, dict):
            return told
        tag = next((key for key in told if key.startswith("$")), None)
        if tag is None:
            return {key: self._value(item) for key, item in told.items()}
        rest = {key: item for key, item in told.items() if key != tag}
        read = _RULES.get(tag)
        if read is None:
            raise RecipeError(f"{tag} is not known; is the recipe of a newer version?")
        return read(self, told[tag], rest)

    # One for each tag:

    def _dict(self, pairs: Any, rest: Any) -> Any:
        return {self._value(key): self._value(item) for key, item in pairs}

    def _tuple(self, items: Any, rest: Any) -> Any:
        return tuple(map(self._value, items))

    def _set(self, items: Any, rest: dict[str, Any]) -> Any:
        return (frozenset if rest.get("frozen") else set)(map(self._value, items))

    def _array(self, told: dict[str, Any], rest: Any) -> Any:
        shape = told.get("shape")
        if "strings" in told:
            items = np.empty(len(told["strings"]), object)
            texts = map(self._value, told["strings"])
            # A secret among them may be given as a text.
            items[:] = [text.encode() if isinstance(text, str) else text for text in texts]
            return items.reshape(shape)
        dtype = as_dtype(told["dtype"])
        assert not isinstance(dtype, StringType)
        if "values" in told:
            array = np.array(told["values"], dtype)
            return array if shape is None else array.reshape(shape)
        return np.frombuffer(base64.b64decode(told["bytes"]), dtype).reshape(shape).copy()

    def _named_data(self, name: str, rest: dict[str, Any]) -> Any:
        """What a recipe names and does not hold: an array, or one of the library's own values."""
        is_array = "what" not in rest
        what = str(rest.get("what"))
        if is_array:
            what = f"the array of {rest.get('dtype')} {rest.get('shape')}"
        if name not in self._data:
            raise RecipeError(
                f"the recipe names {what} and does not hold it; pass "
                f"data={{{name!r}: {'array' if is_array else '...'}}}"
            )
        value = self._data[name]
        if "of" in rest:
            kind = self._own_class(str(rest["of"]))
            if not hasattr(kind, "from_data"):
                raise RecipeError(f"{rest['of']} cannot be made by a recipe of data")
            wanted = kind.__keepset_recipe__[1:]
            given = {key: self._value(item) for key, item in rest.items() if key in wanted}
            value = kind.from_data(value, **given)
        if fingerprint_of_value(value).digest != rest.get("digest"):
            raise RecipeError(f"data[{name!r}] is not {what} that the recipe names")
        return value

    def _secret(self, name: str, rest: dict[str, Any]) -> Any:
        """What a recipe must not hold."""
        if name not in self._data:
            raise RecipeError(
                f"the recipe names {name!r}, a secret that it does not hold "
                f"({rest.get('shown')!s:.60}); pass data={{{name!r}: ...}}"
            )
        return self._data[name]

    def _rows(self, told: Any, rest: Any) -> Any:
        return Chunk.from_rows([self._value(row) for row in told])

    def _structure(self, told: Any, rest: Any) -> Any:
        is_element = isinstance(told, dict) and set(told) == {"spec", "leaves"}
        return structure_of(element_from_json(told) if is_element else self._value(told))

    def _dataset(self, stages: Any, rest: Any) -> Any:
        return self._wrap(self.nodes(stages)[-1])

    def _own_record(self, path: str, rest: dict[str, Any]) -> Any:
        kind = self._own_class(path)
        if not set(rest) <= set(kind.__keepset_recipe__):
            raise RecipeError(f"{path} cannot be made by a recipe")
        given = {key: self._value(item) for key, item in rest.items()}
        if isinstance(given.get("url"), str):
            given["url"] = self._place(given["url"])
        if "wrap" in {field.name for field in getattr(kind, "__dataclass_fields__", {}).values()}:
            given["wrap"] = self._wrap
        make = getattr(kind, "from_recipe", kind)
        check_types(kind if make is kind else make, given, path)
        return make(**given)

    def _own_class(self, path: str) -> Any:
        """One of the library's own classes, which recipes may make."""
        module, _, name = path.partition(":")
        try:
            kind = getattr(import_module(f"keepset.{module}"), name)
        except (ImportError, AttributeError) as error:
            raise RecipeError(f"{path} is not part of this version of keepset") from error
        if not getattr(kind, "__keepset_recipe__", ()):
            raise RecipeError(f"{path} cannot be made by a recipe")
        return kind

    def _function(self, told: Any, rest: Any) -> Any:
        if isinstance(told, str):
            return self._imported(told, rest)
        self._need_everything(f"the source of {told['name']}")
        captured = {name: CellType() for name in told.get("captured", {})}
        used: dict[str, Any] = {}
        source = told["source"]
        if "secrets" in told:
            given = {
                shown: self._secret(name, {"shown": shown})
                for shown, name in told["secrets"].items()
            }
            source = filled_source(source, given)
        function = function_of(source, told["name"], captured, used, told.get("futures", ()))
        if "id" in told:
            self._functions[told["id"]] = function
        # Now, because what it uses may use it.
        for name, item in told.get("captured", {}).items():
            if not (isinstance(item, dict) and "$empty" in item):
                captured[name].cell_contents = self._value(item)
        used |= {name: self._value(item) for name, item in told.get("uses", {}).items()}
        if "defaults" in told:
            function.__defaults__ = tuple(map(self._value, told["defaults"]))
        if "keyword_defaults" in told:
            function.__kwdefaults__ = self._value(told["keyword_defaults"])
        vars(function).update(self._value(told.get("attributes", {})))
        return function

    def _randomness(self, told: dict[str, Any], rest: Any) -> Any:
        given = {"seed": told["seed"], "rerandomize": told.get("rerandomize", True)}
        check_types(Randomness, given, "$random")
        return Randomness(**given)

    def _again(self, number: int, rest: Any) -> Any:
        return self._functions[number]

    def _imported(self, path: str, rest: Any) -> Any:
        if not self._trust.covers(module_of(path)):
            raise UntrustedRecipeError(f"{path} is to be imported")
        return imported(path)

    def _module(self, name: str, rest: Any) -> Any:
        if not self._trust.covers(name):
            raise UntrustedRecipeError(f"the module {name} is to be imported")
        return import_module(name)

    def _partial(self, told: dict[str, Any], rest: Any) -> Any:
        function = self._value(told["function"])
        arguments = map(self._value, told["arguments"])
        return functools.partial(function, *arguments, **self._value(told["keywords"]))

    def _method(self, told: dict[str, Any], rest: Any) -> Any:
        self._need_everything(f"the method {told['name']}")
        return getattr(self._value(told["of"]), told["name"])

    def _object(self, told: dict[str, Any], rest: Any) -> Any:
        kind = self._imported(told["class"], rest)
        state = self._value(told["state"])
        if is_namedtuple(kind):
            return kind(**state)
        # As copying does it: the constructor is not run.
        made = object.__new__(kind)
        made.__dict__.update(state)
        return made

    def _need_everything(self, what: str) -> None:
        if not self._trust.everything:
            raise UntrustedRecipeError(f"{what} is to be run")


def _by_field(kind: type[Node], inputs: list[Node]) -> dict[str, Any]:
    """Inputs by the fields that hold them; one that holds several gets those that are left."""
    wanted = input_fields(kind)
    several = len(inputs) - sum(not each for each in wanted.values())
    rest: Iterator[Node] = iter(inputs)
    return {
        name: tuple(next(rest) for _ in range(several)) if are_several else next(rest)
        for name, are_several in wanted.items()
    }


def _plain(read: Callable[[Any], Any]) -> Callable[[RecipeReader, Any, Any], Any]:
    return lambda reader, told, rest: read(told)


_RULES: Final[dict[str, Callable[[RecipeReader, Any, dict[str, Any]], Any]]] = {
    "$again": RecipeReader._again,
    "$array": RecipeReader._array,
    "$base64": _plain(base64.b64decode),
    "$bytes": _plain(lambda told: told.encode()),
    "$chunk": _plain(lambda told: Chunk.from_rows([element_from_json(row) for row in told])),
    "$complex": _plain(lambda told: complex(*told)),
    "$data": RecipeReader._named_data,
    "$dataset": RecipeReader._dataset,
    "$dict": RecipeReader._dict,
    "$dtype": _plain(as_dtype),
    "$element": _plain(element_from_json),
    "$ellipsis": _plain(lambda told: ...),
    "$float": _plain(float),
    "$function": RecipeReader._function,
    "$import": RecipeReader._imported,
    "$keepset": RecipeReader._own_record,
    "$method": RecipeReader._method,
    "$module": RecipeReader._module,
    "$object": RecipeReader._object,
    "$partial": RecipeReader._partial,
    "$path": lambda self, told, rest: pathlib.Path(self._value(told)),
    "$random": RecipeReader._randomness,
    "$range": _plain(lambda told: range(*told)),
    "$rows": RecipeReader._rows,
    "$secret": RecipeReader._secret,
    "$scalar": lambda reader, told, rest: as_dtype(rest["dtype"]).type(told),  # type: ignore[union-attr]
    "$set": RecipeReader._set,
    "$slice": _plain(lambda told: slice(*told)),
    "$spec": _plain(spec_from_json),
    "$structure": RecipeReader._structure,
    "$tuple": RecipeReader._tuple,
}
