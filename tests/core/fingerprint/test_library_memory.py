"""What objects of libraries hold in memory of C, and numbers of the process that they hold."""

# ruff: noqa: E501 - small programs are read more easily on one line each

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import keepset as ks

Install = Callable[[str, str], ModuleType]

# As numba.typed.List and Dict: what they hold is behind a handle that no copy can be made of.
BEHIND_A_HANDLE = """
    import collections.abc, zlib
    _memory = {}

    class List(collections.abc.MutableSequence):
        def __init__(self, items): self._handle = zlib.decompressobj(); _memory[id(self)] = list(items)
        def __len__(self): return len(_memory[id(self)])
        def __getitem__(self, at): return _memory[id(self)][at]
        def __setitem__(self, at, item): _memory[id(self)][at] = item
        def __delitem__(self, at): del _memory[id(self)][at]
        def insert(self, at, item): _memory[id(self)].insert(at, item)

    class Dict(collections.abc.MutableMapping):
        def __init__(self, items): self._handle = zlib.decompressobj(); _memory[id(self)] = dict(items)
        def __len__(self): return len(_memory[id(self)])
        def __iter__(self): return iter(_memory[id(self)])
        def __getitem__(self, key): return _memory[id(self)][key]
        def __setitem__(self, key, item): _memory[id(self)][key] = item
        def __delitem__(self, key): del _memory[id(self)][key]

    class Set(collections.abc.Set):
        def __init__(self, items): self._handle = zlib.decompressobj(); _memory[id(self)] = set(items)
        def __len__(self): return len(_memory[id(self)])
        def __iter__(self): return iter(_memory[id(self)])
        def __contains__(self, item): return item in _memory[id(self)]
"""

# As the vectorizers and the search trees of scikit-learn.
OF_THE_PROCESS = """
    class Vectorizer:
        def __init__(self, words): self.words, self._words_id = words, id(words)

    class Tree:
        def __init__(self, data): self.data, self.trims, self.leaves, self.splits, self.calls = data, 0, 0, 0, 0
        def __getstate__(self): return (self.data, 40, 1, self.trims, self.leaves, self.splits, self.calls, None)
        def __setstate__(self, state): self.data, _, _, self.trims, self.leaves, self.splits, self.calls, _ = state
        def get_tree_stats(self): return self.trims, self.leaves, self.splits
        def get_n_calls(self): return self.calls
        def query(self, x):
            self.calls += 1
            self.leaves += 2
            return self.data[int(x)]
"""

# As the transformations of albumentations: they find out what they need when they are first used.
SETTLING = """
    import random
    class Resize:
        def __init__(self): self.params, self.draws = {}, random.Random()
        def __call__(self, x):
            self.params["interpolation"] = 1
            return x + (self.draws.random() < 0)
"""


def is_hit(value: Any, use: Callable[[Any, Any], Any], path: Path) -> bool:
    """Store what a pipeline makes with a value, if it is not stored yet."""
    ds = ks.Dataset.range(3).map(lambda x: use(value, x)).snapshot(path)
    found = ks.explain(ds, path).hit
    assert len(list(ds)) == 3
    return found


@pytest.mark.parametrize(
    ("kind", "items", "others"),
    [
        ("List", [1, 2], [1, 3]),
        ("List", [1, 2], [1, 2, 3]),
        ("Dict", {"a": 1}, {"a": 2}),
        ("Dict", {"a": 1}, {"b": 1}),
        ("Set", {1, 2}, {1, 3}),
    ],
)
def test_a_container_of_a_library_counts_by_its_items(
    install: Install, tmp_path: Path, kind: str, items: Any, others: Any
) -> None:
    library = install("containers_of_c", BEHIND_A_HANDLE)
    make = getattr(library, kind)

    def use(value: Any, x: Any) -> Any:
        return x * len(value)

    assert not is_hit(make(items), use, tmp_path / "stored")
    assert is_hit(make(items), use, tmp_path / "stored")
    assert not is_hit(make(others), use, tmp_path / "stored")


def test_a_handle_without_items_has_no_content(install: Install, tmp_path: Path) -> None:
    source = (
        "import zlib\nclass Handle:\n    def __init__(self): self._handle = zlib.decompressobj()"
    )
    library = install("handles_of_c", source)
    with pytest.raises(ks.FingerprintError, match="no content that could be compared"):
        is_hit(library.Handle(), lambda value, x: x, tmp_path)


