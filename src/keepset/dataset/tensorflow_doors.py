"""Methods that read and write TensorFlow's files."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from types import ModuleType
from typing import Any, Self

from keepset.dataset.arguments import positive
from keepset.dataset.base import BaseDataset


def tensorflow_files() -> ModuleType:
    """The module that does the work; those who have no such files need not wait for it."""
    import keepset.dataset.tensorflow_files as module

    return module


class TensorflowDoors(BaseDataset):
    """Ways to TensorFlow's files."""

    __slots__ = ()

    def parse_example(self, features: Mapping[str, Any], name: str | None = None) -> Self:
        """Turn serialised ``tf.train.Example`` messages into elements, whole chunks at a time.

        It gives what ``map(lambda x: ks.parse_single_example(x, features))`` gives, many times as
        fast; batches of Examples become batches.

        Args:
            features: Descriptions by name: ``{"x": ks.FixedLenFeature([2], "float32")}``. See
                :func:`keepset.infer_features` for those of a file.

        Example:
            >>> import tempfile
            >>> import keepset as ks
            >>> path = tempfile.mkdtemp() + "/squares.tfrecord"
            >>> ds = ks.Dataset.range(3).map(lambda x: {"x": x, "square": x * x})
            >>> features = ds.write_tfrecord(path)
            >>> list(ks.TFRecordDataset(path).parse_example(features))[2]
            {'square': np.int64(4), 'x': np.int64(2)}
        """
        return self._then(tensorflow_files().parse_stage(self._node, features, name))

    def write_tfrecord(
        self,
        path: str | os.PathLike[str],
        compression_type: str | None = None,
        *,
        num_shards: int = 1,
        serialize: Collection[str] = (),
        progress: bool | None = None,
        **options: Any,
    ) -> dict[str, Any]:
        """Write all elements to a TFRecord file, and give the description that reads them again.

        Elements become ``tf.train.Example`` messages: whole numbers and bools int64, others
        float32, strings bytes; nested keys are joined by ``/``. Elements that are bytes are written
        as the records that they are. A file takes its name when it is whole.

        Args:
            path: The file, or the url of an object.
            compression_type: None, ``"GZIP"``, ``"ZLIB"`` or ``"SNAPPY"``.
            num_shards: How many files to deal the elements out to; more than one are called
                ``name-00000-of-00004.tfrecord`` and so on.
            serialize: Names of leaves that are kept as serialised tensors, for dtypes and shapes
                that an Example does not have; ``ks.parse_tensor`` reads them.
            progress: Whether to show how far it is; by default if standard error is a terminal.
            options: For an object store: credentials, endpoint and such.
        """
        written = tensorflow_files().write_tfrecord(
            self._node,
            path,
            compression_type=compression_type,
            num_shards=positive(num_shards, "num_shards"),
            serialize=serialize,
            progress=progress,
            options=options,
        )
        features: dict[str, Any] = written.features
        return features
