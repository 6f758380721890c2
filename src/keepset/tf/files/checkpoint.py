"""``tf.train.Checkpoint`` and ``CheckpointManager``: where iterators stand, in files.

A checkpoint is a JSON file beside the name that TensorFlow would use, written aside, synced and
then named, so that a crash leaves the last one whole. The list of a folder's checkpoints is the
file ``checkpoint``, as TensorFlow writes it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import numpy as np

from keepset.core.element_json import element_from_json, element_to_json
from keepset.errors import InvalidArgumentError, NotCoveredError, StateError
from keepset.storage.durable import TemporaryFile, make_folder, sync_folder
from keepset.tf.data.iterator import Iterator as TensorIterator
from keepset.tf.errors import DataLossError, NotFoundError
from keepset.tf.tensors.tensor import Tensor, tensor

_SUFFIX: Final = ".keepset.json"
_LIST: Final = "checkpoint"
_ENTRY: Final = re.compile(r'^(model_checkpoint_path|all_model_checkpoint_paths): "(.*)"$', re.M)


class Checkpoint:
    """The places of iterators, and the values of variables.

    Models and optimizers are saved by the framework that trains them.

    Example:
        >>> import tempfile
        >>> import keepset.tf as tf
        >>> ds = tf.data.Dataset.range(5)
        >>> it = iter(ds)
        >>> _ = next(it), next(it)
        >>> path = tf.train.Checkpoint(iterator=it).save(tempfile.mkdtemp() + "/ckpt")
        >>> again = iter(ds)
        >>> _ = tf.train.Checkpoint(iterator=again).restore(path)
        >>> int(next(again))
        2
    """

    def __init__(self, root: Any = None, **kwargs: Any) -> None:
        if root is not None:
            kwargs["root"] = root
        for name, value in kwargs.items():
            _check(name, value)
        self._saved = 0
        self._parts: dict[str, Any] = kwargs
        for name, value in kwargs.items():
            setattr(self, name, value)

    @property
    def save_counter(self) -> Tensor:
        return tensor(self._saved, "int64")

    def write(self, file_prefix: Any, options: Any = None) -> str:
        """Write a checkpoint under this very name."""
        path = os.path.abspath(_text(file_prefix)) if "://" not in _text(file_prefix) else ""
        if not path:
            raise NotCoveredError(
                f"{file_prefix}: checkpoints are files on a disk; copy them there"
            )
        content = {"keepset_checkpoint": 1, "saved": self._saved, "parts": self._state()}
        _write(path + _SUFFIX, json.dumps(content))
        return _text(file_prefix)

    def save(self, file_prefix: Any, options: Any = None) -> str:
        """Write a checkpoint under the next number, and make it the latest of its folder."""
        self._saved += 1
        path = self.write(f"{_text(file_prefix)}-{self._saved}")
        _write_list(os.path.dirname(path), path, [path])
        return path

    def read(self, save_path: Any, options: Any = None) -> Status:
        """Move all iterators to where they stood when the checkpoint was written."""
        path = _text(save_path)
        content = _read(path)
        self._restore(content["parts"], path)
        self._saved = content["saved"]
        return Status(path)

    def restore(self, save_path: Any, options: Any = None) -> Status:
        """As ``read``; None, of a folder without a checkpoint, leaves all as it is."""
        return Status(None) if save_path is None else self.read(save_path)

    def _state(self) -> dict[str, Any]:
        return {name: _state_of(value) for name, value in self._parts.items()}

    def _restore(self, states: dict[str, Any], path: str) -> None:
        missing = sorted(self._parts.keys() - states.keys())
        if missing:
            raise StateError(
                f"{path} has no {', '.join(missing)}: it holds {', '.join(sorted(states))}; name "
                "the parts of the checkpoint as they were named when it was written"
            )
        for name, value in self._parts.items():
            _restore(value, states[name], path)


class Status:
    """What ``restore`` returns: all of a checkpoint was restored, or an error raised."""

    def __init__(self, path: str | None) -> None:
        self._path = path

    def _itself(self, *given: Any, **named: Any) -> Status:
        if self._path is None:
            raise AssertionError("no checkpoint was restored: the path was None")
        return self

    assert_consumed = assert_existing_objects_matched = assert_nontrivial_match = _itself

    def expect_partial(self) -> Status:
        return self

    def initialize_or_restore(self, session: Any = None) -> None:
        """Nothing: it was restored at once."""


class CheckpointManager:
    """Keeps the last few checkpoints of a folder.

    Example:
        >>> import tempfile
        >>> import keepset.tf as tf
        >>> it = iter(tf.data.Dataset.range(9))
        >>> saved = tf.train.Checkpoint(iterator=it)
        >>> manager = tf.train.CheckpointManager(saved, tempfile.mkdtemp(), max_to_keep=2)
        >>> for _ in range(3):
        ...     _ = next(it), manager.save()
        >>> [os.path.basename(path) for path in manager.checkpoints]
        ['ckpt-2', 'ckpt-3']
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        directory: Any,
        max_to_keep: int | None,
        keep_checkpoint_every_n_hours: float | None = None,
        checkpoint_name: str = "ckpt",
        step_counter: Any = None,
        checkpoint_interval: int | None = None,
        init_fn: Callable[[], Any] | None = None,
        last_checkpoint_step: int | None = None,
    ) -> None:
        if max_to_keep is not None and max_to_keep <= 0:
            raise InvalidArgumentError(
                f"max_to_keep must be at least 1, or None for all, not {max_to_keep}"
            )
        if checkpoint_interval is not None and step_counter is None:
            raise InvalidArgumentError("checkpoint_interval needs a step_counter")
        self._checkpoint, self._directory = checkpoint, _text(directory)
        self._most, self._name = max_to_keep, checkpoint_name
        self._counter = step_counter
        self._interval: Any = checkpoint_interval
        self._init = init_fn
        self._last_step: Any = last_checkpoint_step
        self._kept = [each for each in _listed(self._directory)[1] if _exists(each)]

    @property
    def directory(self) -> str:
        return self._directory

    @property
    def checkpoint(self) -> Checkpoint:
        return self._checkpoint

    @property
    def checkpoint_interval(self) -> Any:
        return self._interval

    @property
    def checkpoints(self) -> list[str]:
        """Those that are kept, the oldest first."""
        return list(self._kept)

    @property
    def latest_checkpoint(self) -> str | None:
        return self._kept[-1] if self._kept else None

    def save(
        self, checkpoint_number: Any = None, check_interval: bool = True, options: Any = None
    ) -> str | None:
        """Write a checkpoint, then remove those that are too many."""
        if self._is_too_early(check_interval):
            return None
        self._checkpoint._saved += 1
        number = self._checkpoint._saved if checkpoint_number is None else int(checkpoint_number)
        path = self._checkpoint.write(os.path.join(self._directory, f"{self._name}-{number}"))
        self._kept = [each for each in self._kept if each != path] + [path]
        surplus = [] if self._most is None else self._kept[: -self._most]
        self._kept = self._kept[len(surplus) :]
        # Listed without them first: what the list names is always there.
        _write_list(self._directory, path, self._kept)
        for each in surplus:
            with suppress(FileNotFoundError):
                os.unlink(each + _SUFFIX)
        return path

    def _is_too_early(self, check_interval: bool) -> bool:
        if self._counter is None:
            return False
        step = int(self._counter)
        is_timed = check_interval and None not in (self._interval, self._last_step)
        if is_timed and step - self._last_step < self._interval:
            return True
        self._last_step = step
        return False

    def restore_or_initialize(self) -> str | None:
        """Restore the latest checkpoint; without one, call ``init_fn``."""
        latest = self.latest_checkpoint
        if latest is not None:
            self._checkpoint.restore(latest)
        elif self._init is not None:
            self._init()
        return latest

    def sync(self) -> None:
        """Nothing: a checkpoint is on the disk when ``save`` returns."""


