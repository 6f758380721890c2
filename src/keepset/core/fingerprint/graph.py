"""Graph: values joined to their parts, and hashed from the leaves up."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from keepset.core.cached import cached_property
from keepset.core.fingerprint.bounds import Bounds
from keepset.core.fingerprint.class_attributes import has_class_attribute
from keepset.core.fingerprint.facts import Facts, digest_of
from keepset.core.fingerprint.hidden import Hidden
from keepset.core.fingerprint.ignore import SEPARATOR, Ignore
from keepset.core.fingerprint.keyed import without_keys
from keepset.core.fingerprint.mask import Mask
from keepset.core.fingerprint.plain import token
from keepset.core.fingerprint.plain_data import LARGE, is_deep, large_plain_digest
from keepset.core.fingerprint.rings import hash_ring, rings
from keepset.core.fingerprint.sketch import Part, Sketch, Uncountable, shortened
from keepset.core.fingerprint.tree import Tree
from keepset.core.fingerprint.vertex import Vertex
from keepset.errors import FingerprintError, KeepsetError

Rule = Callable[[Any], Sketch]
T = TypeVar("T")

# Containers that are hashed at once if all their items are plain: there may be a million of them.
_CONTAINERS = {"tuple", "list", "dict", "OrderedDict"}

# How often a container that changes while it is looked at is looked at again.
_ATTEMPTS = 20

_ITEM_TAGS = [f"item {i}".encode() for i in range(8)]
_EMPTY_OWN = {kind: digest_of(kind.__name__.encode(), b"") for kind in (tuple, list)}

# What the methods of a user's class may raise where a rule asks them.
_FOREIGN = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)

_VERBS = {
    "captured": "captures",
    "global": "uses the global",
    "attribute": "has the attribute",
    "default": "has the default",
    "argument": "has the argument",
}


class _LeftOut:
    """Stands for a part that does not count."""


# What the user ignores, and what functions write and never read.
_LEFT_OUT, _UNREAD = _LeftOut(), _LeftOut()


def is_left_out(part: Part) -> bool:
    """Whether something stands for the value of a part that does not count."""
    return type(part.value) is _LeftOut


def items_of(records: list[Any] | dict[Any, Any]) -> list[Any]:
    """The records in a list or a dict."""
    return list(records.copy().values()) if isinstance(records, dict) else records


class Graph:
    """Everything that can be reached from some values.

    Args:
        roots: The values, each with the name that paths begin with.
        rule: What makes the sketch of a value.
        ignore: The parts that do not count.
        opens_data: Whether large plain data is looked into.
        unread: Whether a part does not count, because no function reads it.
        records: Tells lists of records, and what each holds.

    Attributes:
        roots: Their vertices.
        records: Lists and dicts of many records, of which the single ones were not looked at.
        data: Those of large plain data, of which the inside was not looked at.
        met_again: Those that are reached in more than one way.
    """

    def __init__(
        self,
        roots: Sequence[tuple[str, Any]],
        rule: Rule,
        ignore: Ignore | None = None,
        opens_data: bool = False,
        unread: Callable[[Vertex, Part], bool] | None = None,
        records: Callable[[list[Any]], tuple[type, list[Any]] | None] | None = None,
    ) -> None:
        self._records = records
        self.records: list[Vertex] = []
        self._rule, self._ignore, self._opens_data = rule, ignore, opens_data
        self._unread = unread
        self.data: list[Vertex] = []
        self.met_again: set[Vertex] = set()
        self._deep: set[Vertex] = set()
        self._vertices: dict[int, Vertex] = {}
        self._leaves: dict[tuple[type, bytes], bytes] = {}
        self._bounds = Bounds(rule)
        self._problems: dict[Vertex, Uncountable] = {}
        self.roots: list[Vertex] = []
        with _garbage_kept():
            for name, value in roots:
                if id(value) in self._vertices:
                    self.met_again.add(self._vertices[id(value)])
                self.roots.append(self._vertex(value, None, name))
                self._expand(self.roots[-1])
            self._hash_all()

    @property
    def vertices(self) -> list[Vertex]:
        return list(self._vertices.values())

    def reachable(self, root: Vertex) -> list[Vertex]:
        """What one of the roots leads to."""
        if len(self.roots) == 1:
            return self.vertices
        found, todo = {root}, [root]
        while todo:
            for _, inner in todo.pop().edges:
                if inner is not None and inner not in found:
                    found.add(inner)
                    todo.append(inner)
        return [vertex for vertex in self._vertices.values() if vertex in found]

    def left_out_names(self) -> Iterator[tuple[int, str]]:
        """The names whose values do not count, by what holds them."""
        for vertex in self._vertices.values():
            for part, _ in vertex.edges:
                if is_left_out(part):
                    word, _, name = part.label.partition(" ")
                    yield part.binding or (id(vertex.value), name if word == "attribute" else "")

    def refuse(self, mask: Mask) -> None:
        """Raise FingerprintError for a value without content, unless the mask hides all ways to it.

        A file that a function opens on first use is such a value.
        """
        if not self._problems:
            return
        found, todo = set(self.roots), list(self.roots)
        while todo:
            vertex = todo.pop()
            # What an iterator goes through was given to it, and not made by the functions.
            is_iterator = has_class_attribute(type(vertex.value), "__next__") and mask.hides(vertex)
            for part, inner in vertex.edges:
                if inner is None or inner in found or part.optional:
                    continue
                if is_iterator or not mask.hides_part(vertex, part):
                    found.add(inner)
                    todo.append(inner)
        for vertex, problem in self._problems.items():
            if vertex in found:
                raise _error(vertex, problem) from None

    def facts(self, root: Vertex, moving: Mask | None = None) -> Facts:
        """The tree for people, in which the parts that ``moving`` hides are marked."""
        tree = Tree(self._rule, self.leaf_digest, self._hidden, moving, set(self.data))
        return tree.facts(root, 0, self._hidden.strength(root.label, root.value))

    def shown(self, label: str) -> str:
        """A label without secrets."""
        return self._hidden.label(label)

    @cached_property
    def _hidden(self) -> Hidden:
        return Hidden(self._rule, self._labelled())

    def _labelled(self) -> Iterator[tuple[str, Any, str]]:
        """The name, the value and the source of everything."""
        for vertex in self._vertices.values():
            yield vertex.label, vertex.value, vertex.sketch.source if vertex.sketch else ""
            for part, _ in vertex.edges:
                yield part.label, part.value, ""

    def digests_without(self, mask: Mask, more: Sequence[Vertex] = ()) -> dict[Vertex, bytes]:
        """The digests of the roots and ``more``, as if what the mask hides were not there."""
        wanted = [*self.roots, *more]
        touched = self._touched(mask)
        edges = {
            vertex: [edge for edge in vertex.edges if not is_hidden(mask, vertex, edge[0])]
            for vertex in touched
        }
        own = {vertex: _masked_own(vertex, mask) for vertex in touched}
        sketches = {vertex: vertex.sketch for vertex in touched}
        for vertex in touched:
            if mask.hidden_keys(vertex) and not mask.hides(vertex):
                sketch = self._rule(without_keys(vertex.value, mask.hidden_keys(vertex)))
                own[vertex] = digest_of(sketch.kind.encode(), sketch.own)
                edges[vertex] = self._known_edges(vertex, sketch)
                sketches[vertex] = sketch
        digests: dict[Vertex, bytes] = {}

        def found(part: Part, inner: Vertex | None) -> bytes:
            if inner is None:
                return self.leaf_digest(part.value)
            return digests[inner] if inner in touched else inner.digest

        def digest(vertex: Vertex) -> bytes:
            inner = [(part.tag, found(part, child)) for part, child in edges[vertex]]
            return _joined(own[vertex], inner, sketches[vertex])

        def following(vertex: Vertex) -> list[Vertex]:
            return [inner for _, inner in edges[vertex] if inner is not None and inner in touched]

        for ring in rings([vertex for vertex in wanted if vertex in touched], following):
            hash_ring(ring, following, digest, own, digests)
        return {vertex: digests.get(vertex, vertex.digest) for vertex in wanted}

    def _known_edges(self, vertex: Vertex, sketch: Sketch) -> list[tuple[Part, Vertex | None]]:
        """The edges of a vertex that belong to the parts of what was left of it."""
        # The pair of a key that is not plain is made anew with each sketch.
        pairs = {
            tuple(map(id, part.value)): inner for part, inner in vertex.edges if part.tag == b"pair"
        }
        found: list[tuple[Part, Vertex | None]] = []
        for part in sketch.parts:
            if token(part.value) is not None:
                found.append((part, None))
                continue
            inner = self._vertices.get(id(part.value))
            if part.tag == b"pair":
                inner = pairs.get(tuple(map(id, part.value)))
            if inner is not None:
                found.append((part, inner))
        return found

    def _touched(self, mask: Mask) -> set[Vertex]:
        """The vertices of which something is hidden, and all that lead to them."""
        above: dict[Vertex, list[Vertex]] = {}
        todo: list[Vertex] = []
        for vertex in self._vertices.values():
            for _, inner in vertex.edges:
                if inner is not None:
                    above.setdefault(inner, []).append(vertex)
            hides = mask.hides(vertex) or mask.hidden_keys(vertex)
            if hides or any(is_hidden(mask, vertex, p) for p, _ in vertex.edges):
                todo.append(vertex)
        touched = set(todo)
        while todo:
            for outer in above.get(todo.pop(), ()):
                if outer not in touched:
                    touched.add(outer)
                    todo.append(outer)
        return touched

    def _vertex(self, value: Any, parent: Vertex | None, label: str) -> Vertex:
        found = self._vertices.get(id(value))
        if found is None:
            found = self._vertices[id(value)] = Vertex(value, parent, label)
        return found

    def _expand(self, root: Vertex) -> None:
        # A list and not recursion: values may be nested deeper than Python's stack.
        todo = [root] if root.sketch is None and not root.digest else []
        while todo:
            vertex = todo.pop()
            self._bounds.check(vertex, len(self._vertices))
            if type(vertex.value) in (tuple, list) and self._close_sequence(vertex):
                continue
            if self._close_data(vertex):
                continue
            try:
                sketch = self._sketch_of_records(vertex) or self._sketch(vertex.value)
            except Uncountable as problem:
                if problem.breaks_off:
                    raise _error(vertex, problem) from problem.__cause__
                # It counts by its type, if what leads to it is own state: see refuse.
                self._problems[vertex] = problem
                sketch = _sketch_of_type(vertex.value)
            vertex.own = digest_of(sketch.kind.encode(), sketch.own)
            # A large one has been hashed by its rule, whose work is not thrown away.
            if sketch.kind in _CONTAINERS and not sketch.own and self._close(vertex, sketch):
                continue
            vertex.sketch = sketch
            if sketch.kind == "object":
                vertex.objects += 1
            self._join(vertex, sketch, todo)

    def _join(self, vertex: Vertex, sketch: Sketch, todo: list[Vertex]) -> None:
        for part in sketch.parts:
            if self._ignore is not None and self._is_ignored(vertex, part):
                part.value = _LEFT_OUT
            elif self._unread is not None and self._unread(vertex, part):
                part.value = _UNREAD
            if token(part.value) is not None:
                vertex.edges.append((part, None))
                continue
            known = len(self._vertices)
            inner = self._vertex(part.value, vertex, part.label)
            vertex.edges.append((part, inner))
            if len(self._vertices) > known:
                todo.append(inner)
            else:
                self.met_again.add(inner)

    def _sketch(self, value: Any) -> Sketch:
        if value is _LEFT_OUT:
            return Sketch("ignored", "left out by ignore")
        if value is _UNREAD:
            return Sketch("unread", "written and never read")
        try:
            return _undisturbed(self._rule, value)
        except (KeepsetError, Uncountable):
            raise
        except _FOREIGN as error:
            # Of a class that does not do what its bases promise. It says of itself what it is.
            remark = shortened(f" ({type(error).__name__}: {error})", 200)
            raise Uncountable(f"an object of {type(value).__name__}", remark) from error

    def _sketch_of_records(self, vertex: Vertex) -> Sketch | None:
        """Many records as one table of what they hold, which is hashed at once."""
        value = vertex.value
        if type(value) not in (list, dict) or len(value) < LARGE or self._opens_data:
            return None
        if self._records is None or (self._ignore is not None and self._ignore.names_items):
            return None
        found = _undisturbed(self._records, items_of(value))
        if found is None or large_plain_digest(found[1]) is None:
            return None
        parts = [Part("class of items", found[0], b"class"), Part("items", found[1], b"items")]
        if type(value) is dict:
            if large_plain_digest(keys := list(value)) is None:
                return None
            parts.append(Part("keys", keys, b"keys"))
        self.records.append(vertex)
        kind = type(value).__name__
        return Sketch(
            "records", f"{kind} of {len(value):,} {found[0].__name__} objects", parts=parts
        )

    def _close_sequence(self, vertex: Vertex) -> bool:
        """As ``_close``, without a sketch: for a list of a million pairs."""
        value = vertex.value
        if self._ignore is not None or not 0 < len(value) <= len(_ITEM_TAGS):
            return False
        inner: list[bytes] = []
        for tag, item in zip(_ITEM_TAGS, value, strict=False):
            plain = token(item)
            if plain is None:
                return False
            inner += tag, self.leaf_digest(item, plain)
        vertex.own = _EMPTY_OWN[type(value)]
        vertex.digest = digest_of(vertex.own, *inner)
        return True

    def _close_data(self, vertex: Vertex) -> bool:
        """Hash large plain data at once."""
        value = vertex.value
        if self._opens_data or (self._ignore is not None and self._ignore.names_items):
            return False
        if vertex.parent in self._deep:
            self._deep.add(vertex)  # what lies inside is looked at one by one
            return False
        content = _undisturbed(large_plain_digest, value)
        if content is None:
            if _undisturbed(is_deep, value):
                self._deep.add(vertex)
            return False
        vertex.own = digest_of(type(value).__name__.encode(), content)
        vertex.digest = digest_of(vertex.own)
        self.data.append(vertex)
        return True

    def _close(self, vertex: Vertex, sketch: Sketch) -> bool:
        """Hash a container of plain values at once; its parts are made again if people ask."""
        if self._ignore is not None and any(self._is_ignored(vertex, p) for p in sketch.parts):
            return False
        inner = []
        for part in sketch.parts:
            plain = token(part.value)
            if plain is None:
                return False
            inner.append((part.tag, self.leaf_digest(part.value, plain)))
        vertex.digest = _joined(vertex.own, inner, sketch)
        return True

    def _is_ignored(self, vertex: Vertex, part: Part) -> bool:
        ignore = self._ignore
        if ignore is None or not ignore.may_match(part.label):
            return False
        return ignore.matches(f"{vertex.path}{SEPARATOR}{part.label}")

    def leaf_digest(self, value: Any, plain: bytes | None = None) -> bytes:
        key = type(value), token(value) or b"" if plain is None else plain
        found = self._leaves.get(key)
        if found is None:
            found = digest_of(digest_of(key[0].__name__.encode(), key[1]))
            if len(self._leaves) < 100_000:
                self._leaves[key] = found
        return found

    def _hash_all(self) -> None:
        digests: dict[Vertex, bytes] = {}
        own = _Own()

        def digest(vertex: Vertex) -> bytes:
            inner = [
                (
                    part.tag,
                    self.leaf_digest(part.value)
                    if child is None
                    else child.digest or digests[child],
                )
                for part, child in vertex.edges
            ]
            return _joined(vertex.own, inner, vertex.sketch)

        def following(vertex: Vertex) -> list[Vertex]:
            return [inner for _, inner in vertex.edges if inner is not None and not inner.digest]

        for ring in rings([root for root in self.roots if not root.digest], following):
            hash_ring(ring, following, digest, own, digests)
            for vertex in ring:
                vertex.digest = digests[vertex]


def _undisturbed(find: Callable[[Any], T], value: Any) -> T:
    """What ``find`` says of a value, also if another thread writes it: a memo that is filled."""
    for _ in range(_ATTEMPTS):
        try:
            return find(value)
        except RuntimeError as error:  # "dictionary changed size during iteration"
            if "during iteration" not in str(error):
                raise
    return find(value)


@contextmanager
def _garbage_kept() -> Iterator[None]:
    """Pause Python's collector, which would go through the growing graph again and again."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _sketch_of_type(value: Any) -> Sketch:
    kind = type(value)
    parts = [Part(f"class {kind.__name__}", kind, b"class")]
    return Sketch("uncountable", f"{kind.__name__} object", parts=parts)


