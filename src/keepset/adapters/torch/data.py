"""Data sets for ``torch.utils.data.DataLoader``: one by position, one that is iterated over."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils.data import Dataset, IterableDataset, get_worker_info

from keepset.adapters.shares import Shares
from keepset.adapters.torch.loader import TorchLoader
from keepset.adapters.torch.tensors import collate, rows_of, rows_of_all

_NOT_SET = -1


class _Epoch:
    """The number of the pass, in memory that workers share with whoever started them."""

    def __init__(self) -> None:
        # The number, and how many passes a first worker has begun without one.
        self._shared = torch.tensor([_NOT_SET, 0]).share_memory_()
        self._passes = 0

    def set(self, number: int) -> None:
        self._shared[0] = number

    @property
    def number(self) -> int:
        return max(0, int(self._shared[0]))

    def next(self, worker: int | None, draws_anew: bool) -> int:
        """The number of the pass that begins now."""
        if self._shared[0] != _NOT_SET or not draws_anew:
            return self.number
        if worker is None:
            self._passes += 1
            return self._passes - 1
        if worker == 0:
            self._shared[1] += 1
            if self._shared[1] > 1:
                warnings.warn(
                    "this pipeline is shuffled anew in each epoch, but workers do not know which "
                    "epoch it is, and the order is that of the first one again; call "
                    "data.set_epoch(epoch) before each epoch, or use data.loader(num_workers=...)",
                    stacklevel=2,
                )
        return 0


class _TorchData:
    """What both kinds have in common."""

    _shares: Shares
    _copy: bool
    _epoch: _Epoch

    # Joins elements to a batch, as ``DataLoader(..., collate_fn=data.collate)``.
    collate = staticmethod(collate)

    def __len__(self) -> int:
        return len(self._shares)

    def set_epoch(self, epoch: int) -> None:
        """Say which pass comes next, also to workers that are there already.

        A shuffle has another order in each. Passes count from 0.
        """
        self._epoch.set(epoch)

    def loader(
        self,
        *,
        num_workers: int = 0,
        pin_memory: bool = False,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        multiprocessing_context: Any = None,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
    ) -> TorchLoader:
        """A ``DataLoader`` of the pipeline's elements in their order, that can stop and go on.

        See :class:`keepset.adapters.torch.loader.TorchLoader`. The arguments are DataLoader's.
        """
        return TorchLoader(
            self._shares,
            self._copy,
            num_workers=num_workers,
            pin_memory=pin_memory,
            prefetch_factor=prefetch_factor,
            persistent_workers=persistent_workers,
            multiprocessing_context=multiprocessing_context,
            timeout=timeout,
            worker_init_fn=worker_init_fn,
        )


class TorchMapData(_TorchData, Dataset):  # type: ignore[misc]
    """Elements by position: ``data[i]``, and a list of them at once for a DataLoader's batch."""

    def __init__(self, shares: Shares, copy: bool) -> None:
        self._shares, self._copy, self._epoch = shares, copy, _Epoch()

    def __getitem__(self, index: int) -> Any:
        return self.__getitems__([index])[0]

    def __getitems__(self, indices: list[int]) -> list[Any]:
        return list(rows_of(self._shares.at(indices, self._epoch.number), self._copy))


class TorchIterableData(_TorchData, IterableDataset):  # type: ignore[misc]
    """Elements one after another, divided among the workers of a DataLoader."""

    def __init__(self, shares: Shares, copy: bool) -> None:
        self._shares, self._copy, self._epoch = shares, copy, _Epoch()

    def __iter__(self) -> Iterator[Any]:
        info = get_worker_info()
        worker, workers = (None, 1) if info is None else (info.id, info.num_workers)
        number = self._epoch.next(worker, self._shares.draws_anew)
        chunks = self._shares.chunks(number, 0, worker or 0, workers)
        return rows_of_all(chunks, self._copy)
