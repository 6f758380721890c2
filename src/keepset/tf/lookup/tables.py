"""Tables that do not change: StaticHashTable and StaticVocabularyTable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from keepset.errors import DtypeError
from keepset.tf.composites.ragged_tensor import RaggedTensor
from keepset.tf.composites.sparse_tensor import SparseTensor
from keepset.tf.errors import FailedPreconditionError
from keepset.tf.tensors.conversion import as_value, dtype_of, plain, string_array, value_of
from keepset.tf.tensors.dtype import DType, as_dtype
from keepset.tf.tensors.tensor import Tensor
from keepset.tf.text.farm_hash import farm_hash64


def on_values(function: Callable[[Any], Any], keys: Any) -> Any:
    """A function of an array of keys, applied to a tensor, a ragged or a sparse tensor of them."""
    if isinstance(keys, RaggedTensor):
        return keys.with_flat_values(function(keys.flat))
    if isinstance(keys, SparseTensor):
        return keys.with_values(function(keys._values))
    return Tensor(as_value(function(keys)))


def keys_of(given: Any, dtype: DType) -> Any:
    """Keys as an array, or ragged or sparse; those of another dtype are an error."""
    if isinstance(given, RaggedTensor | SparseTensor):
        found: Any = given
    else:
        found = plain(value_of(given, None if isinstance(given, Tensor) else dtype))
    kind = found.dtype if isinstance(given, RaggedTensor | SparseTensor) else dtype_of(found)
    if kind is not dtype:
        raise DtypeError(
            f"Dtype of argument `keys` must be {dtype.name}, received: {kind.name}; use tf.cast"
        )
    return found


class StaticHashTable:
    """As ``tf.lookup.StaticHashTable``: the value of each key, or a default.

    Its content counts in the fingerprint of a pipeline whose functions look something up in it.

    Example:
        >>> import keepset.tf as tf
        >>> words = tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2])
        >>> table = tf.lookup.StaticHashTable(words, default_value=-1)
        >>> table.lookup(tf.constant(["b", "z"])).numpy().tolist()
        [2, -1]
    """

    def __init__(
        self,
        initializer: Any,
        default_value: Any,
        name: str | None = None,
        experimental_is_anonymous: bool = False,
    ) -> None:
        self._key_dtype, self._value_dtype = initializer.key_dtype, initializer.value_dtype
        self._default = value_of(default_value, self._value_dtype)
        self._entries: dict[Any, Any] = {}
        keys, values = initializer.items()
        for key, value in zip(keys.tolist(), values.tolist(), strict=True):
            if self._entries.setdefault(key, value) != value:
                raise FailedPreconditionError(
                    f"HashTable has different value for same key. Key {key!r} has "
                    f"{self._entries[key]!r} and trying to add value {value!r}"
                )
        self.name = name

    @property
    def key_dtype(self) -> DType:
        return self._key_dtype  # type: ignore[no-any-return]

    @property
    def value_dtype(self) -> DType:
        return self._value_dtype  # type: ignore[no-any-return]

    @property
    def default_value(self) -> Tensor:
        """The value of keys that are not there."""
        return Tensor(self._default)

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """The values of keys, which may be a tensor, ragged or sparse."""
        return on_values(self._found, keys_of(keys, self._key_dtype))

    def _found(self, keys: Any) -> Any:
        default = self._default if type(self._default) is bytes else self._default.item()
        get = self._entries.get
        made = [get(key, default) for key in keys.reshape(-1).tolist()]
        return _array(made, self._value_dtype, keys.shape)

    def __getitem__(self, keys: Any) -> Any:
        return self.lookup(keys)

    def size(self, name: str | None = None) -> Tensor:
        """How many keys there are."""
        return Tensor(np.int64(len(self._entries)))

    def export(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        """All keys, and all values."""
        count = (len(self._entries),)
        return (
            Tensor(_array(list(self._entries), self._key_dtype, count)),
            Tensor(_array(list(self._entries.values()), self._value_dtype, count)),
        )

    def __keepset_fingerprint__(self) -> Any:
        keys, values = self.export()
        return {"keys": keys._value, "values": values._value, "default": self._default}


def _array(items: list[Any], dtype: DType, shape: tuple[int, ...]) -> Any:
    if dtype.name == "string":
        return string_array(items, shape) if shape else items[0]
    return np.array(items, dtype.storage).reshape(shape)


class StaticVocabularyTable:
    """As ``tf.lookup.StaticVocabularyTable``: numbers of words, and of buckets for other words.

    A word that is not there has the number of one of ``num_oov_buckets`` buckets behind those of
    the vocabulary, by its FarmHash64: the same as in TensorFlow.

    Example:
        >>> import keepset.tf as tf
        >>> numbers = tf.constant([0, 1], tf.int64)
        >>> words = tf.lookup.KeyValueTensorInitializer(["a", "b"], numbers)
        >>> table = tf.lookup.StaticVocabularyTable(words, num_oov_buckets=2)
        >>> table.lookup(tf.constant(["b", "c", "d"])).numpy().tolist()
        [1, 2, 3]
    """

    def __init__(
        self,
        initializer: Any,
        num_oov_buckets: int,
        lookup_key_dtype: Any = None,
        name: str | None = None,
        experimental_is_anonymous: bool = False,
    ) -> None:
        if num_oov_buckets <= 0:
            raise ValueError("`num_oov_buckets` must be > 0; use StaticHashTable.")
        if initializer is not None and initializer.value_dtype.name != "int64":
            raise TypeError(
                f"Invalid `value_dtype`, expected int64 but got {initializer.value_dtype.name}; "
                "pass tf.constant(values, tf.int64) or value_dtype=tf.int64"
            )
        self._table = None if initializer is None else StaticHashTable(initializer, -1)
        own = as_dtype("string") if self._table is None else self._table.key_dtype
        self._key_dtype = own if lookup_key_dtype is None else as_dtype(lookup_key_dtype)
        if self._key_dtype.name not in ("string", "int32", "int64"):
            raise TypeError(f"keys are strings or whole numbers, not {self._key_dtype.name}")
        self._buckets, self.name = int(num_oov_buckets), name

    @property
    def key_dtype(self) -> DType:
        return self._key_dtype

    @property
    def value_dtype(self) -> DType:
        return as_dtype("int64")

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """The numbers of words, which may be a tensor, ragged or sparse."""
        return on_values(self._found, keys_of(keys, self._key_dtype))

    def _found(self, keys: Any) -> Any:
        entries = {} if self._table is None else self._table._entries
        made = [
            entries[key] if key in entries else self._bucket(key)
            for key in keys.reshape(-1).tolist()
        ]
        return np.array(made, np.int64).reshape(keys.shape)

    def _bucket(self, key: Any) -> int:
        text = key if isinstance(key, bytes) else str(key).encode()
        count = 0 if self._table is None else len(self._table._entries)
        return count + farm_hash64(text) % self._buckets

    def __getitem__(self, keys: Any) -> Any:
        return self.lookup(keys)

    def size(self, name: str | None = None) -> Tensor:
        """How many numbers there are, those of buckets as well."""
        count = 0 if self._table is None else len(self._table._entries)
        return Tensor(np.int64(count + self._buckets))

    def __keepset_fingerprint__(self) -> Any:
        return {"table": self._table, "buckets": self._buckets}