def is_hidden(mask: Mask, vertex: Vertex, part: Part) -> bool:
    """Whether a part of a vertex does not count."""
    # What is left out counts for nothing, so there is nothing to hide.
    return not is_left_out(part) and mask.hides_part(vertex, part)


def _masked_own(vertex: Vertex, mask: Mask) -> bytes:
    if not mask.hides(vertex):
        return vertex.own
    kind = vertex.sketch.kind if vertex.sketch else type(vertex.value).__name__
    return digest_of(b"left out", kind.encode())


class _Own(dict[Vertex, bytes]):
    def __missing__(self, vertex: Vertex) -> bytes:
        return vertex.own


def _joined(own: bytes, inner: list[tuple[bytes, bytes]], sketch: Sketch | None) -> bytes:
    if sketch is None or not sketch.ordered:
        inner.sort()
    return digest_of(own, *(item for pair in inner for item in pair))


def _error(vertex: Vertex, problem: Uncountable) -> FingerprintError:
    *above, last = vertex.labels()
    if above:
        word, _, rest = last.partition(" ")
        what = f"{_VERBS[word]} '{rest}'" if word in _VERBS else f"holds {last}"
        said = f"{SEPARATOR.join(above)} {what} ({problem.what})"
    else:
        said = f"{last} is {problem.what}"
    return FingerprintError(
        f"{said}, which has no content that could be compared{problem.remark}; make it inside "
        "the function, give its class a __keepset_fingerprint__ method, leave it out with "
        f'ignore=["{last}"], or pass fingerprint="..." with a text that you change whenever the '
        "result does",
        path=SEPARATOR.join([*above, last]),
    )
