"""Kind: one kind of file that Keepset reads, with a corpus, a reader and its own mutations."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

from tests.faults.bad_input import byte_mutations
from tests.faults.bad_input.byte_mutations import Mutation

import keepset as ks

FolderMutation = Callable[[Path, random.Random], None]
# No file of the corpus has as many elements; a damaged one may claim to.
MOST_ELEMENTS: Final = 10_000


@dataclass(frozen=True)
class Kind:
    """A kind of file.

    Attributes:
        make: Writes sound files into a folder: each variant in a folder of its own.
        read: Reads the folder of a variant in every way that users do.
        mutations: What knows the structure of the files; each changes a folder.
        victims: Which files of a variant bytes are changed in.
        raw_share: How often plain bytes are changed in place of the structure.
        names_files: Whether it is for such a file to name others, wherever they are.
        has_unfinished: Whether variants are refused without any mutation: golden files of passes
            that were interrupted.
    """

    make: Callable[[Path], None]
    read: Callable[[Path], Any]
    mutations: tuple[FolderMutation, ...] = ()
    victims: str = "*"
    raw_share: float = 0.4
    names_files: bool = False
    has_unfinished: bool = False

    def mutate(self, folder: Path, choose: random.Random) -> None:
        """Change files of a folder."""
        if self.mutations and choose.random() >= self.raw_share:
            choose.choice(self.mutations)(folder, choose)
        else:
            in_file(byte_mutations.mutated, self.victims)(folder, choose)


def in_file(mutation: Mutation, pattern: str = "*") -> FolderMutation:
    """Have a mutation change one of the files of a folder."""

    def mutate(folder: Path, choose: random.Random) -> None:
        files = sorted(path for path in folder.rglob(pattern) if path.is_file())
        if files:
            file = choose.choice(files)
            file.write_bytes(mutation(file.read_bytes(), choose))

    return mutate


def in_files(*mutations: Mutation, pattern: str = "*") -> tuple[FolderMutation, ...]:
    return tuple(in_file(mutation, pattern) for mutation in mutations)


def only_file(folder: Path) -> Path:
    """The file of a folder that has one, apart from what readers leave beside it."""
    return next(path for path in sorted(folder.iterdir()) if ".keepset" not in path.name)


def read_some(ds: Any) -> None:
    """Read elements, in order and by position, and what can be known without that."""
    repr(ds)
    found = list(islice(ds, MOST_ELEMENTS))
    repr(ds.element_spec)
    ds.cardinality()
    with suppress(ks.NotAddressableError):
        for place in (0, -1) if found else ():
            _ = ds[place]


def copied(source: Path, *names: str) -> Callable[[Path], None]:
    """Makes a corpus of some folders of a folder."""

    def make(folder: Path) -> None:
        for name in names:
            shutil.copytree(source / name, folder / name)

    return make
