"""Held results: the values that ``lru_cache`` and ``cached_property`` hold for later calls.

What such a cache holds follows from the function that made it, so it need not count. That is no
longer so once it is changed: a vocabulary behind ``@cache def vocabulary(): return {}`` that the
program fills. Nothing tells a value that was changed from one that was made so, except its history:
one that appeared while functions of a pass ran, and is still as it was then, was made by them. All
others count.

Of cached functions only those without arguments are looked at, which hold one value for the whole
program. The others are memos: tables of results, which count by the code that makes them. One whose
results functions change is their own state (``own_state.py``), and its whole table counts.
"""

from __future__ import annotations

import array
import collections
import functools
import gc
import inspect
import itertools
import weakref
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FunctionType, ModuleType
from typing import Any, Final

import numpy as np

from keepset.core.fingerprint.class_attributes import attributes_of, is_a
from keepset.core.fingerprint.mask import Mask
from keepset.core.fingerprint.origin import is_library_class
from keepset.core.fingerprint.plain import token
from keepset.core.fingerprint.sketch import Part
from keepset.core.fingerprint.vertex import Vertex
from keepset.core.fingerprint.writers import is_random_generator

# What the result of a cached function is called, as an attribute of the function.
RESULT: Final = "result"
_LABEL: Final = f"cached {RESULT}"
_CONTAINERS = (list, dict, set, collections.deque, bytearray, array.array, np.ndarray)

# What holds a value, and the name of it: the id of a cached function or of an object.
Place = tuple[int, str]


class _History:
    """What is known of a value that a cache holds.

    Attributes:
        owner: Gives what holds it, as long as that lives.
        content: The digest of its data when functions had made it; None if that is not known.
        digest: The digest in a graph in which it was as it was made: if it is the same again,
            nothing else has to be compared.
    """

    __slots__ = ("content", "digest", "owner")

    def __init__(self, owner: Callable[[], Any], content: bytes | None) -> None:
        self.owner, self.content = owner, content
        self.digest: bytes | None = None


_known: dict[Place, _History] = {}
_MOST_KNOWN: Final = 10_000
# Told of each cache that holds nothing yet: what holds the value, its name, the table, the key.
OnEmpty = Callable[[Any, str, dict[Any, Any], Any], None]
_on_empty: ContextVar[OnEmpty | None] = ContextVar("on_empty", default=None)
_counts_none: ContextVar[bool] = ContextVar("counts_none", default=False)
_runs_pass: ContextVar[bool] = ContextVar("runs_pass", default=False)
_counts_all: ContextVar[bool] = ContextVar("counts_all", default=False)
_changing_memos: ContextVar[frozenset[int]] = ContextVar("changing_memos", default=frozenset())
_as_made: ContextVar[frozenset[Place]] = ContextVar("as_made", default=frozenset())


@contextmanager
def while_pass_runs() -> Iterator[None]:
    """Take what caches hold for the first time to be made by the functions of a pass."""
    token = _runs_pass.set(True)
    try:
        yield
    finally:
        _runs_pass.reset(token)


@contextmanager
def counting_results() -> Iterator[None]:
    """Count all values that caches hold, as in a process that has made them before."""
    token = _counts_all.set(True)
    try:
        yield
    finally:
        _counts_all.reset(token)


@contextmanager
def without_results() -> Iterator[None]:
    """Count no values that caches hold."""
    token = _counts_none.set(True)
    try:
        yield
    finally:
        _counts_none.reset(token)


@contextmanager
def counting_memos(memos: frozenset[int]) -> Iterator[None]:
    """Count the tables of these memos, whose results functions change."""
    token = _changing_memos.set(memos)
    try:
        yield
    finally:
        _changing_memos.reset(token)


@contextmanager
def finding_empty(on_empty: OnEmpty) -> Iterator[None]:
    """Let walks tell which caches they meet that hold nothing yet."""
    token = _on_empty.set(on_empty)
    try:
        yield
    finally:
        _on_empty.reset(token)


@contextmanager
def leaving_out(places: frozenset[Place]) -> Iterator[None]:
    """Do not count the values that are as functions made them."""
    token = _as_made.set(places)
    try:
        yield
    finally:
        _as_made.reset(token)


