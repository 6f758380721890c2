"""Methods that hand a pipeline to a framework."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from keepset.adapters.frameworks import framework
from keepset.dataset.base import BaseDataset

if TYPE_CHECKING:
    from keepset.adapters.jax import JaxData
    from keepset.adapters.keras.data import KerasData
    from keepset.adapters.torch.data import TorchIterableData, TorchMapData


class FrameworkDoors(BaseDataset):
    """Ways out to frameworks and to tables in memory."""

    __slots__ = ()

    def to_torch(
        self,
        *,
        kind: str | None = None,
        rank: int | None = None,
        world_size: int | None = None,
        drop_last: bool = False,
        copy: bool = True,
    ) -> TorchMapData | TorchIterableData:
        """A data set for ``torch.utils.data.DataLoader``, with tensors in place of arrays.

        Each element comes exactly once over all workers of the DataLoader, and over all ranks. For
        speed, batch in the pipeline and tell the DataLoader not to:
        ``DataLoader(ds.batch(32).to_torch(), batch_size=None, num_workers=2)``. To stop in the
        middle of an epoch and go on later, use ``ds.batch(32).to_torch().loader(num_workers=2)``,
        which has ``state_dict`` and ``load_state_dict``.

        Numbers become tensors of the same type; strings stay ``bytes``, arrays of them become
        lists; a ``Ragged`` becomes a nested tensor and a ``Sparse`` a sparse one.

        Args:
            kind: ``"map"`` for a data set with ``data[i]``, which can be given to samplers and
                shuffled by the DataLoader; ``"iterable"`` for one that is iterated over. By default
                it is a map where elements can be had by position and are the same in each pass,
                otherwise, as behind a shuffle or a filter, an iterable.
            rank: Which of the processes this is that train together. By default what
                ``torch.distributed`` says, if it is initialised. No DistributedSampler is needed.
            world_size: How many there are.
            drop_last: Whether to leave out up to ``world_size - 1`` elements at the end, so that
                all ranks get the same number.
            copy: Whether to copy arrays that must not be written to, such as those in memory-mapped
                files. Without, tensors are views of them, and to write to such a tensor ends the
                process, or changes data of others.

        Returns:
            The data set. Behind a shuffle its order is that of the first pass, until
            ``data.set_epoch(epoch)`` says which one it is, before each epoch; ``data.loader(...)``
            and an iterable without workers count by themselves.

        Example:
            >>> from torch.utils.data import DataLoader
            >>> data = Dataset.range(6).map(lambda x: {"x": x, "half": x / 2}).batch(4).to_torch()
            >>> for batch in DataLoader(data, batch_size=None):
            ...     print(batch["half"])
            tensor([0.0000, 0.5000, 1.0000, 1.5000], dtype=torch.float64)
            tensor([2.0000, 2.5000], dtype=torch.float64)
        """
        framework("torch", "to_torch")
        import keepset.adapters.torch.pipeline as adapter

        return adapter.to_torch(self._node, kind, rank, world_size, drop_last, copy)

    def to_jax(self, *, sharding: Any = None, prefetch: int = 2) -> JaxData:
        """Elements with ``jax.Array`` in place of arrays, already on their way to the device.

        Each ``iter`` of it is one pass over the data set. ``it.state()`` says where the consumer
        stands, and ``data.iterate(state)`` goes on from there. Unless ``jax_enable_x64`` is set,
        numbers of 64 bits become such of 32 as JAX has them; an integer that does not fit is an
        error. Strings, ragged and sparse leaves are refused.

        Args:
            sharding: A ``jax.sharding.Sharding`` for all leaves, or one for each in a structure
                like that of the elements. By default everything goes to the default device. If it
                names devices of other processes, each process gives its own part of every batch;
                divide the data before: ``ds.shard(jax.process_count(), jax.process_index())``.
            prefetch: How many elements are transferred ahead of their use.

        Example:
            >>> import jax
            >>> for batch in Dataset.range(5).batch(3).to_jax():
            ...     print(type(batch).__name__, batch.dtype, batch)
            ArrayImpl int32 [0 1 2]
            ArrayImpl int32 [3 4]
        """
        framework("jax", "to_jax")
        import keepset.adapters.jax as adapter

        return adapter.JaxData(self._node, sharding, prefetch)

    def to_keras(self, *, class_weight: Mapping[int, float] | None = None) -> KerasData:
        """What ``fit``, ``evaluate`` and ``predict`` of Keras 3 take, whatever its backend is.

        Elements are batches: ``x``, ``(x, y)`` or ``(x, y, sample_weight)``, each an array, or a
        dict of arrays by the names of the model's inputs. Each epoch is a pass of its own, with an
        order of its own where the pipeline shuffles, and has as many steps as there are batches,
        also where their number is not known before. With TensorFlow as the backend strings and
        ragged batches are taken as well.

        ``data.backup(folder, every=100)`` is a callback that stores the model and the place in the
        data, so that training goes on in the middle of an epoch.

        Args:
            class_weight: The weight of each class in the loss, as that of ``fit``, which cannot be
                given there.

        Example:
            >>> import keras
            >>> model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
            >>> model.compile("sgd", "mse")
            >>> ds = Dataset.range(8).map(lambda x: (np.full(2, x / 8), x / 8)).batch(4)
            >>> history = model.fit(ds.shuffle(2).to_keras(), epochs=3, verbose=0)
            >>> history.epoch
            [0, 1, 2]
        """
        framework("keras", "to_keras")
        import keepset.adapters.keras.data as adapter

        return adapter.KerasData(self._node, class_weight)

    def to_tf(self, *, output_signature: Any = None) -> Any:
        """A ``tf.data.Dataset`` of the elements, with their spec and, where known, their number.

        Each pass over it is one over this data set. Small elements are handed over many at a time,
        so that TensorFlow's own threads take them apart.

        Args:
            output_signature: What elements are, as Keepset's specs, where the ``element_spec`` is
                found from a first element and later ones have other shapes.

        Example:
            >>> ds = Dataset.range(3).map(lambda x: {"x": x, "name": str(x)}).to_tf()
            >>> ds.element_spec["x"]
            TensorSpec(shape=(), dtype=tf.int64, name=None)
            >>> [row["name"].numpy() for row in ds]
            [b'0', b'1', b'2']
        """
        framework("tensorflow", "to_tf")
        import keepset.adapters.tensorflow.pipeline as adapter

        return adapter.to_tf(self._node, output_signature)
