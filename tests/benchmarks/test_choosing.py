"""benchmarks/choosing.py and suite.py: what a text after --only or ONLY= picks."""

import importlib
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
JOBS = [SimpleNamespace(name=name) for name in ("W1 batches", "W2 batches", "W2 shuffled")]
PEERS = ["lance", "zarr"]
FIGURES = ["memory"]
NAMES = {"pipeline": ["grain", "shuffle"], "snapshot": [*PEERS, "W2 batches", "W2 shuffled"]}


def module(name: str) -> ModuleType:
    sys.path.insert(0, str(BENCHMARKS))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(BENCHMARKS))


def picked(*only: str) -> tuple[list[str], list[str], list[str]]:
    choice = module("choosing").choose(only, JOBS, PEERS, FIGURES)
    return [job.name for job in choice.jobs], choice.peers, choice.figures


EVERY = [job.name for job in JOBS]


@pytest.mark.parametrize(
    ("only", "expected"),
    [
        ((), (EVERY, PEERS, FIGURES)),
        (("batches",), (["W1 batches", "W2 batches"], PEERS, [])),
        (("zarr",), (EVERY, ["zarr"], FIGURES)),
        (("W1", "zarr"), (["W1 batches"], ["zarr"], [])),
        (("none",), (EVERY, [], FIGURES)),
        (("memory", "none"), ([], [], FIGURES)),
    ],
)
def test_a_text_picks_jobs_or_figures_or_else_peers(
    only: tuple[str, ...], expected: tuple[list[str], list[str], list[str]]
) -> None:
    assert picked(*only) == expected


def test_a_text_in_no_name_is_an_error_that_lists_the_choices() -> None:
    with pytest.raises(SystemExit, match=r"'W9' is in no name; choose from lance, .*W2 shuffled"):
        picked("W9")


@pytest.mark.parametrize(
    ("only", "expected"),
    [
        ("", {"pipeline": [], "snapshot": []}),
        ("shuffle", {"pipeline": ["shuffle"], "snapshot": ["shuffle"]}),
        ("W2 shuffled", {"snapshot": ["W2 shuffled"]}),
        ("W2 zarr", {"snapshot": ["W2", "zarr"]}),
        ("shuffle grain", {"pipeline": ["shuffle", "grain"]}),
    ],
)
def test_a_suite_runs_the_scripts_that_know_the_names(
    only: str, expected: dict[str, list[str]]
) -> None:
    assert module("suite").picked(only, NAMES) == expected


@pytest.mark.parametrize("only", ["W9", "W2 W9", "grain zarr"])
def test_a_suite_refuses_what_nobody_knows(only: str) -> None:
    with pytest.raises(SystemExit, match="error: "):
        module("suite").picked(only, NAMES)