def latest_checkpoint(checkpoint_dir: Any, latest_filename: str | None = None) -> str | None:
    """The last checkpoint that was written into a folder, or None."""
    latest, _ = _listed(_text(checkpoint_dir), latest_filename)
    return latest if latest is not None and _exists(latest) else None


def _check(name: str, value: Any) -> None:
    if isinstance(value, TensorIterator | Checkpoint) or _is_variable(value):
        return
    if hasattr(value, "__next__"):
        raise InvalidArgumentError(
            f"{name}={value!r:.60} is no iterator of tf.data; pass iter(dataset)"
        )
    raise NotCoveredError(
        f"tf.train.Checkpoint({name}={type(value).__name__}) is not part of keepset.tf, whose "
        "checkpoints hold iterators of datasets: save models and optimizers with the framework "
        "that trains them, and pass iterator=iter(dataset) here"
    )


def _is_variable(value: Any) -> bool:
    return hasattr(value, "assign") and hasattr(value, "numpy")


def _state_of(value: Any) -> Any:
    if isinstance(value, Checkpoint):
        return value._state()
    return value.state() if isinstance(value, TensorIterator) else _variable_state(value)


def _variable_state(value: Any) -> Any:
    return {"value": element_to_json(np.asarray(value.numpy())[()])}


