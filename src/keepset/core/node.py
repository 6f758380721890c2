"""Node: an immutable description of one stage. Nodes form the pipeline."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from typing import Any, ClassVar, Final, Self, TypeVar, dataclass_transform

from keepset.core.cached import cached_property
from keepset.core.chunk import Chunk
from keepset.core.cursor import Cursor
from keepset.core.dtypes import Array
from keepset.core.options import NO_OPTIONS, Options
from keepset.core.parameter import declared, is_default, parameter, upstream
from keepset.core.random import Randomness
from keepset.core.run import Run, look
from keepset.core.secrets import Mask, strength_of_name
from keepset.core.spec import Spec, spec_of
from keepset.errors import NotAddressableError, UnknownSpecError

S = TypeVar("S")
INFINITE: Final = -1
UNKNOWN: Final = -2
# As much of a parameter is shown in a title.
TITLE_LETTERS: Final = 40


class _MustRun(Exception):  # noqa: N818  # a signal, not a failure
    """Raised inside spec inference where only an element can tell."""


@dataclass_transform(
    kw_only_default=True,
    frozen_default=True,
    eq_default=False,
    field_specifiers=(field, parameter, upstream),
)
def stage(kind: type[S]) -> type[S]:
    """Make a class the description of a stage: a dataclass that is built by keywords.

    ``Node`` fills it in and keeps it from changing. Dataclasses do that too, but compile methods
    for each of fifty classes, which takes a third of the time that importing may take.

    A field counts for fingerprints and recipes, unless it is declared with ``parameter(...)``;
    ``upstream()`` declares one that holds a stage.
    """
    return dataclass(init=False, eq=False, repr=False, match_args=False, kw_only=True)(kind)


@stage
class Node(ABC):
    """One stage of a pipeline.

    A subclass is a frozen dataclass whose fields of type Node are its inputs. It says how to run
    (``cursor``), how many elements it has (``cardinality``) and of what type (``infer_spec``);
    one that can jump to any element also offers ``gather``.
    """

    name: str | None = parameter(default=None, identity=False)  # for messages

    # Whether reading ahead of what the consumer needs could be noticed, as with a generator
    # that waits for the world outside.
    is_live: ClassVar[bool] = False

    # Whether the stage gives what its parent gives, in another way, as long as the fields that
    # count have their default values.
    is_physical: ClassVar[bool] = False

    # Whether elements are batches, whose number of rows is the first size; None: as in the inputs.
    makes_batches: ClassVar[bool | None] = None

    # Whether its randomness is only for the pipelines that its function opens.
    opens_pipelines: ClassVar[bool] = False

    def __init__(self, **given: Any) -> None:
        for f in fields(self):
            if f.init and f.name in given:
                value = given.pop(f.name)
            elif f.default is not MISSING:
                value = f.default
            elif f.default_factory is not MISSING:
                value = f.default_factory()
            elif f.init:
                raise TypeError(f"{type(self).__name__} needs {f.name}")
            else:
                continue
            self.__dict__[f.name] = value
        if given:
            raise TypeError(f"{type(self).__name__} takes no {', '.join(given)}")
        self.__post_init__()

    def __post_init__(self) -> None:
        """Check the arguments."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.__dict__:
            raise FrozenInstanceError(f"{self.title} cannot be changed; build another stage")
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        raise FrozenInstanceError(f"{self.title} cannot be changed; build another stage")

    def __repr__(self) -> str:
        return f"<{self.title}>"

    @abstractmethod
    def cursor(self, run: Run) -> Cursor:
        """Open the stage for one pass."""

    @abstractmethod
    def cardinality(self) -> int:
        """The number of elements, ``INFINITE`` or ``UNKNOWN``. Never runs the pipeline."""

    @abstractmethod
    def infer_spec(self, spec: Callable[[Node], Spec]) -> Spec:
        """The elements' spec, using ``spec(parent)``; ``must_run()`` where an element must tell."""

    def project(self, keys: tuple[Any, ...]) -> Node | None:
        """A stage that gives only these keys of its elements, if it can save work that way."""
        return None

    def obstacle(self) -> str | None:
        """Why elements cannot be had by position, or None if they can."""
        return f"{self.title} only goes forward"

    def addressable(self) -> Node:
        """This stage, over sources that have done what they need to give elements by position.

        Most need nothing; a file may need an index.
        """
        return self._addressable

    @cached_property
    def _addressable(self) -> Node:
        return self._over(lambda node: node.addressable())

    def positional(self) -> Node:
        """As :meth:`addressable`, for a look at single elements that may wait for the first.

        Stages that only go forward may stand in for themselves by what they remember. A pipeline
        never runs over those.
        """
        return self._over(lambda node: node.positional())

    def _over(self, prepared: Callable[[Node], Node]) -> Node:
        """The same stage over prepared inputs."""
        changed: dict[str, Any] = {}
        for f in fields(self):
            value = getattr(self, f.name)
            if isinstance(value, Node):
                changed[f.name] = prepared(value)
            elif _holds_nodes(value):
                changed[f.name] = tuple(map(prepared, value))
        if all(_is_same(value, getattr(self, name)) for name, value in changed.items()):
            return self
        return self.replaced(**changed)

    def replaced(self, **changed: Any) -> Self:
        """The same stage with other values of some fields."""
        same = {f.name: getattr(self, f.name) for f in fields(self) if f.init}
        return type(self)(**(same | changed))

    def gather(self, indices: Array, run: Run) -> Chunk:
        """The elements at these positions (all inside the data), in this order."""
        raise NotAddressableError(self.obstacle() or f"{self.title} has no gather")

    def cursor_over(self, order: Callable[[Array], Array], length: int, run: Run) -> Cursor | None:
        """A cursor over the elements at ``order(0)``, ``order(1)`` and so on, ``length`` of them.

        For those who save work by knowing what comes next; otherwise None, and ``gather`` does it.
        """
        return None

    @property
    def pick(self) -> Callable[[int], Any] | None:
        """Gives the element at a position inside the data; None if only ``gather`` does.

        For those whose elements lie ready, so that one of them costs little more than a list's.
        """
        return None

    def begin_pass(self) -> Any:
        """What the process that begins a pass finds out for the workers that it has, if anything.

        It can be pickled, and reaches the cursor of this stage by ``run.session.handed``.
        """
        return None

    @property
    def randomness(self) -> Randomness | None:
        """The stage's own source of randomness, if it has one."""
        return None

    @property
    def outside(self) -> Any:
        """What can be seen of things outside that the elements depend on, if that counts."""
        return None

    @property
    def file_names(self) -> list[bytes] | None:
        """The files that the stage names, if that is what its elements are."""
        return None

    @property
    def reads_to_count(self) -> bool:
        """Whether files have to be read to find out how many elements there are."""
        return False

    @property
    def promises_count(self) -> bool:
        """Whether the number of elements is what a user says, and may be wrong."""
        return False

    @property
    def is_passed_over(self) -> bool:
        """Whether the stage has the identity of its parent."""
        return self.is_physical and all(
            declared(f).inputs or is_default(f, getattr(self, f.name))
            for f in fields(self)
            if f.init and declared(f).identity
        )

    @property
    def parameters(self) -> dict[str, Any]:
        """What ``describe`` shows of this stage."""
        return {
            f.name: value
            for f in fields(self)
            if f.name != "name"
            and (declared(f).identity or declared(f).recipe)
            and not _holds_nodes(value := getattr(self, f.name))
        }

    @property
    def kind(self) -> str:
        """The stage's method name, such as ``padded_batch``."""
        name = type(self).__name__
        return "".join("_" + c.lower() if c.isupper() else c for c in name).lstrip("_")

    @cached_property
    def title(self) -> str:
        """A short readable form for messages: ``map(load_image)``."""
        defaults = {f.name: f.default for f in fields(self)}
        given, mask = self.parameters, Mask()
        if self.name or any(isinstance(value, str | bytes) for value in given.values()):
            # Messages show the title as it is, and a text in it may hold what is secret elsewhere.
            # Imported here: the walk over what functions use is seldom needed that early.
            from keepset.core.secrets.reachable import reachable_secrets

            mask = Mask(reachable_secrets(given.items()))
        shown = ", ".join(
            text
            for name, value in given.items()
            if (text := _short(name, value, mask)) is not None and value is not defaults.get(name)
        )
        title = f"{self.kind}({shown})"
        return f"{title} named {mask.text(self.name)!r}" if self.name else title

    @cached_property
    def inputs(self) -> tuple[Node, ...]:
        found: list[Node] = []
        for f in fields(self):
            value = getattr(self, f.name)
            if isinstance(value, Node):
                found.append(value)
            elif _holds_nodes(value):
                found.extend(value)
        return tuple(found)

    def options(self) -> Options:
        """The options set anywhere upstream; the later ones win."""
        merged = NO_OPTIONS
        for parent in self.inputs:
            merged = merged.merge(parent.options())
        return merged

    def walk(self) -> Iterator[Node]:
        """This node and everything upstream."""
        yield self
        for parent in self.inputs:
            yield from parent.walk()

    @property
    def may_run_ahead(self) -> bool:
        """Whether elements may be computed before somebody needs them."""
        return not self.is_live and all(parent.may_run_ahead for parent in self.inputs)

    @cached_property
    def is_pure(self) -> bool:
        """Whether no user's function is called, so that nobody sees when elements are made."""
        if self.opens_pipelines or any(map(callable, self.parameters.values())):
            return False
        return all(parent.is_pure for parent in self.inputs)

    def known_spec(self) -> tuple[Spec] | None:
        """The spec in a one-tuple if it is known without running anything, else None."""
        return if_known(lambda: self.infer_spec(_known))

    def found_spec(self) -> tuple[Spec] | None:
        """As ``known_spec``, also where something was run before to find it out."""
        try:
            return (_found(self),)
        except _MustRun:
            return None

    def spec(self) -> Spec:
        """The spec of the elements; runs the first element where nothing else can tell."""
        return self._spec

    @cached_property
    def _spec(self) -> Spec:
        inferred = self.inferred_spec()
        return self._first_spec() if inferred is None else inferred[0]

    def _first_spec(self) -> Spec:
        return spec_of(self._first_element())

    def first_with_spec(self) -> tuple[Any, Spec]:
        """The first element, and the spec of all."""
        return self._first_element(), self.spec()

    def _first_element(self) -> Any:
        run = look(self)
        try:
            first = self.cursor(run).read(1)
        finally:
            run.session.close()
        if not len(first):
            raise UnknownSpecError(
                f"{self.title} has no elements to find the element_spec from; pass "
                "output_signature= to the stage that makes them"
            )
        return first.rows[0]

    @property
    def gives_batches(self) -> bool:
        """Whether elements are batches, as far as the stages tell."""
        if self.makes_batches is not None:
            return self.makes_batches
        return any(parent.gives_batches for parent in self.inputs)

    def inferred_spec(self) -> tuple[Spec] | None:
        """The spec in a one-tuple if it follows from those of the inputs, else None."""
        return if_known(lambda: self.infer_spec(Node.spec))

    def __getstate__(self) -> dict[str, Any]:
        # What was found out by running stays behind; only the description travels.
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