def test_an_address_of_another_attribute_counts_by_its_name(
    install: Install, tmp_path: Path
) -> None:
    library = install("vectorizers_of_c", OF_THE_PROCESS)
    kept = [["a"], ["a"]]  # two lists at a time: so they are at two addresses
    assert not is_hit(library.Vectorizer(kept[0]), lambda value, x: x, tmp_path / "stored")
    assert is_hit(library.Vectorizer(kept[1]), lambda value, x: x, tmp_path / "stored")
    other = library.Vectorizer(kept[1])
    other._words_id = 2**40 + 1
    assert not is_hit(other, lambda value, x: x, tmp_path / "stored")


def test_an_address_in_an_object_of_the_users_own_counts_by_its_name(tmp_path: Path) -> None:
    class Checked:
        def __init__(self, words: list[str]) -> None:
            self.words, self.checked = words, id(words)

    kept = [["a"], ["a"]]
    assert not is_hit(Checked(kept[0]), lambda value, x: x, tmp_path)
    assert is_hit(Checked(kept[1]), lambda value, x: x, tmp_path)


def test_a_search_tree_does_not_count_how_often_it_was_asked(
    install: Install, tmp_path: Path
) -> None:
    library = install("trees_of_c", OF_THE_PROCESS)

    def query(tree: Any, x: Any) -> Any:
        return tree.query(x)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not is_hit(library.Tree(np.arange(3)), query, tmp_path / "stored")
        used = library.Tree(np.arange(3))
        used.query(2)
        assert is_hit(used, query, tmp_path / "stored")
        assert not is_hit(library.Tree(np.arange(4)), query, tmp_path / "stored")


def test_a_library_object_settles_also_where_a_part_of_it_is_ignored(
    install: Install, tmp_path: Path
) -> None:
    library = install("albumentations", SETTLING)
    for is_stored in (False, True):
        resize = library.Resize()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ds = ks.Dataset.range(5).map(lambda x, resize=resize: resize(x))
            ds = ds.snapshot(tmp_path / "stored", ignore=["attribute draws"])
        assert ks.explain(ds, tmp_path / "stored").hit == is_stored
        assert [int(x) for x in ds] == [0, 1, 2, 3, 4]


NUMBA = """
    class ClassType:
        def __init__(self, struct, methods, name):
            self.struct, self.jit_methods, self.class_name, self.name = struct, methods, "Point", name
    class Instance:
        def __init__(self, kind): self.class_type = kind
"""


def test_a_compiled_class_counts_by_its_fields_and_functions(
    install: Install, tmp_path: Path
) -> None:
    numba = install("numba", NUMBA)
    values: dict[int, float] = {}

    def make(scale: float, address: str, methods: dict[str, Any]) -> Any:
        kind = numba.ClassType({"scale": "float64"}, methods, f"jitclass.Point#{address}")
        members = {
            "_numba_type_": numba.Instance(kind),
            "__slots__": (),
            "scale": property(lambda self: values[id(self)]),
        }
        value = type("Point", (), members)()
        values[id(value)] = scale
        return value

    def use(value: Any, x: Any) -> Any:
        return x * value.scale

    one = make(2.0, "7f00", {"twice": lambda x: x * 2})
    again = make(2.0, "7f01", {"twice": lambda x: x * 2})
    assert not is_hit(one, use, tmp_path / "stored")
    assert is_hit(again, use, tmp_path / "stored")
    assert not is_hit(make(3.0, "7f02", {"twice": lambda x: x * 2}), use, tmp_path / "stored")
    assert not is_hit(make(2.0, "7f03", {"twice": lambda x: x * 3}), use, tmp_path / "stored")


def test_a_class_whose_module_is_no_text_is_no_generator(tmp_path: Path) -> None:
    # As the classes of functions that Cython compiles.
    class Meta(type):
        __module__ = property(lambda self: "compiled")

    class Compiled(metaclass=Meta):
        size = 3

    assert not is_hit(Compiled, lambda value, x: x * value.size, tmp_path)
    assert is_hit(Compiled, lambda value, x: x * value.size, tmp_path)