def is_cache(vertex: Vertex) -> bool:
    """Whether a value holds results for later calls: a cached function or property."""
    return is_a(vertex.value, functools._lru_cache_wrapper | functools.cached_property)


def held_results(cached: Any) -> list[Any]:
    """The value that a cached function holds of its call without arguments, if there is one."""
    # The cache itself can only be had from Python's collector of garbage.
    found = gc.get_referents(cached)
    for table in found:
        if type(table) is not dict or table is getattr(cached, "__dict__", None):
            continue
        if () not in table:
            continue
        if type(table[()]).__name__ != "_lru_list_elem":
            if cached.cache_parameters()["maxsize"] is None:
                return [table[()]]
            continue
        # A bounded cache has its results in a list of pairs, which the collector spells out. If
        # another call has returned an empty tuple, too, it cannot be told which is the key.
        places = [i for i, each in enumerate(found) if type(each) is tuple and each == ()]
        return found[places[0] + 1 : places[0] + 2] if len(places) == 1 else []
    return []


def result_of_function(cached: Any) -> list[Part]:
    """What a cached function holds, as a part of it."""
    if id(cached) in _changing_memos.get():
        memo = Part(_LABEL, _held_by_memo(cached), b"memo")
        memo.optional = True
        return [memo]
    if (id(cached), RESULT) in _as_made.get():
        return []
    found = held_results(cached)
    if not found and (on_empty := _on_empty.get()) is not None and _may_lack_arguments(cached):
        table = _table(cached)
        if table is not None and () not in table:
            on_empty(cached, RESULT, table, ())
    if _counts_none.get():
        return []
    return [_part(_LABEL, value) for value in found if _can_change(value)]


def _held_by_memo(cached: Any) -> list[Any]:
    """The keys and results of a memo, in the order in which it would forget them."""
    table = _table(cached)
    if table is None or cached.cache_parameters()["maxsize"] is None:
        return [*(table or {}).items()]
    held = itertools.takewhile(lambda each: each is not table, gc.get_referents(cached)[1:])
    # Behind each pair the collector names the class of the link that holds it.
    return [each for each in held if getattr(each, "__name__", "") != "_lru_list_elem"]


def _may_lack_arguments(cached: Any) -> bool:
    """Whether a cached function can be called without arguments."""
    function = cached.__wrapped__
    if type(function) is not FunctionType:
        return True
    code, named = function.__code__, function.__kwdefaults__ or {}
    return code.co_argcount == len(function.__defaults__ or ()) and (
        code.co_kwonlyargcount == len(named)
    )


def has_parameters(cached: Any) -> bool:
    """Whether a cached function can be called with arguments, and so hold several results."""
    function = cached.__wrapped__
    if type(function) is not FunctionType:
        return True
    code = function.__code__
    takes_any = code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    return bool(code.co_argcount or code.co_kwonlyargcount or takes_any)


def _table(cached: Any) -> dict[Any, Any] | None:
    """The table of a cached function, which is the same one after ``cache_clear``."""
    # Results come before it, which may be dicts as well.
    own = getattr(cached, "__dict__", None)
    dicts = [each for each in gc.get_referents(cached) if type(each) is dict and each is not own]
    return dicts[-1] if dicts else None


def results_of_properties(owner: Any, names: Iterable[str]) -> list[Part]:
    """What the cached properties of an object hold, as parts of it."""
    left_out, held = _as_made.get(), attributes_of(owner)
    if (on_empty := _on_empty.get()) is not None and type(held) is dict:
        for name in names:
            if name not in held:
                on_empty(owner, name, held, name)
    if _counts_none.get():
        return []
    return [
        _part(f"attribute {name}", held[name])
        for name in names
        if name in held and (id(owner), name) not in left_out and _counts(held[name])
    ]


def _counts(value: Any) -> bool:
    """Whether the value of a property counts, which a program may also set, as any attribute."""
    if token(value) is not None or is_a(value, tuple | frozenset | np.generic):
        return True
    return _can_change(value)


def _part(label: str, value: Any) -> Part:
    found = Part(label, value, f"held {label}".encode("utf-8", "surrogatepass"))
    # It did not have to be comparable before it was made.
    found.optional = found.held = True
    return found


