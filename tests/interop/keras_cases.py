"""What Keras does with ``ds.to_keras()``: one function for each fact, all run by one process.

The backend comes from the environment. Prints, as JSON, what went wrong in each of them.
"""

from __future__ import annotations

import json
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest

import keepset as ks

BACKEND = keras.backend.backend()
CASES: dict[str, Callable[[], None]] = {}


def case(function: Callable[[], None]) -> Callable[[], None]:
    CASES[function.__name__] = function
    return function


def example(x: Any) -> Any:
    return np.full(2, x, np.float32), np.float32(x)


def numbers(size: int = 10, batch: int = 4) -> ks.Dataset:
    """Batches whose first column says which elements they are of."""
    return ks.Dataset.range(size).map(example).batch(batch)


def shuffled() -> ks.Dataset:
    return ks.Dataset.range(10).map(example).shuffle(10, seed=3).batch(4)


def unknown() -> ks.Dataset:
    return ks.Dataset.range(10).filter(lambda x: True).map(example).shuffle(10, seed=3).batch(4)


class Seeing(keras.Sequential):  # type: ignore[misc]
    """A model that notes the batches that it is trained on."""

    def train_step(self, *given: Any) -> Any:
        self.seen.append(keras.ops.convert_to_numpy(given[-1][0])[:, 0].astype(int).tolist())
        self.batches.append(given[-1])
        return super().train_step(*given)


def model(optimizer: Any = "sgd") -> Any:
    keras.utils.set_random_seed(1)
    made = Seeing([keras.Input((2,)), keras.layers.Dense(1)])
    made.seen, made.batches = [], []
    # Eagerly, so that the batches can be looked at.
    made.compile(optimizer, "mse", run_eagerly=True)
    return made


def fit(data: Any, epochs: int = 1, made: Any = None, **how: Any) -> Any:
    made = model() if made is None else made
    made.fit(data, epochs=epochs, verbose=0, **how)
    return made.seen


def passes(ds: ks.Dataset, count: int) -> list[list[int]]:
    return [x[:, 0].astype(int).tolist() for _ in range(count) for x, y in ds]


@case
def each_epoch_is_the_next_pass() -> None:
    assert fit(shuffled().to_keras(), 3) == passes(shuffled(), 3)


@case
def two_fits_are_as_one() -> None:
    data, made = shuffled().to_keras(), model()
    fit(data, 1, made)
    assert data.epoch == 1
    assert fit(data, 2, made) == passes(shuffled(), 3)


@case
def a_length_that_is_not_known() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Keras warns that the input ran out of data
        assert fit(unknown().to_keras(), 3) == passes(unknown(), 3)


@case
def an_infinite_pipeline() -> None:
    ds = numbers().repeat()
    assert fit(ds.to_keras(), 3, steps_per_epoch=2) == passes(ds.take(6), 1)


@case
def steps_that_go_on_over_epochs() -> None:
    data = ks.Dataset.range(24).map(example).batch(4).to_keras()
    assert fit(data, 3, steps_per_epoch=2) == passes(numbers(24), 1)


@case
def the_last_batch_is_smaller_and_dtypes_are_kept() -> None:
    made = model()
    fit(numbers().to_keras(), 1, made)
    assert [len(x) for x, _ in made.batches] == [4, 4, 2]
    assert {keras.backend.standardize_dtype(leaf.dtype) for b in made.batches for leaf in b} == {
        "float32"
    }


@case
def evaluate_predict_and_validation() -> None:
    made = model()
    fit(numbers().to_keras(), 2, made, validation_data=numbers(7).to_keras())
    xs, ys = zip(*numbers(7), strict=True)
    wanted = made.evaluate(np.concatenate(xs), np.concatenate(ys), verbose=0)
    found = made.evaluate(numbers(7).to_keras(), verbose=0)
    assert np.allclose(found, wanted, rtol=1e-4), (found, wanted)
    for ds in (numbers(7), numbers(7).map(lambda x, y: x), numbers(7).map(lambda x, y: (x,))):
        predicted = made.predict(ds.to_keras(), verbose=0)
        assert np.allclose(predicted, made.predict(np.concatenate(xs), verbose=0), atol=1e-5)


