"""Tables that change: MutableHashTable and DenseHashTable."""

from __future__ import annotations

from typing import Any

import numpy as np

from keepset.errors import InvalidArgumentError
from keepset.tf.lookup.tables import keys_of, on_values
from keepset.tf.tensors.conversion import as_value, plain, string_array, value_of
from keepset.tf.tensors.dtype import DType, as_dtype
from keepset.tf.tensors.tensor import Tensor


class MutableHashTable:
    """As ``tf.lookup.experimental.MutableHashTable``: values are numbers, texts or vectors.

    Functions that run in worker processes see the table as it was when the pipeline began.

    Example:
        >>> import keepset.tf as tf
        >>> table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
        >>> table.insert(["a"], tf.constant([7], tf.int64))
        >>> table.lookup(tf.constant(["a", "b"])).numpy().tolist()
        [7, -1]
    """

    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: Any,
        name: str = "MutableHashTable",
        checkpoint: bool = True,
        experimental_is_anonymous: bool = False,
    ) -> None:
        self._key_dtype, self._value_dtype = as_dtype(key_dtype), as_dtype(value_dtype)
        self._default = plain(value_of(default_value, self._value_dtype))
        self._entries: dict[Any, Any] = {}
        self.name = name

    @property
    def key_dtype(self) -> DType:
        return self._key_dtype

    @property
    def value_dtype(self) -> DType:
        return self._value_dtype

    def insert(self, keys: Any, values: Any, name: str | None = None) -> None:
        """Put in keys with their values; a key that is there gets the new one."""
        found = plain(value_of(keys, self._key_dtype))
        given = plain(value_of(values, self._value_dtype))
        if given.shape != found.shape + self._default.shape:
            raise InvalidArgumentError(
                f"Expected shape {found.shape + self._default.shape} for value, got {given.shape}"
            )
        self._check(found)
        rows = given.reshape(-1, *self._default.shape)
        self._entries.update(zip(found.reshape(-1).tolist(), rows, strict=True))

    def _check(self, keys: Any) -> None:
        """Nothing: any key is good."""

    def lookup(self, keys: Any, dynamic_default_values: Any = None, name: str | None = None) -> Any:
        """The values of keys; what is not there has the default, or its own if they are given."""
        found = keys_of(keys, self._key_dtype)
        if dynamic_default_values is None:
            return on_values(lambda each: self._found(each, None), found)
        own = plain(value_of(dynamic_default_values, self._value_dtype))
        return on_values(lambda each: self._found(each, own), found)

    def _found(self, keys: Any, defaults: Any) -> Any:
        flat = keys.reshape(-1).tolist()
        made = np.empty((len(flat), *self._default.shape), self._value_dtype.storage)
        others = None if defaults is None else defaults.reshape(-1, *self._default.shape)
        for place, key in enumerate(flat):
            if key in self._entries:
                made[place] = self._entries[key]
            elif others is None:
                made[place] = self._default[()]
            else:
                made[place] = others[place if len(others) > 1 else 0]
        return made.reshape(keys.shape + self._default.shape)

    def __getitem__(self, keys: Any) -> Any:
        is_own = isinstance(keys, str | bytes | int | list)
        return self.lookup(value_of(keys, self._key_dtype) if is_own else keys)

    def remove(self, keys: Any, name: str | None = None) -> None:
        """Take out keys; those that are not there do not matter."""
        for key in plain(value_of(keys, self._key_dtype)).reshape(-1).tolist():
            self._entries.pop(key, None)

    def size(self, name: str | None = None) -> Tensor:
        """How many keys there are."""
        return Tensor(np.int64(len(self._entries)))

    def export(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        """All keys, and all values."""
        keys = list(self._entries)
        is_text = self._key_dtype.name == "string"
        made = string_array(keys) if is_text else np.array(keys, self._key_dtype.storage)
        return Tensor(made), Tensor(self._found(made, None))

    def __keepset_fingerprint__(self) -> Any:
        keys, values = self.export()
        return {"keys": keys._value, "values": values._value, "default": as_value(self._default)}


class DenseHashTable(MutableHashTable):
    """As ``tf.lookup.experimental.DenseHashTable``: two keys are not allowed in it."""

    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: Any,
        empty_key: Any,
        deleted_key: Any,
        initial_num_buckets: int | None = None,
        name: str = "MutableDenseHashTable",
        checkpoint: bool = True,
        experimental_is_anonymous: bool = False,
    ) -> None:
        super().__init__(key_dtype, value_dtype, default_value, name)
        refused = [value_of(key, self._key_dtype) for key in (empty_key, deleted_key)]
        self._refused = {key if type(key) is bytes else key.item() for key in refused}
        if len(self._refused) < 2:
            raise InvalidArgumentError("empty_key and deleted_key must be different")

    def _check(self, keys: Any) -> None:
        for key in keys.reshape(-1).tolist():
            if key in self._refused:
                raise InvalidArgumentError(
                    f"Using empty_key or deleted_key as a table key is not allowed: {key!r}"
                )

    def erase(self, keys: Any, name: str | None = None) -> None:
        """As ``remove``."""
        self.remove(keys)
