"""Batches over four devices, in a process that was started with so many; prints what it finds.

Run with ``XLA_FLAGS=--xla_force_host_platform_device_count=4``.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

import keepset as ks


def parts(array: Any) -> list[list[int]]:
    return [list(map(int, shard.data.reshape(-1)[:2])) for shard in array.addressable_shards]


def main() -> None:
    import jax
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    mesh = Mesh(np.array(jax.devices()), ("data",))
    split = NamedSharding(mesh, PartitionSpec("data"))
    whole = NamedSharding(mesh, PartitionSpec())
    ds = ks.Dataset.range(16).map(lambda x: {"x": np.full(3, x, np.float32), "y": x}).batch(8)
    alike = [
        {name: parts(leaf) for name, leaf in batch.items()} for batch in ds.to_jax(sharding=split)
    ]
    apart = next(iter(ds.to_jax(sharding={"x": split, "y": whole})))
    single = next(iter(ds.to_jax(sharding=jax.devices()[2])))
    total = jax.jit(lambda batch: batch["x"].sum())(apart)
    try:
        list(ks.Dataset.range(10).batch(8).to_jax(sharding=split))
        refused = ""
    except ks.ElementError as error:
        refused = str(error)
    try:
        next(iter(ds.to_jax(sharding={"x": split})))
        unlike = ""
    except ks.InvalidArgumentError as error:
        unlike = str(error)
    print(
        json.dumps(
            {
                "devices": jax.device_count(),
                "alike": alike,
                "apart": [len(set(map(str, parts(apart[name])))) for name in ("x", "y")],
                "single": [device.id for device in single["x"].devices()],
                "total": float(total),
                "refused": refused,
                "unlike": unlike,
            }
        )
    )


if __name__ == "__main__":
    main()