@case
def weights_of_samples_and_of_classes() -> None:
    weights = {0: 1.0, 1: 3.0}
    labeled = numbers().map(lambda x, y: (x, (y % 2).astype(np.int64)))
    by_hand = labeled.map(lambda x, y: (x, y, np.where(y == 1, 3, 1).astype(np.float32)))
    one_hot = labeled.map(lambda x, y: (x, np.eye(2, dtype=np.float32)[y]))
    first, second = model(), model()
    fit(by_hand.to_keras(), 2, first)
    fit(labeled.to_keras(class_weight=weights), 2, second)
    for mine, other in zip(first.get_weights(), second.get_weights(), strict=True):
        assert np.allclose(mine, other)
    weighted = [w for _, _, w in one_hot.to_keras(class_weight=weights).get_numpy_iterator()]
    assert np.concatenate(weighted).tolist() == [1, 3] * 5


@case
def what_fit_would_ignore_is_refused() -> None:
    for how in ({"class_weight": {0: 1.0}}, {"y": np.zeros(3)}, {"sample_weight": np.zeros(3)}):
        with pytest.raises(ks.InvalidArgumentError, match=next(iter(how))):
            fit(numbers().to_keras(), 1, **how)


@case
def several_inputs_and_outputs_by_name() -> None:
    one, other = keras.Input((2,), name="one"), keras.Input((1,), name="other")
    joined = keras.layers.Concatenate()([one, other])
    outputs = {
        "a": keras.layers.Dense(1, name="a")(joined),
        "b": keras.layers.Dense(1, name="b")(joined),
    }
    made = keras.Model({"one": one, "other": other}, outputs)
    made.compile("sgd", {"a": "mse", "b": "mse"})
    ds = numbers().map(lambda x, y: ({"one": x, "other": y[:, None]}, {"a": y, "b": 2 * y}))
    made.fit(ds.to_keras(), epochs=2, verbose=0)
    assert made.predict(ds.to_keras(), verbose=0)["a"].shape == (10, 1)


@case
def a_model_without_shapes_is_built_from_a_first_look() -> None:
    keras.utils.set_random_seed(1)
    made = Seeing([keras.layers.Dense(1)])
    made.seen, made.batches = [], []
    made.compile("sgd", "mse", run_eagerly=True)
    data = shuffled().to_keras()
    fit(data, 2, made)
    assert [batch for batch in made.seen if batch] == passes(shuffled(), 2)


@case
def a_snapshot_stores_in_the_first_epoch() -> None:
    calls: list[int] = []

    def counted(x: Any) -> Any:
        calls.append(int(x))
        return example(x)

    with tempfile.TemporaryDirectory() as folder:
        kept = ks.Dataset.range(10).map(counted).snapshot(folder, fingerprint="counted")
        seen = fit(kept.shuffle(10, seed=3).batch(4).prefetch(1).to_keras(), 3)
        assert seen == passes(shuffled(), 3)
        assert ks.Snapshot(folder).is_complete
        assert len(calls) <= 12, calls  # the rest of what a first look may have begun


@case
def strings_and_ragged_batches() -> None:
    text = ks.Dataset.from_tensor_slices(np.array([b"a b", b"b", b"c a"], object)).batch(2)
    ragged = ks.Dataset.range(4).map(lambda x: np.arange(x + 1)).ragged_batch(2)
    if BACKEND == "tensorflow":
        import tensorflow as tf

        vectorize = keras.layers.TextVectorization(vocabulary=["a", "b", "c"], output_mode="count")
        made = keras.Sequential([keras.Input((), dtype="string"), vectorize])
        assert made.predict(text.to_keras(), verbose=0)[:, 1:].tolist() == [
            [1, 1, 0],
            [0, 1, 0],
            [1, 0, 1],
        ]
        [first, _] = ragged.to_keras().get_tf_dataset()
        assert isinstance(first, tf.RaggedTensor)
        return
    for ds, words in ((text, "strings"), (ragged, "padded_batch")):
        with pytest.raises(ks.ElementError, match=f"{words}.*KERAS_BACKEND=tensorflow"):
            fit(ds.map(lambda x: (x, x)).to_keras())


