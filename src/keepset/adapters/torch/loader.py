"""TorchLoader: a DataLoader whose position is that of its consumer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from keepset.adapters.shares import Shares
from keepset.adapters.torch.tensors import rows_of_all


class TorchLoader(DataLoader):  # type: ignore[misc]
    """The elements of a pipeline in their order, whatever the number of workers.

    Workers read ahead, so none of them knows what has been used. This counts what it hands out, and
    its state is that number and what the pipeline has drawn. So a state can be resumed with another
    number of workers, and with another number of ranks: all ranks have the same state after the
    same number of steps.

    Each ``for`` loop over it is one epoch, with an order of its own where the pipeline shuffles:
    that of the same pass over the data set itself. The first loop after ``load_state_dict`` gives
    the rest of the epoch that the state was taken in.
    """

    def __init__(
        self,
        shares: Shares,
        copy: bool,
        *,
        num_workers: int,
        pin_memory: bool,
        prefetch_factor: int | None,
        persistent_workers: bool,
        multiprocessing_context: Any,
        timeout: float,
        worker_init_fn: Callable[[int], None] | None,
    ) -> None:
        self._shares = shares = shares.again()
        kind = _Elements if shares.node.cardinality() < 0 else _CountedElements
        self._elements = kind(shares, copy)
        self._number, self._taken = 0, 0  # the pass, and how many elements all ranks took of it
        self._counting: object = None  # the pass that is under way
        super().__init__(
            self._elements,
            batch_size=None,
            num_workers=num_workers,
            collate_fn=_as_it_is,
            pin_memory=pin_memory,
            prefetch_factor=prefetch_factor,
            persistent_workers=persistent_workers,
            multiprocessing_context=multiprocessing_context,
            timeout=timeout,
            worker_init_fn=worker_init_fn,
        )

    @property
    def epoch(self) -> int:
        """The number of the pass that the next element belongs to, counted from 0."""
        return self._number

    def set_epoch(self, epoch: int) -> None:
        """Go to the beginning of a pass, unless the next loop would go on within it anyway."""
        if self._counting is not None or epoch != self._number:
            self._counting, self._number, self._taken = None, epoch, 0

    def __len__(self) -> int:
        return len(self._shares)

    def __iter__(self) -> Iterator[Any]:
        if self._counting is not None:  # the last pass was left early
            self._number, self._taken = self._number + 1, 0
        self._counting = mark = object()
        self._elements.place(self._number, self._taken)
        self._shares.begin()
        return self._counted(super().__iter__(), mark)

    def _counted(self, elements: Iterator[Any], mark: object) -> Iterator[Any]:
        for element in elements:
            if self._counting is mark:
                self._taken += self._shares.world_size
            yield element
        if self._counting is mark:
            self._counting, self._number, self._taken = None, self._number + 1, 0

    def state_dict(self) -> dict[str, Any]:
        """Where the consumer stands, as JSON: behind the last element that it was given.

        At the end of a loop that is the beginning of the next epoch.
        """
        return self._shares.state(self._number, self._taken)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Let the next loop go on where another loader of the same pipeline stood."""
        self._number, self._taken = self._shares.restore(state)
        self._counting = None
        self._iterator = None  # workers that are there have other seeds


class _Elements(IterableDataset):  # type: ignore[misc]
    """A worker's share of the pass that the loader has said."""

    def __init__(self, shares: Shares, copy: bool) -> None:
        self._shares, self._copy = shares, copy
        self._place = torch.tensor([0, 0]).share_memory_()

    def place(self, number: int, taken: int) -> None:
        self._place[0], self._place[1] = number, taken

    def __iter__(self) -> Iterator[Any]:
        number, taken = self._place.tolist()
        info = get_worker_info()
        worker, workers = (0, 1) if info is None else (info.id, info.num_workers)
        # What a worker gives is copied on its way, and nobody writes to it before.
        copy = self._copy and info is None
        return rows_of_all(self._shares.chunks(number, taken, worker, workers), copy)


class _CountedElements(_Elements):
    """Apart, because there are those who ask whether data has a length by looking for this."""

    def __len__(self) -> int:
        return len(self._shares)


def _as_it_is(element: Any) -> Any:
    return element


def loader_of(elements: Callable[[], Iterator[Any]]) -> Any:
    """A DataLoader of elements that are tensors already, begun anew by each loop."""
    return DataLoader(_Given(elements), batch_size=None, collate_fn=_as_it_is)


class _Given(IterableDataset):  # type: ignore[misc]
    def __init__(self, elements: Callable[[], Iterator[Any]]) -> None:
        self._given = elements

    def __iter__(self) -> Iterator[Any]:
        return self._given()
