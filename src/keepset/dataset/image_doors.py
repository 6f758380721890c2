"""Methods that write pictures and archives of samples."""

from __future__ import annotations

from keepset.dataset.base import BaseDataset


class ImageDoors(BaseDataset):
    """Ways out to folders of pictures and to archives."""

    __slots__ = ()
