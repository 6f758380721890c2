"""KerasData: a pipeline as the data of ``fit``, ``evaluate`` and ``predict``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from os import PathLike
from types import FrameType
from typing import Any

import numpy as np

# It is not among Keras' public names, but Keras takes it wherever it takes data ("Allow passing a
# custom data adapter"). The public PyDataset cannot say that an epoch of unknown length is over.
from keras.src.trainers.data_adapters.data_adapter import DataAdapter

from keepset.adapters.keras.backup import Backup, Watch
from keepset.adapters.keras.batches import check_batch, check_spec, jax_row, plain_row, torch_row
from keepset.adapters.keras.passes import TrainingPasses
from keepset.core.cursor import State
from keepset.core.describe import count_text
from keepset.core.node import Node
from keepset.errors import InvalidArgumentError
from keepset.nodes.map import Map

# Keras hands an adapter on as it is, without a word about these.
_IGNORED = ("y", "sample_weight", "class_weight")


class KerasData(DataAdapter):  # type: ignore[misc]
    """A pipeline of batches for Keras. Each epoch is a pass over the pipeline, with its own order.

    Made by ``ds.to_keras()``.
    """

    def __init__(self, node: Node, class_weight: Mapping[int, float] | None) -> None:
        if class_weight is not None:
            node = Map(parent=node, function=_Weighted(dict(class_weight)))
        known = node.known_spec()
        if known is not None:
            check_spec(known[0])
        self._node = node
        self._passes = TrainingPasses(node)
        self._in_epoch = False

    def __repr__(self) -> str:
        return f"<KerasData: {count_text(self._node.cardinality())}, epoch {self.epoch}>"

    @property
    def epoch(self) -> int:
        """The number of the pass that training is in, counted from 0."""
        return self._passes.place.number

    def state(self) -> State:
        """Where training stands, as JSON: behind the last batch that the model was trained on.

        It needs ``callbacks=[data.watch()]``, as Keras may take batches ahead.
        """
        return self._passes.state()

    def restore(self, state: State) -> None:
        """Go on where data of the same pipeline stood: the next epoch is the rest of that one."""
        self._passes.restore(state)

    def watch(self) -> Watch:
        """A callback for ``fit``, by which ``state()`` knows the batches that were trained on."""
        return Watch(self._passes)

    def backup(self, folder: str | PathLike[str], every: int | None = None) -> Backup:
        """A callback for ``fit`` that stores the model and the place in the data together.

        Args:
            folder: Where to store them; the latest backup replaces the one before as a whole.
            every: After how many batches, beside the end of each epoch.
        """
        return Backup(self._passes, folder, every)

    # What Keras calls.

    @property
    def num_batches(self) -> int | None:
        # Keras asks for it where fit and the like begin, and again when it has looked at a first
        # batch that it does not train on. In the middle of an epoch it does not ask.
        _refuse_ignored(sys._getframe(1))
        self._passes.start_over()
        self._in_epoch = False
        length = self._node.cardinality()
        return length if length >= 0 else None

    @property
    def batch_size(self) -> int | None:
        return None

    @property
    def has_partial_batch(self) -> bool | None:
        return None

    @property
    def partial_batch_size(self) -> int | None:
        return None

    def on_epoch_begin(self) -> None:
        self._in_epoch = True

    def on_epoch_end(self) -> None:
        if self._in_epoch:  # else Keras is through with its look
            self._passes.end_epoch()
        self._in_epoch = False

    def get_numpy_iterator(self) -> Iterator[Any]:
        return map(plain_row, self._rows())

    def get_jax_iterator(self) -> Iterator[Any]:
        return map(jax_row, self._rows())

    def get_torch_dataloader(self) -> Any:
        from keepset.adapters.torch.loader import loader_of

        return loader_of(lambda: map(torch_row, self._rows()))

    def get_tf_dataset(self) -> Any:
        from keepset.adapters.tensorflow.pipeline import tf_rows

        dataset = tf_rows(self._node, self._node.spec(), self._rows)
        # A source that waits for the world outside is never read ahead of need.
        return dataset.prefetch(2) if self._node.may_run_ahead else dataset

    def _rows(self) -> Iterator[Any]:
        for row in self._passes.rows():
            check_batch(row, self._node.title)
            yield row


def _refuse_ignored(frame: FrameType) -> None:
    """Raise an error for arguments of ``fit`` that would be ignored in silence."""
    given = frame.f_locals if frame.f_code.co_name == "__init__" else {}
    for name in _IGNORED:
        if given.get(name) is not None:
            remedy = (
                "pass it to ds.to_keras(class_weight=...)"
                if name == "class_weight"
                else "let the elements be (x, y) or (x, y, sample_weight)"
            )
            raise InvalidArgumentError(f"{name} cannot be given beside a Dataset; {remedy}")


class _Weighted:
    """Adds to a batch ``(x, y)`` the weights of its samples, by their classes."""

    def __init__(self, weights: dict[int, float]) -> None:
        self._weights = weights

    def __call__(self, *batch: Any) -> Any:
        if len(batch) != 2 or isinstance(batch[1], dict | tuple):
            raise InvalidArgumentError(
                "class_weight needs elements (x, y) with one array of labels, but they have "
                f"{len(batch)} parts; with weights of samples or several outputs, compute "
                "(x, y, sample_weight) in map"
            )
        x, y = batch
        classes = np.asarray(y)
        if classes.ndim > 1:
            one_hot = classes.shape[-1] > 1
            classes = classes.argmax(-1) if one_hot else classes.squeeze(-1)
        labels = np.round(classes).astype(np.int64).tolist()
        weights = [self._weights.get(label, 1.0) for label in labels]
        return x, y, np.array(weights, np.float32)
