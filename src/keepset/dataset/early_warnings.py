"""Early warnings: what can be said of a snapshot when it is built, before any function runs."""

from __future__ import annotations

from dataclasses import fields
from itertools import groupby

from keepset.core.dtypes import string
from keepset.core.fingerprint import Blind, Facts, Ignore, Moment, moving_path
from keepset.core.fingerprint.ignore import SEPARATOR
from keepset.core.node import Node
from keepset.core.spec import structure_and_leaves
from keepset.core.warn import warn_user
from keepset.nodes.global_shuffle import GlobalShuffle
from keepset.nodes.parallel import Parallelism
from keepset.snapshot.identity.pipeline_identity import Looks, facts_of_stage, unseeded_stages
from keepset.snapshot.stage import SnapshotStage

_FILE_ORDER = ("constant", "derived", "element", "")
_WORKERS = {"thread": "threads", "process": "processes"}
_PREDICATES = {"filter", "take_while"}


def warn_early(stage: SnapshotStage) -> None:
    """Say when a snapshot is built what could only be seen in its elements later.

    The fingerprint itself is taken when a pass begins.

    Raises:
        FingerprintError: Something has no content that could be compared.
        InvalidArgumentError: A name in ``ignore`` matches nothing.
    """
    _warn_of_frozen_randomness(stage.parent)
    with Moment(light=True):
        facts = stage.identify(Looks(light=True), finds_blind=True).facts
        _warn_of_timing(stage)
    _warn_of_blind_spots(stage, facts)


def _warn_of_timing(stage: SnapshotStage) -> None:
    """Warn of state that functions move in several threads or processes at once."""
    for node in stage.parent.walk():
        parallelism = getattr(node, "parallelism", None)
        if not isinstance(parallelism, Parallelism) or parallelism.calls in (None, 1):
            continue
        path = moving_path(facts_of_stage(node, Ignore(stage.ignore)))
        if path is None:
            continue
        name = path[-1]
        where = SEPARATOR.join([node.title, *path])
        warn_user(
            f"{where} is written and read by a function that runs in several "
            f"{_WORKERS[parallelism.executor]} at once: what it holds for an element depends on "
            "timing, and one outcome is about to be stored for every later run; leave "
            f"num_parallel_calls out, or pass ignore=[{name!r}] if it does not change the elements"
        )


def _warn_of_blind_spots(stage: SnapshotStage, facts: Facts) -> None:
    listed = {each.title for each in stage.parent.walk() if _gets_listed_names(each)}
    # A file that is always the same one comes first: it is the reason to warn.
    blind = sorted(facts.blind, key=lambda spot: (_cause(spot), _FILE_ORDER.index(spot.file)))
    for (title, label), spots in groupby(blind, key=_cause):
        first = next(spots)
        if first.file == "element" and title in listed:
            continue  # the files that the stages name count
        used = label.removeprefix("call ").removeprefix("use ")
        warn_user(
            f"{first.where} uses {used}, which the fingerprint of {stage.title} cannot see: "
            f"{first.remedy}; if its result is always the same, say so with ignore=[{label!r}]"
        )


def _gets_listed_names(node: Node) -> bool:
    """Whether all texts that the functions of a stage are given are names of ``list_files``."""
    return any(each.file_names is not None for each in node.walk()) and all(
        _yields_listed_names(parent) for parent in node.inputs
    )


def _yields_listed_names(node: Node) -> bool:
    if node.file_names is not None:
        return True
    if not node.inputs:
        known = node.known_spec()
        leaves = [] if known is None else structure_and_leaves(known[0])[1]
        return known is not None and not any(spec.dtype == string for spec in leaves)
    # What functions and readers yield is not what they are given; predicates let it pass.
    keeps = node.kind in _PREDICATES or not any(
        callable(getattr(node, field.name)) for field in fields(node)
    )
    is_reader = not (node.is_physical or type(node).__module__.startswith("keepset.nodes."))
    return keeps and not is_reader and all(map(_yields_listed_names, node.inputs))


def _cause(spot: Blind) -> tuple[str, str]:
    """The stage that uses something, and what it is."""
    return spot.where.partition(SEPARATOR)[0], spot.label


def _warn_of_frozen_randomness(node: Node) -> None:
    unseeded = list(unseeded_stages(node))
    if not unseeded:
        return
    remedy = "give it a seed with seed=, or move it behind the snapshot"
    if any(map(_is_listing, unseeded)):
        remedy += "; list_files() shuffles unless it is given shuffle=False"
    warn_user(
        f"{', '.join(map(_as_written, unseeded))} has no seed, and what it chooses is about to be "
        f"kept for every later run; {remedy}"
    )


def _is_listing(stage: Node) -> bool:
    """Whether a stage is the shuffling of ``list_files``."""
    return isinstance(stage, GlobalShuffle) and getattr(stage.parent, "is_shuffled", False)


def _as_written(stage: Node) -> str:
    """The call that a user has written to make a stage."""
    if isinstance(stage, GlobalShuffle):
        return "list_files(shuffle=True)" if _is_listing(stage) else "shuffle(ks.GLOBAL)"
    return stage.title
