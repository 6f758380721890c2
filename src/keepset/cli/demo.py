"""``keepset demo``: the main job in a few seconds, on images that are made up."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from rich.syntax import Syntax

from keepset.cli.arguments import json_option, traceback_option
from keepset.cli.fingerprint import changes_json, explained
from keepset.cli.output import plain, show, show_json, table
from keepset.cli.pipeline import load_pipeline
from keepset.dataset.functions import explain
from keepset.errors import InvalidArgumentError
from keepset.snapshot.explaining import Explanation

# Written to a file of its own, so that it is a user's code as any other.
_SCRIPT = """\
import numpy as np
import keepset as ks

BLURS = 2


def make_image(index):  # in place of reading a file
    noise = np.random.default_rng(int(index)).integers(0, 256, (128, 128, 3))
    return {"image": noise.astype(np.uint8), "label": index % 10}


def preprocess(element):
    image = element["image"].astype(np.float32)
    for _ in range(BLURS):
        for axis in (0, 1):
            image += np.roll(image, 1, axis) + np.roll(image, -1, axis)
    return {**element, "image": (image - image.mean()) / image.std()}


def images():
    return ks.Dataset.range(500).map(make_image).map(preprocess)
"""


@dataclass(frozen=True)
class _Epoch:
    name: str
    images: int
    seconds: float


@click.command("demo")
@click.option(
    "--folder",
    type=click.Path(file_okay=False),
    help="Where to leave the files, so that you can try the other commands on them.",
)
@json_option
@traceback_option
def command(folder: str | None, as_json: bool) -> None:
    """Show in a few seconds what Keepset does.

    Images are made up and preprocessed: the first epoch computes and keeps them,
    later ones replay them. Then one value of the pipeline is changed, and Keepset
    says what that means.

    \b
    Examples:
      keepset demo
      keepset demo --folder /tmp/keepset-demo && keepset ls /tmp/keepset-demo
    """
    with _place(folder) as place:
        script, kept = place / "pipeline.py", place / "images"
        script.write_text(_SCRIPT)
        if not as_json:
            show(plain("A pipeline, and .snapshot(path) behind it:", "bold"), "")
            show(Syntax(_SCRIPT, "python", theme="ansi_dark", background_color="default"))
        epochs = [_epoch(number, script, kept) for number in range(3)]
        if not as_json:
            _show_epochs(epochs)
        script.write_text(_SCRIPT.replace("BLURS = 2", "BLURS = 3"))
        why = explain(load_pipeline(f"{script}:images"), kept)
        if as_json:
            show_json(_json(epochs, why))
        else:
            show("", plain("Somebody edits one line, BLURS = 3. What happens?", "bold"), "")
            show(*explained(str(why)))
            _show_next(place if folder else None)


@contextmanager
def _place(folder: str | None) -> Iterator[Path]:
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="keepset-demo-") as temporary:
            yield Path(temporary)
        return
    place = Path(folder)
    if place.exists() and any(place.iterdir()):
        raise InvalidArgumentError(f"{folder} is not empty; name a new folder for the demo")
    place.mkdir(parents=True, exist_ok=True)
    yield place


def _epoch(number: int, script: Path, kept: Path) -> _Epoch:
    """One pass of a training program, which is started anew for each."""
    ds = load_pipeline(f"{script}:images").snapshot(kept)
    began = time.perf_counter()
    seen = sum(1 for _ in ds)
    name = f"epoch {number}, {'replayed' if number else 'computed and kept'}"
    return _Epoch(name, seen, time.perf_counter() - began)


def _show_epochs(epochs: list[_Epoch]) -> None:
    first = epochs[0].seconds
    rows = [
        (
            each.name,
            each.images,
            f"{each.seconds:.2f}",
            f"{each.images / each.seconds:,.0f}",
            "" if each is epochs[0] else f"{first / each.seconds:.0f}x as fast",
        )
        for each in epochs
    ]
    columns = ["run", "images", "seconds", "images/s", ""]
    show("", table(columns, rows, numbers=columns[1:4]))


def _show_next(place: Path | None) -> None:
    if place is None:
        show("", plain("Keep the files to play with: keepset demo --folder FOLDER", "dim"))
        return
    show("", plain("Now try", "bold"))
    for name in ("ls", "inspect", "cat"):
        show(plain(f"  keepset {name} {place / 'images'}"), is_whole=True)
    pipeline = f"{place / 'pipeline.py'}:images"
    show(plain(f"  keepset explain {place / 'images'} {pipeline}"), is_whole=True)


def _json(epochs: list[_Epoch], why: Explanation) -> dict[str, Any]:
    return {
        "epochs": [vars(each) for each in epochs],
        "speed_up": epochs[0].seconds / epochs[-1].seconds,
        "hit": why.hit,
        "changes": changes_json(why.changes),
    }
