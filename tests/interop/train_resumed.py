"""Train with PyTorch from a snapshot, with a checkpoint after each step, and go on from the last.

Arguments: the folder, and the number of workers. Prints a line for each step. A checkpoint holds
the state of the loader, the weights, and the elements that were used, and is replaced as a whole.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

import keepset as ks

EPOCHS = 2


def features(x: Any) -> Any:
    return {"x": x, "row": np.cos(np.arange(3, dtype=np.float32) * np.float32(x + 1))}


def main(folder: Path, workers: int) -> None:
    import torch

    checkpoint = folder / "checkpoint.json"
    # The shuffle draws a seed of its own in each process; the state knows the one to go on with.
    ds = ks.Dataset.range(120).map(features).snapshot(folder / "kept", fingerprint="features")
    loader = ds.shuffle(30).batch(4).to_torch().loader(num_workers=workers)
    weights = torch.zeros(3)
    used: list[list[int]] = [[] for _ in range(EPOCHS)]
    if checkpoint.exists():
        saved = json.loads(checkpoint.read_text())
        loader.load_state_dict(saved["loader"])
        weights, used = torch.tensor(saved["weights"]), saved["used"]
    for epoch in range(loader.epoch, EPOCHS):
        for batch in loader:
            error = (batch["row"] @ weights - 1)[:, None]
            weights = weights - 0.1 * (error * batch["row"]).mean(0)
            used[epoch] += batch["x"].tolist()
            facts = {"loader": loader.state_dict(), "weights": weights.tolist(), "used": used}
            unfinished = checkpoint.with_suffix(".new")
            unfinished.write_text(json.dumps(facts))
            os.replace(unfinished, checkpoint)
            print("step", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