def _restore(value: Any, state: Any, path: str) -> None:
    if isinstance(value, Checkpoint):
        value._restore(state, path)
    elif isinstance(value, TensorIterator):
        value.restore(state)
    else:
        value.assign(element_from_json(state["value"]))


def _text(path: Any) -> str:
    if isinstance(path, Tensor):
        path = path.numpy()
    return os.fsdecode(path)


def _exists(path: str) -> bool:
    return os.path.isfile(path + _SUFFIX)


def _write(path: str, text: str) -> None:
    """A file that is there as a whole or not at all, also after a power cut."""
    folder = os.path.dirname(path)
    make_folder(folder)
    file = TemporaryFile(folder)
    try:
        file.write(text.encode())
        file.sync()
        file.close()
        os.replace(file.path, path)
    except BaseException:
        file.discard()
        raise
    sync_folder(folder)


def _read(path: str) -> dict[str, Any]:
    try:
        with open(path + _SUFFIX, encoding="utf-8") as file:
            content = json.load(file)
    except FileNotFoundError as error:
        raise NotFoundError(
            f"there is no checkpoint {path}: pass what save() returned, or "
            "tf.train.latest_checkpoint(folder)"
        ) from error
    except ValueError as error:
        raise DataLossError(
            f"{path + _SUFFIX} is damaged: {error}; restore an older one"
        ) from error
    if not isinstance(content, dict) or content.get("keepset_checkpoint") != 1:
        raise DataLossError(f"{path + _SUFFIX} is no checkpoint of this version of keepset.tf")
    return content


def _write_list(folder: str, latest: str, paths: list[str]) -> None:
    names = [os.path.relpath(each, folder or ".") for each in paths]
    lines = [f'model_checkpoint_path: "{os.path.relpath(latest, folder or ".")}"']
    lines += [f'all_model_checkpoint_paths: "{name}"' for name in names]
    _write(os.path.join(os.path.abspath(folder), _LIST), "\n".join(lines) + "\n")


def _listed(folder: str, name: str | None = None) -> tuple[str | None, list[str]]:
    """The latest checkpoint of a folder, and all that are kept."""
    try:
        with open(os.path.join(folder, name or _LIST), encoding="utf-8") as file:
            found = _ENTRY.findall(file.read())
    except FileNotFoundError:
        return None, []
    paths = [(kind, os.path.join(folder, path)) for kind, path in found]
    latest = [path for kind, path in paths if kind == "model_checkpoint_path"]
    return (latest[0] if latest else None), [path for kind, path in paths if kind[0] == "a"]
