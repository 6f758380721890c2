"""``keepset convert``: the same elements in files of another kind."""

from __future__ import annotations

from typing import Any

import click

from keepset.cli.arguments import json_option, options_option, traceback_option
from keepset.cli.completion import complete_compression, complete_fingerprint, complete_path
from keepset.cli.output import counted, plain, show, show_json
from keepset.dataset.converting import KINDS, convert


@click.command("convert")
@click.argument("source", shell_complete=complete_path)
@click.argument("target", shell_complete=complete_path)
@click.option("--to", type=click.Choice(KINDS), required=True, help="The kind of files to write.")
@click.option(
    "--compression",
    metavar="NAME",
    shell_complete=complete_compression,
    help="LZ4, ZSTD, GZIP, SNAPPY or AUTO; for TensorFlow's files GZIP, ZLIB or SNAPPY.",
)
@click.option("--raw", is_flag=True, help="Take the records of TFRecord files as they are.")
@click.option(
    "--shards",
    "num_shards",
    type=click.IntRange(min=1),
    metavar="N",
    help="How many TFRecord files to write; 1 by default.",
)
@click.option(
    "-f",
    "--fingerprint",
    metavar="PREFIX",
    shell_complete=complete_fingerprint("source"),
    help="Which snapshot, if there are several.",
)
@click.option(
    "--progress/--no-progress", default=None, help="Show how far it is, or not; as a terminal asks."
)
@options_option
@json_option
@traceback_option
def command(
    source: str,
    target: str,
    to: str,
    compression: str | None,
    raw: bool,
    num_shards: int | None,
    fingerprint: str | None,
    progress: bool | None,
    options: dict[str, Any],
    as_json: bool,
) -> None:
    """Write a dataset as files of another kind.

    SOURCE is a dataset or snapshot that Keepset or TensorFlow kept, a TFRecord
    file, or a pattern of such files in quotes. TARGET is a folder, or a file for
    tfrecord. The Examples of TFRecord files are parsed as the first ones of them
    look, unless there is --raw.

    A conversion that was interrupted goes on where it was when the same command is
    run again, but for several TFRecord files, ZLIB, and TensorFlow's files in a
    bucket, which begin anew. A file takes its name when it is whole. Nothing is
    written over: a target that is there already is an error, unless it is
    Keepset's and holds the same elements, compressed as asked.

    \b
    Examples:
      keepset convert /data/tf-saved /data/kept --to keepset --compression ZSTD
      keepset convert '/data/train-*.tfrecord' /data/kept --to keepset
      keepset convert /data/kept /data/for-tf --to tensorflow
      keepset convert /data/kept all.tfrecord --to tfrecord --compression GZIP
    """
    done = convert(
        source,
        target,
        to,
        compression=compression,
        raw=raw,
        num_shards=num_shards,
        fingerprint=fingerprint,
        progress=False if progress is None and as_json else progress,
        options=options,
    )
    if as_json:
        facts = {"source": source, "target": target, "kind": to, "elements": done.elements}
        show_json({**facts, "was_there": done.was_there})
    elif done.was_there:
        count = counted(done.elements, "element")
        show(plain(f"nothing is written: {target} holds these {count} already", "green"))
    else:
        show(plain(f"{counted(done.elements, 'element')} written to {target}", "green"))
