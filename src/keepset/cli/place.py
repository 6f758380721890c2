"""Place: what a PATH on the command line means, with its options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import click

from keepset.cli.names import short_names
from keepset.core.cached import cached_property
from keepset.dataset import Dataset
from keepset.errors import InvalidArgumentError, SnapshotMissingError
from keepset.exchange.tensorflow.saved_files import folders_below
from keepset.snapshot.looking import Snapshot
from keepset.snapshot.reading.kept import Kept
from keepset.snapshot.reading.opening import Location, check_folder, matching, snapshots_below
from keepset.snapshot.reading.replay import Replay
from keepset.storage import Store, open_store

_MOST_LISTED = 8


@dataclass(frozen=True)
class Place:
    """A folder or a url, the options of its store, and which of several snapshots is meant."""

    path: str
    options: dict[str, Any]
    fingerprint: str | None = None

    @cached_property
    def target(self) -> Store:
        """The store at the path, whether there is anything or not."""
        try:
            return open_store(self.path, **self.options)
        except InvalidArgumentError as error:
            raise click.UsageError(str(error)) from error

    @cached_property
    def root(self) -> Store:
        """The store at the path; an error if the path is not there."""
        root = self.target
        check_folder(root)
        return root

    @cached_property
    def folders(self) -> list[str]:
        """All snapshots that are meant: those whose name begins as ``fingerprint``, or all."""
        found = snapshots_below(self.root)
        if not found and folders_below(self.root):
            raise SnapshotMissingError(
                f"{self.root.url} was written by TensorFlow; `keepset convert {self.path} TARGET "
                "--to keepset` makes it a dataset that this command reads"
            )
        if not found:
            raise SnapshotMissingError(
                f"nothing is kept at {self.root.url}; write it with ks.save(dataset, path) or "
                "dataset.snapshot(path)"
            )
        if self.fingerprint is None:
            return found
        meant = matching(found, self.fingerprint)
        if not meant and found == [""]:
            raise SnapshotMissingError(
                f"{self.root.url} holds one dataset, which has no name to choose it by; leave "
                "--fingerprint out"
            )
        if not meant:
            raise SnapshotMissingError(
                f"{self.root.url} has no snapshot whose name begins with {self.fingerprint!r}; "
                f"there is {_listed(found)}"
            )
        return meant

    @cached_property
    def store(self) -> Store:
        """The store of the one snapshot that is meant."""
        folders = self.folders
        if self.fingerprint is None and "" in folders:
            return self.root
        if len(folders) > 1:
            choose = "name the folder of one, or choose with --fingerprint PREFIX"
            if self.fingerprint is not None:
                choose = "give more of its digits"
            raise click.UsageError(
                f"{self.root.url} holds {len(folders)} snapshots: {_listed(folders)}; {choose}"
            )
        return self.store_of(folders[0])

    def store_of(self, folder: str) -> Store:
        return self.root.sub(f"{folder}/") if folder else self.root

    def snapshot(self) -> Snapshot:
        return Snapshot.of(self.store)

    def dataset(self) -> Dataset:
        return Dataset.load(self.store.url, **self.options)

    def dataset_so_far(self) -> Dataset:
        """The dataset, or the elements that a first pass which is not finished has kept."""
        found = self.snapshot()
        if found.is_complete or found.waiting or not found.num_elements:
            return self.dataset()
        kept = Kept(self.store, found.manifest)
        return Dataset(Replay(location=Location(self.store.url, -1, self.options, True, kept)))


def _listed(folders: list[str]) -> str:
    names = [short or "." for short in list(short_names(folders).values())[:_MOST_LISTED]]
    more = len(folders) - len(names)
    return ", ".join(names) + (f" and {more} more" if more else "")
