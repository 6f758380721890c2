"""Backup: a callback that stores a model and its place in the data, to go on from there."""

from __future__ import annotations

import json
import os
from os import PathLike
from pathlib import Path
from typing import Any

import keras

from keepset.adapters.keras.passes import TrainingPasses
from keepset.errors import InvalidArgumentError, StateError

_WEIGHTS = "batch-{0}.weights.h5"


class Watch(keras.callbacks.Callback):  # type: ignore[misc]
    """Tells the data which batches the model was trained on."""

    def __init__(self, passes: TrainingPasses) -> None:
        super().__init__()
        self._passes = passes
        self._last = -1  # the batch of the epoch that was reported last

    def on_train_begin(self, logs: Any = None) -> None:
        self._passes.watch()

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self._last = -1

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        # Several batches at once are reported by the last of them.
        self._passes.trained(batch - self._last)
        self._last = batch

    def on_train_end(self, logs: Any = None) -> None:
        self._passes.unwatch()


class Backup(Watch):
    """Stores weights, the optimizer's variables and the place in the data, each time as a whole.

    Made by ``data.backup(folder)``. The folder holds one file of weights and ``backup.json``,
    which names it and is replaced once the weights are there.
    """

    def __init__(
        self, passes: TrainingPasses, folder: str | PathLike[str], every: int | None
    ) -> None:
        super().__init__(passes)
        if every is not None and every < 1:
            raise InvalidArgumentError(f"every must be at least 1 batch, not {every}")
        self._folder, self._every = Path(folder), every
        self._epoch = self._since = self._number = 0

    def restore(self, model: Any) -> int:
        """Bring a model, and the data, to the latest backup.

        Returns:
            The epoch to go on in, for ``fit(initial_epoch=...)``; 0 if there is no backup yet.
        """
        try:
            facts = json.loads((self._folder / "backup.json").read_text())
        except FileNotFoundError:
            return 0
        if not model.built:
            raise StateError(
                "a backup can only be restored to a model that knows its shapes; give it an Input, "
                "or call it on a batch, before restore(model)"
            )
        optimizer = getattr(model, "optimizer", None)
        if optimizer is not None and not optimizer.built:
            optimizer.build(model.trainable_variables)
        model.load_weights(self._folder / facts["weights"])
        self._passes.restore(facts["data"])
        self._number = int(facts["number"])
        return int(facts["epoch"])

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        super().on_epoch_begin(epoch, logs)
        self._epoch = epoch

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        before = self._last
        super().on_train_batch_end(batch, logs)
        self._since += batch - before
        # The end of an epoch, which comes next, has a backup of its own.
        if self._every is not None and self._since >= self._every and self._passes.place.taken:
            self._store(self._epoch)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self._store(epoch + 1)

    def _store(self, epoch: int) -> None:
        self._since = 0
        self._folder.mkdir(parents=True, exist_ok=True)
        self._number += 1
        name = _WEIGHTS.format(self._number)
        self.model.save_weights(self._folder / name, overwrite=True)
        facts = {
            "weights": name,
            "number": self._number,
            "epoch": epoch,
            "data": self._passes.state(),
        }
        unfinished = self._folder / "backup.json.new"
        with unfinished.open("w") as file:
            json.dump(facts, file)
            file.flush()
            os.fsync(file.fileno())
        # From here on the new weights count; those before are of no use.
        os.replace(unfinished, self._folder / "backup.json")
        for old in self._folder.glob(_WEIGHTS.format("*")):
            if old.name != name:
                old.unlink()
