"""``keepset explain``: why a pipeline is computed again, or that it is not."""

from __future__ import annotations

from typing import Any

import click

from keepset.cli.arguments import takes_place
from keepset.cli.completion import complete_path
from keepset.cli.fingerprint import changes_json, explained, fingerprint_tree
from keepset.cli.output import answer_no, plain, show, show_json
from keepset.cli.pipeline import load_pipeline
from keepset.cli.place import Place
from keepset.core.fingerprint import facts_to_json
from keepset.dataset.base import node_of
from keepset.snapshot.explaining import Origin, explain_newest, explain_node, stage_kept_at


@click.command("explain")
@takes_place()
@click.argument("pipeline", required=False, shell_complete=complete_path)
def command(place: Place, pipeline: str | None, as_json: bool) -> None:
    """Say why a pipeline is computed again, or that it is not.

    With PIPELINE: whether what is kept at PATH would be used for it, and if not,
    what differs from the nearest snapshot that is kept: which stage, and which
    value, function or file, old and new. PIPELINE is file.py:name or
    package.module:name, where name is a Dataset or a function without arguments
    that returns one. The file is imported, which runs the code at its top.

    Without it: what made the newest snapshot at PATH differ from the nearest
    older one, so that it had to be computed.

    \b
    Examples:
      keepset explain /data/kept/images
      keepset explain /data/kept/images train.py:images
      keepset explain s3://bucket/images mypackage.data:training_set

    With PIPELINE, exits with 0 on a hit, where all elements are stored, and with 1
    otherwise: on a miss, and on a resume, where only some of them are.
    """
    if pipeline is None:
        origin = explain_newest(place.root.url, place.options, fingerprint=place.fingerprint)
        if as_json:
            show_json(_origin_json(origin))
        else:
            _show_origin(origin)
        return
    if place.fingerprint is not None:
        raise click.UsageError("--fingerprint is of no use with PIPELINE, which has its own")
    url = place.target.url
    node = stage_kept_at(node_of(load_pipeline(pipeline)), url, place.options)
    why = explain_node(node, url, place.options)
    if as_json:
        show_json(
            {
                **vars(why),
                "changes": changes_json(why.changes),
                "versions": changes_json(why.versions),
            }
        )
    else:
        show(*explained(str(why)))
    if not why.hit:
        answer_no()


def _show_origin(origin: Origin) -> None:
    show(*explained(str(origin)))
    if origin.facts is not None and origin.older is None:
        show("", plain("what the fingerprint was found from", "bold underline"))
        show(fingerprint_tree(origin.facts))


def _origin_json(origin: Origin) -> dict[str, Any]:
    return {
        "url": origin.url,
        "fingerprint": origin.fingerprint,
        "is_newest": origin.is_newest,
        "created": None if origin.created is None else origin.created.isoformat(),
        "older": origin.older,
        "changes": changes_json(origin.changes),
        "versions": changes_json(origin.versions),
        "restarts": origin.restarts,
        "facts": None if origin.facts is None else facts_to_json(origin.facts),
    }