@case
def elements_that_are_no_batches() -> None:
    for ds in (ks.Dataset.range(4).map(example), ks.Dataset.range(4)):
        with pytest.raises(Exception, match=r"call batch\(n\) before to_keras\(\)"):
            fit(ds.to_keras())


class KilledError(Exception):
    pass


class Killer(keras.callbacks.Callback):  # type: ignore[misc]
    def __init__(self, epoch: int, batch: int) -> None:
        super().__init__()
        self.wanted, self.epoch = (epoch, batch), 0

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self.epoch = epoch

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        if (self.epoch, batch) == self.wanted:
            raise KilledError


def interrupted(folder: str, epoch: int, batch: int) -> tuple[Any, Any]:
    """Train until it is killed, and go on with a new pipeline and a new model."""
    made, data = model("adam"), shuffled().to_keras()
    with suppress(KilledError):
        fit(data, 3, made, callbacks=[data.backup(folder, every=1), Killer(epoch, batch)])
    again, data = model("adam"), shuffled().to_keras()
    again.set_weights([np.zeros_like(each) for each in again.get_weights()])
    backup = data.backup(folder, every=1)
    start = backup.restore(again)
    with warnings.catch_warnings():
        # The epoch has fewer batches than Keras was told.
        warnings.filterwarnings("ignore", message="Your input ran out of data")
        fit(data, 3, again, initial_epoch=start, callbacks=[backup])
    return made, again


@case
def an_interrupted_training_goes_on_in_the_middle_of_an_epoch() -> None:
    whole = model("adam")
    fit(shuffled().to_keras(), 3, whole)
    for epoch, batch in ((0, 0), (1, 1), (1, 2), (2, 0)):
        with tempfile.TemporaryDirectory() as folder:
            first, rest = interrupted(folder, epoch, batch)
            # The last batch of an epoch has no backup of its own, but that of the epoch's end.
            done = 3 * epoch + min(batch + 1, 2)
            assert first.seen[:done] + rest.seen == whole.seen, (epoch, batch, rest.seen)
            for mine, other in zip(rest.get_weights(), whole.get_weights(), strict=True):
                assert np.allclose(mine, other, atol=1e-6), (epoch, batch)
            assert len(list(Path(folder).glob("*.weights.h5"))) == 1


@case
def a_place_is_plain_json() -> None:
    data, made = shuffled().to_keras(), model()
    states: list[Any] = []
    watch = data.watch()
    note = keras.callbacks.LambdaCallback(
        on_train_batch_end=lambda batch, logs: states.append(json.dumps(data.state()))
    )
    fit(data, 2, made, callbacks=[watch, note])
    for done, state in enumerate(states, 1):
        other = shuffled().to_keras()
        other.restore(json.loads(state))
        rest = [x[:, 0].astype(int).tolist() for x, _ in other.get_numpy_iterator()]
        end = 6 if done >= 3 else 3
        assert rest == (made.seen[done:end] or passes(shuffled(), 3)[6:])


@case
def the_rest_of_an_epoch_of_unknown_length() -> None:
    state: dict[str, Any] = {}

    def stop(batch: int, logs: Any) -> None:
        if batch == 0:
            state.update(data.state())

    data = unknown().to_keras()
    note = keras.callbacks.LambdaCallback(on_train_batch_end=stop)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit(data, 1, callbacks=[data.watch(), note])
        again = unknown().to_keras()
        again.restore(state)
        assert fit(again, 1) == passes(unknown(), 1)[1:]
        assert fit(again, 2) == passes(unknown(), 3)[3:]
        again.restore(state)
        with pytest.raises(Exception, match=r"assert_cardinality\(n\)"):
            fit(again, 2)


def main() -> None:
    found: dict[str, str | None] = {}
    for name, function in CASES.items():
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        try:
            function()
        except BaseException:
            found[name] = traceback.format_exc()[-3000:]
        else:
            found[name] = None
    print(json.dumps(found))


if __name__ == "__main__":
    main()