def _can_change(value: Any) -> bool:
    """Whether a program may change a value, and not only use it: data, objects of its classes."""
    if is_a(value, tuple):
        return any(map(_can_change, value))
    if is_a(value, _CONTAINERS):
        return True
    if is_random_generator(value):
        return True
    is_code = is_a(value, type | FunctionType | ModuleType)
    return not is_code and not is_library_class(type(value))


def results_as_made(
    vertices: list[Vertex], moving: Mask, content: Callable[[Any], bytes]
) -> frozenset[Place]:
    """The values that are as the functions of a pass made them; remembers those that are new.

    Args:
        vertices: Those of a graph in which all held values count.
        moving: What its functions write; of these values the history says nothing.
        content: The digest of the data of a value alone.
    """
    found: dict[tuple[Vertex, Part], Place] = {}
    changed: set[Vertex] = set()
    present: set[Place] = set()
    for vertex in vertices:
        for part, inner in vertex.edges:
            if not part.held:
                continue
            place = id(vertex.value), part.label.partition(" ")[2]
            present.add(place)
            if moving.hides_part(vertex, part) or (inner is not None and moving.hides(inner)):
                continue
            if _counts_all.get():
                if not _can_change(part.value):
                    found[vertex, part] = place
                continue
            digest = (token(part.value) or b"") if inner is None else inner.digest
            if _is_as_made(place, vertex.value, part.value, digest, content):
                found[vertex, part] = place
            else:
                changed.add(vertex)
    if _counts_all.get():
        return frozenset(found.values())
    reached = {id(vertex.value) for vertex in vertices} if _known else set()
    for place in [each for each in list(_known) if each[0] in reached and each not in present]:
        _known.pop(place, None)  # the cache was emptied
    if found and changed:
        _count_what_hides(vertices, found, changed)
    return frozenset(found.values())


def _count_what_hides(
    vertices: list[Vertex], found: dict[tuple[Vertex, Part], Place], changed: set[Vertex]
) -> None:
    """Let those values count through which alone one is reached that is not as it was made."""
    roots = [vertex for vertex in vertices if vertex.parent is None]
    hidden = changed - _reached(roots, found)
    if not hidden:
        return
    for vertex, part in list(found):
        inner = next(inner for each, inner in vertex.edges if each is part)
        if inner is not None and not hidden.isdisjoint(_reached([inner], {})):
            del found[vertex, part]


def _reached(starts: list[Vertex], left_out: Container[tuple[Vertex, Part]]) -> set[Vertex]:
    """What some vertices lead to, but for the parts that are left out."""
    seen, todo = set(starts), list(starts)
    while todo:
        vertex = todo.pop()
        for part, inner in vertex.edges:
            if inner is None or inner in seen or (part.held and (vertex, part) in left_out):
                continue
            seen.add(inner)
            todo.append(inner)
    return seen


def note_result(owner: Any, name: str, content: bytes | None) -> None:
    """Remember how a value is that has appeared, unless that is known already.

    Args:
        owner: What holds it: a cached function or an object.
        name: What it is called there.
        content: The digest of its data, if functions have made it; None for one that counts.
    """
    place = id(owner), name
    known = _known.get(place)
    if known is None or known.owner() is not owner:
        _remember(place, owner, content)


def _is_as_made(
    place: Place, owner: Any, value: Any, digest: bytes, content: Callable[[Any], bytes]
) -> bool:
    known = _known.get(place)
    if known is None or known.owner() is not owner:
        # A number cannot be changed, only replaced: the first one is taken for computed.
        is_made = _runs_pass.get() or not _can_change(value)
        known = _remember(place, owner, content(value) if is_made else None)
        known.digest = digest
    if known.content is None:
        return False
    # The digest counts code, too, and what other caches hold that it leads to.
    if known.digest != digest:
        if known.content != content(value):
            return False
        known.digest = digest
    return True


def _remember(place: Place, owner: Any, content: bytes | None) -> _History:
    reference: Callable[[], Any]
    try:
        reference = weakref.ref(owner, lambda _: _known.pop(place, None))
    except TypeError:
        # A tuple with attributes, which has no weak references, is held. There are few.
        reference = functools.partial(_same, owner)
    if len(_known) >= _MOST_KNOWN:
        _known.clear()  # then more counts than need be
    known = _known[place] = _History(reference, content)
    return known


def _same(owner: Any) -> Any:
    return owner
