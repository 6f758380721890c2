"""Files in object stores, which count by what their stores say of them."""

from __future__ import annotations

import os
from collections import defaultdict
from typing import Any

from keepset.core.node import stage
from keepset.core.parameter import parameter
from keepset.exchange.files.file_names import folder_and_file, store_of
from keepset.nodes.from_tensor_slices import FromTensorSlices
from keepset.storage import ObjectInfo
from keepset.storage.failures import missing
from keepset.storage.private_url import private_url


@stage
class RemoteFiles(FromTensorSlices):
    """The names of files, some of which are in an object store.

    What is kept of them is used as long as their sizes and versions (ETags, or times where a store
    has none) are the same. They are asked for when somebody wants a fingerprint, and not before.
    """

    # Credentials and endpoints: the files count by what their store says of them.
    store_options: Any = parameter(default=None, identity=False, recipe=False)

    @property
    def outside(self) -> Any:
        names = [os.fsdecode(name) for name in self.tensors.tolist()]
        by_folder: dict[str, list[str]] = defaultdict(list)
        for name in names:
            by_folder[folder_and_file(name)[0]].append(name)
        found: dict[str, ObjectInfo] = {}
        for same in by_folder.values():
            found |= self._infos(same)
        return [
            (name, found[name].size_bytes, found[name].version or found[name].modified_s)
            for name in names
        ]

    def _infos(self, names: list[str]) -> dict[str, ObjectInfo]:
        """What a store says of files of one folder, in one request if there are several."""
        store, file = store_of(names[0], self.store_options)
        if len(names) == 1:
            return {names[0]: store.info(file)}
        listed = {info.name: info for info in store.list("") if "/" not in info.name}
        found = {}
        for name in names:
            _, file = folder_and_file(name)
            if file not in listed:
                raise missing(private_url(name))
            found[name] = listed[file]
        return found