def if_known(find: Callable[[], Spec]) -> tuple[Spec] | None:
    """What finds a spec, in a one-tuple, unless it is known only by running something."""
    try:
        return (find(),)
    except _MustRun:
        return None


def must_run() -> Any:
    """Say, from within ``infer_spec``, that only an element can tell."""
    raise _MustRun


def _known(node: Node) -> Spec:
    return node.infer_spec(_known)


def _found(node: Node) -> Spec:
    return node._spec if "_spec" in vars(node) else node.infer_spec(_found)


def _holds_nodes(value: Any) -> bool:
    return isinstance(value, Node) or (
        isinstance(value, tuple) and bool(value) and all(isinstance(v, Node) for v in value)
    )


def _is_same(one: Any, other: Any) -> bool:
    if isinstance(one, tuple):
        return all(a is b for a, b in zip(one, other, strict=True))
    return one is other


def _short(name: str, value: Any, mask: Mask) -> str | None:
    """A parameter in a few characters, or None where it says little."""
    if value is None or isinstance(value, Randomness):
        return None
    if isinstance(value, bool):
        return f"{name}={value}"  # which says nothing by itself
    if callable(value):
        return name_of(value)
    if isinstance(value, str | bytes):
        shown = mask.value(value, strength_of_name(name))
        # A placeholder is not cut.
        return f"{value!r:.{TITLE_LETTERS}}" if shown is value else repr(shown)
    if isinstance(value, int | float):
        return f"{value!r:.{TITLE_LETTERS}}"
    return None


def name_of(function: Any) -> str:
    """The name of a function, or that of the class of an object that is called."""
    name = getattr(function, "__name__", None)
    # Proxies answer for every attribute, with more proxies.
    return name if isinstance(name, str) else type(function).__name__


def scaled(cardinality: int, function: Callable[[int], int]) -> int:
    """Apply ``function`` to a cardinality that is a number; pass INFINITE and UNKNOWN on."""
    return function(cardinality) if cardinality >= 0 else cardinality
