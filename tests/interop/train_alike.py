"""Train one tiny model from a snapshot, with the framework that the first argument names.

Prints, as JSON, a checksum of every batch that the model saw, and the weights in the end. Keras
takes its backend from the environment.
"""

from __future__ import annotations

import json
import sys
import zlib
from typing import Any

import numpy as np

import keepset as ks

RATE, EPOCHS = 0.1, 3
seen: list[int] = []


def features(x: Any) -> Any:
    row = np.cos(np.arange(3, dtype=np.float32) * np.float32(x + 1))
    return row, row.sum(keepdims=True)


def batches(path: str) -> ks.Dataset:
    kept = ks.Dataset.range(50).map(features).snapshot(path, fingerprint="features")
    return kept.shuffle(20, seed=7).batch(8)


def note(x: Any, y: Any) -> None:
    seen.append(zlib.crc32(np.asarray(x).tobytes() + np.asarray(y).tobytes()))


def train_torch(ds: ks.Dataset) -> Any:
    import torch

    weights = torch.zeros(3, 1, requires_grad=True)
    optimizer = torch.optim.SGD([weights], RATE)
    loader = ds.to_torch().loader(num_workers=2)
    for _ in range(EPOCHS):
        for x, y in loader:
            note(x, y)
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(x @ weights, y).backward()
            optimizer.step()
    return weights.detach().numpy()


def train_jax(ds: ks.Dataset) -> Any:
    import jax
    import jax.numpy as jnp

    @jax.jit
    def step(weights: Any, x: Any, y: Any) -> Any:
        return weights - RATE * jax.grad(lambda w: jnp.mean((x @ w - y) ** 2))(weights)

    weights = jnp.zeros((3, 1))
    data = ds.to_jax()
    for _ in range(EPOCHS):
        for x, y in data:
            note(x, y)
            weights = step(weights, x, y)
    return np.asarray(weights)


def train_keras(ds: ks.Dataset) -> Any:
    import keras

    class Model(keras.Sequential):  # type: ignore[misc]
        def train_step(self, *given: Any) -> Any:
            note(*given[-1])
            return super().train_step(*given)

    model = Model([keras.Input((3,)), keras.layers.Dense(1, use_bias=False)])
    model.set_weights([np.zeros((3, 1), np.float32)])
    # Eagerly, so that the batches can be looked at.
    model.compile(keras.optimizers.SGD(RATE), "mse", run_eagerly=True)
    how: dict[str, Any] = {}
    if keras.backend.backend() == "torch":
        data: Any = ds.to_torch().loader()
        # Keras looks at a first batch before it begins, which is another loop to the loader.
        told = keras.callbacks.LambdaCallback(
            on_epoch_begin=lambda epoch, logs: data.set_epoch(epoch)
        )
        how = {"callbacks": [told]}
    elif keras.backend.backend() == "tensorflow":
        data = ds.to_tf()
    else:
        data, how = repeated(ds.to_jax()), {"steps_per_epoch": len(ds)}
    model.fit(data, epochs=EPOCHS, shuffle=False, verbose=0, **how)
    return np.asarray(model.get_weights()[0])


def repeated(data: Any) -> Any:
    """A generator without end, as Keras takes them."""
    while True:
        yield from data


if __name__ == "__main__":
    train = {"torch": train_torch, "jax": train_jax, "keras": train_keras}[sys.argv[1]]
    found = train(batches(sys.argv[2]))
    print(json.dumps({"seen": seen, "weights": found.reshape(-1).tolist()}))
