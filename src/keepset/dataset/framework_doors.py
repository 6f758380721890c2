"""Methods that hand a pipeline to a framework."""

from __future__ import annotations

from keepset.dataset.base import BaseDataset


class FrameworkDoors(BaseDataset):
    """Ways out to frameworks and to tables in memory."""

    __slots__ = ()
