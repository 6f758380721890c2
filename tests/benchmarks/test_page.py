"""benchmarks/page.py: from the figures of a run to the page about it."""

import importlib
import itertools
import json
import math
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

ROOT = Path(__file__).parents[2]
BENCHMARKS = ROOT / "benchmarks"
SVG = "{http://www.w3.org/2000/svg}"

MACHINE = {"cpu": "A processor", "cpus_usable": 2, "memory_gib": 8.0, "system": "Linux"}
VERSIONS = {"keepset": {"keepset": "1.0", "numpy": "2.0"}, "zarr": {"numpy": "1.0", "zarr": "3"}}


def measured(contender: str, *rates: float, note: str = "") -> dict[str, Any]:
    spread = {"min": min(rates), "median": sorted(rates)[len(rates) // 2], "max": max(rates)}
    return {"contender": contender, "status": "ok", "note": note, "elements_per_s": spread}


def ratio(against: str, value: float, goal: float | None, job: str | None = None) -> dict[str, Any]:
    missed = goal is not None and value < goal
    return {"against": against, "ratio": value, "goal": goal, "job": job, "missed": missed}


def figure(contender: str, value: float, **more: Any) -> dict[str, Any]:
    facts = {"name": "W1: size", "what": "all files", "unit": "MB"}
    return facts | {"contender": contender, "value": value} | more


FAILED = {"status": "failed (no file /home/somebody/data)"}
BATCHES = {
    "name": "W1 batches",
    "what": "9 images: batches",
    "measurements": [
        measured("numpy", 1000.0),
        measured("arrow", 500.0),
        measured("keepset", 700.0, 900.0, 2000.0),
        measured("zarr", 30.0, note="whole chunks"),
        measured("lance", 45.0),
        FAILED | {"contender": "tf"},
        {"contender": "torch", "status": "not offered"},
    ],
    "ratios": [
        ratio("numpy", 0.9, 0.8),
        ratio("arrow", 1.8, None),
        ratio("zarr", 30.0, None),
        ratio("lance", 20.0, None),
        ratio("best peer", 20.0, 1.0),
    ],
}
WRITE = {
    "name": "W1 write",
    "what": "9 images: write",
    "measurements": [
        measured("numpy", 400.0),
        measured("keepset", 100.0),
        measured("lance", 200.0),
    ],
    "ratios": [
        ratio("numpy", 0.25, 0.8),
        ratio("lance", 0.5, None),
        ratio("best peer", 0.5, 1.6),
        ratio("keepset", 0.111, None, job="W1 batches"),
    ],
}
SNAPSHOT = {
    "finished": "2026-01-02T03:04:05+00:00",
    "machine": MACHINE,
    "versions": VERSIONS,
    "settings": {"rounds": 5},
    "jobs": [BATCHES, WRITE],
    "figures": [
        figure("keepset", 110.0, goal={"against": "numpy", "maximum": 1.05}),
        figure("numpy", 100.0),
        figure("zarr", 120.0),
        figure("lance", 130.0),
    ],
}
POINTS = [(1, "keepset", 5.0), (10, "keepset", 6.0), (1, "zarr", 4.0), (10, "zarr", 40.0)]
SCALING = {
    "machine": MACHINE,
    "versions": {"keepset": {"keepset": "1.0"}},
    "curves": [
        {
            "name": "Opening",
            "x_name": "shards",
            "unit": "ms",
            "points": [
                {"x": x, "contender": name, "value": y, "rss_anon_mb": None}
                for x, name, y in POINTS
            ],
        }
    ],
}
EXPLANATIONS = "# Why\n\n## W1 write\n\nIt also computes checksums.\n"


GOLDEN = """\
{head}

## Machine and versions

- **Kept data**, 2026-01-02, 5 rounds: A processor, 2 cores, 8.0 GiB, Linux; keepset 1.0, numpy 1.0, numpy 2.0, zarr 3
- **Scaling**, undated: A processor, 2 cores, 8.0 GiB, Linux; keepset 1.0

{measured}

## Goals

2 of 5 goals are met; 0 jobs failed.

| operation | goal | limit | best peer | Keepset | met? |
| --- | ---: | ---: | ---: | ---: | ---: |
| W1 batches | ≥ 0.8x NumPy, ≥ 1x best peer | 1k NumPy | 45 lance | 900 | yes |
| W1 write | ≥ 0.8x NumPy, ≥ 1.6x best peer | 400 NumPy | 200 lance | 100 | **no**: 0.25x, goal ≥ 0.8x NumPy; 0.5x, goal ≥ 1.6x best peer |
| W1: size | ≤ 1.05x NumPy | 100 MB NumPy | 120 MB zarr | 110 MB | **no**: 1.1x, goal ≤ 1.05x NumPy |

- **W1 write**: 0.25x, goal ≥ 0.8x NumPy; 0.5x, goal ≥ 1.6x best peer

It also computes checksums.

- **W1: size**: 1.1x, goal ≤ 1.05x NumPy (not yet explained)

## Pipelines

Not measured yet: `make bench` makes `pipeline.json`.

## Kept data

### W1: 9 images

![Bars of W1: 9 images: the rates of the table below](benchmarks/w1.svg)

| operation | NumPy | Arrow by hand | best peer | Keepset | / limit | / peer | spread |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
| batches | 1k | 500 | 45 lance | **900** | 0.9x NumPy | 20x | 700 to 2k |
| write | 400 | - | 200 lance | **100** | 0.25x NumPy | 0.5x | 100 to 100 |

<details><summary>W1: all peers, notes</summary>

| operation | zarr | lance | tf |
| --- | ---: | ---: | ---: |
| batches | 30 | 45 | failed |
| write | - | 200 | - |

- W1 batches, zarr: whole chunks

</details>

## TensorFlow's files

Not measured yet: `python benchmarks/tensorflow_files.py` makes `tensorflow_files.json`.

## Other people's files and frameworks

Not measured yet: `python benchmarks/doors.py` makes `doors.json`.

## Scaling

![Lines of Opening, ms, by shards](benchmarks/scaling-opening-ms.svg)

<details><summary>Opening, ms</summary>

| shards | Keepset | zarr |
| --- | ---: | ---: |
| 1 | 5 | 4 |
| 10 | 6 | 40 |

</details>

## Sizes, times and memory

### Size: all files

| operation | NumPy | best peer | Keepset | / limit | / peer | spread |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |
| W1 | 100 MB | 120 MB zarr | **110 MB** | 1.1x NumPy | 0.917x | - |

<details><summary>Size: all peers, notes</summary>

| operation | zarr | lance |
| --- | ---: | ---: |
| W1 | 120 MB | 130 MB |

</details>
"""  # noqa: E501


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return module("page", monkeypatch)


@pytest.fixture
def plots(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return module("plots", monkeypatch)


def module(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    # Scripts, not a package: they find each other in their own folder.
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module(name)


def test_the_page_says_what_the_facts_say(page: ModuleType) -> None:
    text = page.page({"snapshot": SNAPSHOT, "scaling": SCALING}, EXPLANATIONS)["benchmarks.md"]
    assert text == GOLDEN.format(head=page.HEAD, measured=page.MEASURED)


def test_what_was_not_measured_is_left_out_with_the_command_that_makes_it(page: ModuleType) -> None:
    files = page.page({}, "")
    assert list(files) == ["benchmarks.md"]
    for command in ("make bench", "make bench-kept", "python benchmarks/scaling.py"):
        assert f"Not measured yet: `{command}` makes" in files["benchmarks.md"]


def test_all_drawings_are_shown_and_all_that_is_shown_is_drawn(page: ModuleType) -> None:
    files = page.page({"snapshot": SNAPSHOT, "scaling": SCALING}, "")
    shown = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", files.pop("benchmarks.md"))
    assert (
        sorted(shown) == sorted(files) == ["benchmarks/scaling-opening-ms.svg", "benchmarks/w1.svg"]
    )


def test_a_failure_is_told_without_the_places_on_the_machine(page: ModuleType) -> None:
    failing = BATCHES | {"measurements": [FAILED | {"contender": "keepset"}], "ratios": []}
    files = page.page({"snapshot": SNAPSHOT | {"jobs": [failing, BATCHES]}}, "")
    assert "| W1 batches | - | - | - | - | **no**: failed |" in files["benchmarks.md"]
    assert "; 1 jobs failed." in files["benchmarks.md"]
    assert "somebody" not in "".join(files.values())


def test_a_goal_on_another_job_says_so(page: ModuleType) -> None:
    job = WRITE | {"ratios": [ratio("keepset", 1.5, 1.6, job="W1 batches")]}
    assert page.job_row(job).complaint == "1.5x, goal ≥ 1.6x Keepset in W1 batches"


@pytest.mark.parametrize(
    ("rate", "complaint"), [(210_000.0, ""), (190_000.0, "190k, goal ≥ 200k a second")]
)
def test_a_goal_may_be_a_rate(page: ModuleType, rate: float, complaint: str) -> None:
    job = {
        "name": "W1 singles",
        "what": "9 images: singles",
        "measurements": [measured("keepset", rate)],
        "ratios": [ratio("a second", rate, 200_000.0)],
    }
    row = page.job_row(job)
    assert [goal.asked for goal in row.goals] == ["≥ 200k a second"]
    assert (row.complaint, row.to) == (complaint, {})


@pytest.mark.parametrize(
    ("value", "goal", "complaint"),
    [
        (51.0, {"against": None, "maximum": 50.0}, "51 MB, goal ≤ 50 MB"),
        (49.0, {"against": None, "maximum": 50.0}, ""),
        (49.0, {"minimum": 50.0}, "49 MB, goal ≥ 50 MB"),
        (150.0, {"against": "best peer", "maximum": 1.0}, "1.5x, goal ≤ 1x best peer"),
        (150.0, {"against": "lance", "maximum": 2.0}, ""),
    ],
)
def test_goals_of_figures_are_absolute_or_beside_somebody(
    page: ModuleType, value: float, goal: dict[str, Any], complaint: str
) -> None:
    peers = [figure("zarr", 100.0), figure("lance", 120.0)]
    # Of sizes the smallest is the best, unless somebody asked for at least so much.
    if "minimum" not in goal:
        assert page.figure_row(peers).peer == "zarr"
    assert page.figure_row([figure("keepset", value, goal=goal), *peers]).complaint == complaint


def test_the_section_with_the_longest_name_explains_a_missed_goal(page: ModuleType) -> None:
    names = [
        "W3 write",
        "W3 write from arrays",
        "W3t write",
        "W3: size",
        "W4 write",
        "W4 write, twice",
    ]
    goal = [page.Goal("≥ 1x NumPy", "numpy", "0.5x")]
    rows = [page.Row("", name, name, {}, {}, goal) for name in names]
    told = (
        "Not a section.\n\n## W3\n\nAll of it.\n\n## W3 write\n\nWriting.\n\n## W4 write\nFour.\n"
    )
    assert page.missed_goals(rows, told) == (
        "- **W3 write**: 0.5x\n- **W3 write from arrays**: 0.5x\n\nWriting.\n\n"
        "- **W3t write**: 0.5x (not yet explained)\n\n"
        "- **W3: size**: 0.5x\n\nAll of it.\n\n"
        "- **W4 write**: 0.5x\n- **W4 write, twice**: 0.5x\n\nFour."
    )


def test_a_star_in_the_name_of_a_section_is_any_word(page: ModuleType) -> None:
    names = ["W1 lz4 shuffled", "W2 zstd shuffled, one core", "W2 lz4 batches", "W1 shuffled"]
    goal = [page.Goal("≥ 1x NumPy", "numpy", "0.5x")]
    rows = [page.Row("", name, name, {}, {}, goal) for name in names]
    assert page.missed_goals(rows, "## * * shuffled\n\nMixed.\n\n## * lz4\n\nLZ4.\n") == (
        "- **W1 lz4 shuffled**: 0.5x\n- **W2 zstd shuffled, one core**: 0.5x\n\nMixed.\n\n"
        "- **W2 lz4 batches**: 0.5x\n\nLZ4.\n\n"
        "- **W1 shuffled**: 0.5x (not yet explained)"
    )


def test_a_page_that_is_not_what_the_results_give_is_found(
    page: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "HERE", tmp_path)
    monkeypatch.setattr(page, "DOCS", tmp_path / "docs")
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "snapshot.json").write_text(json.dumps(SNAPSHOT))
    (tmp_path / "docs" / "benchmarks").mkdir(parents=True)
    (tmp_path / "docs" / "benchmarks" / "old.svg").touch()

    def complaint() -> str:
        monkeypatch.setattr(sys, "argv", ["page.py", "--check"])
        with pytest.raises(SystemExit) as left:
            page.main()
        monkeypatch.setattr(sys, "argv", ["page.py"])
        return str(left.value.code or "")

    assert "docs/benchmarks/old.svg is not" in complaint()
    page.main()
    assert complaint() == ""
    (tmp_path / "explanations.md").write_text(EXPLANATIONS)
    assert complaint() == "docs/benchmarks.md is not what the results give"


@pytest.mark.skipif(not list(BENCHMARKS.glob("results/*.json")), reason="nothing was measured")
def test_the_page_is_what_the_results_give() -> None:
    command = [sys.executable, str(BENCHMARKS / "page.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr + "run python benchmarks/page.py"


def drawn(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in drawn(svg).iter(f"{SVG}text")]


def test_bars_are_as_long_as_the_logarithm_and_ours_stands_out(plots: ModuleType) -> None:
    values = {"a & b": 0.1, "Keepset": 1.0, "c": 10.0}
    shown = [plots.Bar(n, v, "subject" if v == 1 else "peer", f"<{n}>") for n, v in values.items()]
    svg = plots.bars("Title", "Subtitle", [plots.Group("group", shown, [0.01, 3.0])])
    bars = {e.get("class"): e for e in drawn(svg).iter(f"{SVG}rect")}
    lengths = [float(e.get("width", 0)) for e in drawn(svg).iter(f"{SVG}rect")][1:]
    assert math.isclose(lengths[1] - lengths[0], lengths[2] - lengths[1], abs_tol=0.2)
    assert lengths[0] > 0
    assert set(bars) == {"back", "peer", "subject"}
    assert {"Title", "group", "a & b", "Keepset", "1x, <Keepset>", "10x, <c>"} <= set(texts(svg))
    assert len(list(drawn(svg).iter(f"{SVG}circle"))) == 2


def test_lines_have_their_names_and_the_values_on_the_axis(plots: ModuleType) -> None:
    curves = [
        plots.Line("Keepset", "subject", [(1, 5.0), (1000, 6.0)]),
        plots.Line("peer", "peer", [(1, 5.0), (10, 600.0)]),
    ]
    svg = plots.lines("Title", "shards", "ms", curves)
    assert {"Title", "shards", "Keepset", "peer", "1", "10", "1k"} <= set(texts(svg))
    # Ours is drawn last, over the others.
    classes = [e.get("class") for e in drawn(svg).iter(f"{SVG}polyline")]
    assert classes == ["s-line0", "s-subject"]


def test_a_drawing_has_colours_for_light_and_dark_and_is_always_the_same(plots: ModuleType) -> None:
    curve = [plots.Line("Keepset", "subject", [(1, 5.0)])]
    svg = plots.lines("Title", "shards", "ms", curve)
    assert svg == plots.lines("Title", "shards", "ms", curve)
    light, dark = re.findall(r"\.back\{fill:(#\w+)\}", svg)
    assert light != dark
    assert svg.index("prefers-color-scheme:dark") > svg.index(light)


@given(places=st.dictionaries(st.text(max_size=2), st.floats(70, 376), min_size=1, max_size=20))
def test_names_beside_lines_never_overlap(places: dict[str, float]) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        apart = module("plots", monkeypatch)._apart(places, 15, 70, 376)
    found = sorted(apart.values())
    assert all(b - a >= 14.999 for a, b in itertools.pairwise(found))
    assert found[-1] <= 376.001
    # Whoever is above somebody else remains so.
    assert all(apart[a] < apart[b] for a in places for b in places if places[a] < places[b])


@given(low=st.floats(1e-6, 1e6), factor=st.floats(1.0, 1e6))
def test_an_axis_holds_its_values_and_has_some_ticks(low: float, factor: float) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        axis = module("plots", monkeypatch)._Axis.around([low, low * factor], 100, 500)
    assert all(99.9 <= axis.at(value) <= 500.1 for value in (low, low * factor))
    ticks = axis.ticks()
    assert 2 <= len(ticks) <= 13
    assert ticks == sorted(set(ticks))


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.05234, "0.0523"), (1, "1"), (999.4, "999"), (999.6, "1k"), (25_340_000, "25.3M")],
)
def test_figures_have_three_digits(plots: ModuleType, value: float, text: str) -> None:
    assert plots.compact(value) == text


def test_jobs_that_were_measured_later_are_named(page: Any) -> None:
    jobs: Any = SNAPSHOT["jobs"]
    first, *rest = jobs
    later = SNAPSHOT | {"jobs": [first | {"finished": "2026-01-03T00:00:00+00:00"}, *rest]}
    text = page.machine_section({"snapshot": later})
    assert text.endswith(f". Measured again later, by themselves: {first['name']}")
    assert "Measured again" not in page.machine_section({"snapshot": SNAPSHOT})
