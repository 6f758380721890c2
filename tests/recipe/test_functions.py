"""Functions in recipes: told by name or by source, and the same again when they are made."""

from __future__ import annotations

import functools
import math
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import keepset as ks
from keepset.core.fingerprint import fingerprint_of_value

OFFSET = 7
TABLE = {"a": 1, 2: (3, None), "c": {4, 5}}


def helper(x: Any) -> Any:
    return x + OFFSET


def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any) -> Any:
        return function(*args) * 2

    return wrapper


class Scaler:
    """A callable object of a module that can be imported."""

    def __init__(self, factor: float, path: pathlib.Path) -> None:
        self.factor, self.path = factor, path

    def __call__(self, x: Any) -> Any:
        return x * self.factor

    def method(self, x: Any) -> Any:
        return x - self.factor


def closures() -> dict[str, Callable[[Any], Any]]:
    """Functions that only exist while they run."""
    factor, array = 3, np.arange(6.0).reshape(2, 3)
    inner_set = Dataset_of(3)

    def local(x: Any, *, add: int = 4, more: tuple[int, ...] = (1, 2)) -> Any:
        """A docstring."""
        return x * factor + add + sum(more)

    def recursive(x: Any) -> Any:
        return x if x < 1 else 1 + recursive(x - 1)

    def even(x: Any) -> Any:
        return True if x == 0 else odd(x - 1)

    def odd(x: Any) -> Any:
        return False if x == 0 else even(x - 1)

    @decorated
    def wrapped(x: Any) -> Any:
        return x + factor

    def nested(x: Any) -> Any:
        def again(y: Any) -> Any:
            return y * factor

        return [again(z) for z in range(int(x))][-1:] or again(1)

    def imports(x: Any) -> Any:
        import math as m

        return m.sqrt(float(x))

    def marked(x: Any) -> Any:
        return x

    marked.note = "kept"  # type: ignore[attr-defined]
    pair: tuple[Callable[[Any], Any], ...] = (lambda x: x + 1, lambda x: x + 2)
    return {
        "local": local,
        "lambda": lambda x: x * factor,
        "first of two in a line": pair[0],
        "second of two in a line": pair[1],
        "default": lambda x, y=OFFSET: x + y,  # type: ignore[misc]
        "array": lambda x: array.sum() + x,
        "module": lambda x: math.floor(np.sqrt(float(x))),
        "global helper": lambda x: helper(x),
        "recursive": recursive,
        "each other": even,
        "decorated": wrapped,
        "nested": nested,
        "imports": imports,
        "attribute": marked,
        "partial": functools.partial(local, add=1),
        "object": Scaler(2.5, pathlib.Path("some/file")),
        "bound method": Scaler(1.5, pathlib.Path("x")).method,
        "importable": helper,
        "of a library": np.square,
        "containers": lambda x: (TABLE, [b"\xff\x00", "text"], 1.5, float("inf"), x),
        "data set": lambda x: int(x) + len(inner_set),
    }


def Dataset_of(count: int) -> ks.Dataset:  # noqa: N802
    return ks.Dataset.range(count)


NAMES = list(closures())


@pytest.mark.parametrize("name", NAMES)
def test_a_function_is_the_same_again(name: str) -> None:
    function = closures()[name]
    recipe = ks.Dataset.range(5).map(function).to_recipe()
    for text in (recipe.to_json(), recipe.to_yaml()):
        again = ks.from_recipe(ks.Recipe.parse(text), trust=True, on_change="error")
        made = again._node.function  # type: ignore[attr-defined]
        assert repr(made(np.int64(4))) == repr(function(np.int64(4)))
        assert fingerprint_of_value(made).digest == fingerprint_of_value(function).digest
        assert again.to_recipe() == recipe


def test_what_can_be_imported_is_told_by_its_name() -> None:
    stage = ks.Dataset.range(5).map(helper).to_recipe().stages[1]
    assert stage["function"] == {"$function": f"{helper.__module__}:helper"}


def test_a_function_twice_in_a_recipe_is_one(tmp_path: Any) -> None:
    function: Any = closures()["local"]
    ds = ks.Dataset.range(5).map(functools.partial(function, add=function(np.int64(1))))
    both = ks.Dataset.range(5).map(lambda x: (function(x), function))
    told = ds.to_recipe().to_json()
    assert told.count("def local") == 1
    again = ks.from_recipe(both.to_recipe(), trust=True)
    made = again._node.function  # type: ignore[attr-defined]
    assert callable(made(np.int64(1))[1])


def test_a_name_that_is_not_assigned_yet_stays_so() -> None:
    def early(x: Any) -> Any:
        return late

    recipe = ks.Dataset.range(2).map(early).to_recipe()
    late = 1
    with pytest.raises(NameError, match="late"):
        list(ks.from_recipe(recipe, trust=True, on_change="ignore"))
    assert late


class Local:
    def __reduce__(self) -> tuple[Any, ...]:
        return Local, ()


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (Local(), "a value of type Local"),
        (np.array([object()]), "an array of Python objects"),
        (open, "open"),
    ],
)
def test_what_cannot_be_told_is_named(value: Any, words: str) -> None:
    if value is open:
        space: dict[str, Any] = {}
        exec("def typed(x): return x", space)
        function, words = space["typed"], "typed, of which no source is known"
    else:

        def function(x: Any) -> Any:
            return value, x

    with pytest.raises(ks.RecipeError, match="stage 1, map") as caught:
        ks.Dataset.range(5).map(function).to_recipe()
    assert words in str(caught.value)


def test_nothing_of_a_function_runs_before_it_is_called(tmp_path: Any) -> None:
    ran = tmp_path / "ran"
    recipe = ks.Dataset.range(3).map(lambda x: x).to_recipe().to_dict()
    told = recipe["stages"][1]["function"]["$function"]
    told["name"] = "f"
    touch = f"open({str(ran)!r}, 'w')"
    told["source"] = f"{touch}\n@{touch}\ndef f(x, y={touch}):\n    return x\n{touch}"
    ds = ks.from_recipe(recipe, trust=True, on_change="ignore")
    assert not ran.exists()
    with pytest.raises(TypeError):
        list(ds)  # its default was not told
    assert not ran.exists()
