"""Write docs/benchmarks.md and its drawings from benchmarks/results.

    python benchmarks/page.py           write the page
    python benchmarks/page.py --check   say whether the page is what the results give

Why goals are missed is told by hand in ``explanations.md``: ``## W1`` is about all jobs of W1, and
``## * lz4`` about those with LZ4; of several the longest counts.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from plots import Bar, Group, Line, Role, bars, compact, lines

HERE, DOCS = Path(__file__).parent, Path(__file__).parents[1] / "docs"
KEEPSET, BEST_PEER, A_SECOND = "keepset", "best peer", "a second"
BY_HAND = ("numpy", "numpy durable", "arrow", "codec", "generators", "inlined", "own library")
LIMITS = (*BY_HAND, "cat", "memcpy", "import numpy, pyarrow")
NAMES = {"keepset": "Keepset", "numpy": "NumPy", "arrow": "Arrow by hand", "codec": "codec alone"}
SOURCES = {  # by the name of the file: what it is about, and the command that makes it
    "pipeline": ("Pipelines", "make bench"),
    "snapshot": ("Kept data", "make bench-kept"),
    "tensorflow_files": ("TensorFlow's files", "python benchmarks/tensorflow_files.py"),
    "doors": ("Other people's files and frameworks", "python benchmarks/doors.py"),
    "scaling": ("Scaling", "python benchmarks/scaling.py"),
}
HEAD = "# Benchmarks\n\nWritten by `python benchmarks/page.py` from `benchmarks/results`."
MEASURED = """## How it is measured

Every tool runs in a process of its own, while the others are stopped. One that gives wrong elements
has no figure. They take turns, in rounds. Figures are medians of the rounds, in elements per second
if no unit is given; the spread is Keepset's slowest and fastest round. A ratio is Keepset's figure
over the other's: of rates, the median of the ratios of each round. The limit is what NumPy, Arrow,
a codec or generators give by hand, without any library: what a goal names, or else the best."""


class Goal(NamedTuple):
    """What is asked, as "≥ 0.8x NumPy", beside whom, and what is wrong, empty if it is met."""

    asked: str
    against: str
    miss: str


@dataclass(frozen=True)
class Row:
    """Everybody's figures of one operation; ``to`` has our ratio to each, and to the best peer."""

    heading: str
    name: str
    label: str
    values: dict[str, float]
    to: dict[str, float]
    goals: list[Goal]
    unit: str = ""
    less_is_better: bool = False
    spread: str = "-"
    failures: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def peer(self) -> str:
        return best(self.values, "peer", self.less_is_better)

    @property
    def limit(self) -> str:
        named = {g.against: self.values[g.against] for g in self.goals if g.against in self.values}
        found = [best(values, "yardstick", self.less_is_better) for values in (named, self.values)]
        return found[0] or found[1]

    @property
    def complaint(self) -> str:
        return self.failures.get(KEEPSET) or "; ".join(g.miss for g in self.goals if g.miss)

    def figure(self, name: str) -> str:
        return compact(self.values[name]) + self.unit if name in self.values else "-"

    def ratio(self, name: str) -> str:
        return compact(self.to[name]) + "x" if name in self.to else "-"


def role_of(contender: str) -> Role:
    return "subject" if contender == KEEPSET else "yardstick" if contender in LIMITS else "peer"


def called(contender: str, text: str = "") -> str:
    return text if text == "-" else f"{text} {NAMES.get(contender, contender)}".strip()


def best(values: Mapping[str, float], role: Role, less_is_better: bool) -> str:
    """Who has the best value of those with that role; empty if nobody has."""
    found = sorted((value, name) for name, value in values.items() if role_of(name) == role)
    return found[0 if less_is_better else -1][1] if found else ""


def goal_of(against: str, found: float, asked: Mapping[str, Any], unit: str, where: str) -> Goal:
    most, least = asked.get("maximum"), asked.get("minimum")
    missed = (most is not None and found > most) or (least is not None and found < least)
    text = called(against, f"≥ {least:.4g}{unit}" if most is None else f"≤ {most:.4g}{unit}")
    return Goal(text + where, against, f"{found:.4g}{unit}, goal {text}{where}" if missed else "")


def job_row(job: Mapping[str, Any]) -> Row:
    """Names are as "W1 lz4 batches" where texts are as "images, LZ4: batches", or anything else."""
    name, (data, _, operation) = job["name"], job["what"].rpartition(": ")
    kind = name.removesuffix(f" {operation}")
    heading, label = (f"{kind}: {data}", operation) if kind != name else ("", name)
    measured = {m["contender"]: m for m in job["measurements"]}
    rates = {n: m["elements_per_s"] for n, m in measured.items() if "elements_per_s" in m}
    ours, goals = rates.get(KEEPSET), []
    for r in [r for r in job["ratios"] if r["goal"] is not None]:
        where = f" in {r['job']}" if r["job"] not in (None, name) else ""
        if r["against"] == A_SECOND:
            missed = f"{compact(r['ratio'])}, goal " if r["ratio"] < r["goal"] else ""
            text = f"≥ {compact(r['goal'])} {A_SECOND}"
            goals.append(Goal(text, "", missed and missed + text))
        else:
            goals.append(goal_of(r["against"], r["ratio"], {"minimum": r["goal"]}, "x", where))
    values = {n: rate["median"] for n, rate in rates.items()}
    plain = [r for r in job["ratios"] if r["job"] is None and r["against"] != A_SECOND]
    to = {r["against"]: r["ratio"] for r in plain}
    spread = f"{compact(ours['min'])} to {compact(ours['max'])}" if ours else "-"
    failed = {n: m for n, m in measured.items() if m["status"] not in ("ok", "not offered")}
    # Only the kind of failure: the rest of its text may name places on the machine.
    failures = {n: m["status"].partition(" (")[0] for n, m in failed.items()}
    notes = [] if heading else [f"- {name}: {job['what']}"]
    notes += [f"- {name}, {called(n)}: {m['note']}" for n, m in measured.items() if m.get("note")]
    return Row(heading, name, label, values, to, goals, "", False, spread, failures, notes)


def figure_row(group: Sequence[Mapping[str, Any]]) -> Row:
    """A row of what is no rate: sizes, times to open, memory; the group has one operation."""
    name, what, unit = group[0]["name"], group[0]["what"], f" {group[0]['unit']}"
    label, _, kind = name.partition(": ")
    heading = f"{kind.capitalize()}: {what}" if kind else "Times"
    values = {f["contender"]: f["value"] for f in group if f["value"] is not None}
    asked = [f["goal"] for f in group if f.get("goal")]
    less = not unit.endswith("/s") and not any("minimum" in goal for goal in asked)
    known = values | {BEST_PEER: values.get(best(values, "peer", less))}
    ours, goals = values.get(KEEPSET), []
    to = {n: ours / v for n, v in known.items() if v and ours is not None and n != KEEPSET}
    for goal in asked:
        if (against := goal.get("against")) in to:
            goals.append(goal_of(against, to[against], goal, "x", ""))
        elif not against and ours is not None:
            goals.append(goal_of("", ours, goal, unit, ""))
    notes = [] if kind else [f"- {name}: {what}"]
    return Row(heading, name, label, values, to, goals, unit, less, notes=notes)


def missed_goals(rows: Sequence[Row], explanations: str) -> str:
    """Every missed goal with its explanation: a section with the first words of its name."""
    pieces = re.split(r"^## +(.+?) *$", explanations, flags=re.MULTILINE)
    reasons = {head: text.strip() for head, text in zip(pieces[1::2], pieces[2::2], strict=True)}
    found: dict[str, list[str]] = {}
    for row in [row for row in rows if row.complaint]:
        heads = [head for head in reasons if re.match(_pattern(head), row.name)]
        head = max(heads, key=len, default="")
        line = f"- **{row.name}**: {row.complaint}" + ("" if head else " (not yet explained)")
        found.setdefault(head, []).append(line)
    return "\n\n".join("\n".join([*found[h], "", reasons.get(h, "")]).strip() for h in found)


def _pattern(head: str) -> str:
    """What matches names that begin with these words; a * is any word."""
    return re.escape(head).replace(r"\*", "[^ ]+") + "([ ,:]|$)"


def goals_section(rows: Sequence[Row], explanations: str) -> str:
    goals, cells = [goal for row in rows for goal in row.goals], []
    for row in rows:
        asked = ", ".join(goal.asked for goal in row.goals) or "-"
        others = [called(name, row.figure(name)) for name in (row.limit, row.peer)]
        verdict = f"**no**: {row.complaint}" if row.complaint else "yes"
        cells.append([row.name, asked, *others, row.figure(KEEPSET), verdict])
    table = grid(["operation", "goal", "limit", BEST_PEER, "Keepset", "met?"], cells)
    failed = sum(KEEPSET in row.failures for row in rows)
    tally = f"{sum(not g.miss for g in goals)} of {len(goals)} goals are met; {failed} jobs failed."
    return "\n\n".join(["## Goals", tally, table, missed_goals(rows, explanations)]).strip()


def grid(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table, aligned to the right; nothing if there is only the column of names."""
    table = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in table) if len(head) > 1 else ""


def folded(summary: str, inside: str) -> str:
    return inside and f"<details><summary>{summary}</summary>\n\n{inside}\n\n</details>"


def tables(title: str, rows: Sequence[Row]) -> str:
    """A table with the yardsticks, the best peer and Keepset, and a folded one with every peer."""
    limits = [name for name in LIMITS if any(name in row.values for row in rows)]
    peers = dict.fromkeys(n for r in rows for n in r.values | r.failures if role_of(n) == "peer")
    main, every = [], []
    for row in rows:
        cells = [row.label, *map(row.figure, limits), called(row.peer, row.figure(row.peer))]
        ratios = [called(row.limit, row.ratio(row.limit)), row.ratio(BEST_PEER)]
        main.append([*cells, f"**{row.figure(KEEPSET)}**", *ratios, row.spread])
        every.append([row.label, *(row.failures.get(peer) or row.figure(peer) for peer in peers)])
    head = ["operation", *map(called, limits), BEST_PEER, "Keepset", "/ limit", "/ peer", "spread"]
    more = grid(["operation", *peers], every) + "\n\n" + "\n".join(n for r in rows for n in r.notes)
    return f"{grid(head, main)}\n\n{folded(f'{title}: all peers, notes', more.strip())}".strip()


def bar_chart(title: str, rows: Sequence[Row]) -> str:
    """Multiples of each row's limit, from the ratios of the tables; lesser peers are dots."""
    groups = []
    for row in rows:
        if (ours := row.to.get(row.limit or row.peer)) is not None:
            rates = {name: ours / row.to.get(name, 1.0) for name in row.values}
            shown = [name for name in (KEEPSET, *LIMITS, row.peer) if name in rates]
            drawn = [Bar(called(n), rates[n], role_of(n), f"{row.figure(n)}/s") for n in shown]
            dots = [rate for name, rate in rates.items() if name not in shown]
            groups.append(Group(row.label, drawn, dots))
    return bars(title, "Multiples of the limit, or of the best peer where there is none", groups)


def rows_section(title: str, rows: Sequence[Row], files: dict[str, str]) -> str:
    """Tables for each heading, and a drawing if they are rates."""
    parts, groups = [f"## {title}"], dict[str, list[Row]]()
    for row in rows:
        groups.setdefault(row.heading, []).append(row)
    for heading, group in groups.items():
        name, about = heading.partition(":")[0] or title, heading or title
        parts += [f"### {heading}"] if heading else []
        if not group[0].unit:
            path = f"benchmarks/{re.sub('[^a-z0-9]+', '-', name.lower().replace(chr(39), ''))}.svg"
            files[path] = bar_chart(about, group)
            parts.append(f"![Bars of {about}: the rates of the table below]({path})")
        parts.append(tables(name, group))
    return "\n\n".join(parts)


def scaling_section(curves: Sequence[Mapping[str, Any]], files: dict[str, str]) -> str:
    """For each curve a drawing of its figures that are not zero, and one of the memory."""
    parts = ["## Scaling"]
    for curve in curves:
        for key, unit in (("value", curve["unit"]), ("rss_anon_mb", "MB of anonymous memory")):
            points = [(p["contender"], p["x"], p[key]) for p in curve["points"] if p.get(key)]
            names = dict.fromkeys(name for name, _, _ in points)
            found = {name: {x: y for n, x, y in points if n == name} for name in names}
            title, x_name = f"{curve['name']}, {unit}", curve["x_name"]
            if found:
                path = f"benchmarks/scaling-{re.sub('[^a-z0-9]+', '-', title.lower())}.svg"
                drawn = [Line(called(n), role_of(n), sorted(found[n].items())) for n in names]
                files[path] = lines(curve["name"], x_name, unit, drawn)
                cells = {(n, x): compact(y) for n, x, y in points}
                xs = sorted({x for _, x, _ in points})
                rows = ([compact(x), *(cells.get((n, x), "-") for n in names)] for x in xs)
                table = grid([x_name, *map(called, names)], rows)
                parts += [f"![Lines of {title}, by {x_name}]({path})", folded(title, table)]
    return "\n\n".join(parts)


def machine_section(results: Mapping[str, Any]) -> str:
    parts = ["## Machine and versions\n"]
    for name, facts in results.items():
        m, known, run = facts["machine"], facts["versions"].values(), SOURCES[name][0]
        cores = f"{m['cpu']}, {m['cpus_usable']} cores, {m['memory_gib']} GiB, {m['system']}"
        finished = facts.get("finished", "undated")
        again = [
            job["name"] for job in facts.get("jobs", ()) if job.get("finished", finished) > finished
        ]
        later = f". Measured again later, by themselves: {', '.join(again)}" if again else ""
        day, settings = finished[:10], facts.get("settings", {}).items()
        rounds = [f", {n} {key.replace('_', ' ')}" for key, n in settings if "rounds" in key and n]
        versions = sorted({f"{library} {v}" for found in known for library, v in found.items()})
        parts.append(f"- **{run}**, {day}{''.join(rounds)}: {cores}; {', '.join(versions)}{later}")
    return "\n".join(parts)


def page(results: Mapping[str, Any], explanations: str) -> dict[str, str]:
    """All files of the page by their paths below docs; results are by name of file."""
    files: dict[str, str] = {}
    rows = {n: [job_row(job) for job in facts.get("jobs", ())] for n, facts in results.items()}
    figures = results.get("snapshot", {}).get("figures", ())
    names = dict.fromkeys(figure["name"] for figure in figures)
    other = [figure_row([f for f in figures if f["name"] == name]) for name in names]
    judged = [r for group in (*rows.values(), other) for r in group if r.goals or r.complaint]
    parts = [HEAD, machine_section(results), MEASURED, goals_section(judged, explanations)]
    for name, (title, command) in SOURCES.items():
        if name not in results:
            parts.append(f"## {title}\n\nNot measured yet: `{command}` makes `{name}.json`.")
        elif "curves" in results[name]:
            parts.append(scaling_section(results[name]["curves"], files))
        else:
            parts.append(rows_section(title, rows[name], files))
    parts += [rows_section("Sizes, times and memory", other, files)] if other else []
    return {"benchmarks.md": "\n\n".join(parts) + "\n"} | files


def main() -> None:
    kept = [path for name in SOURCES for path in HERE.glob(f"results/{name}.json")]
    results = {path.stem: json.loads(path.read_text()) for path in kept}
    files = page(results, "".join(path.read_text() for path in HERE.glob("explanations.md")))
    found = [*DOCS.glob("benchmarks.md"), *DOCS.glob("benchmarks/*.svg")]
    current = {path.relative_to(DOCS).as_posix(): path.read_text() for path in found}
    if "--check" in sys.argv:
        stale = [name for name in files | current if files.get(name) != current.get(name)]
        sys.exit("\n".join(f"docs/{name} is not what the results give" for name in stale) or None)
    for path in found:
        path.unlink()
    for name, text in files.items():
        (DOCS / name).parent.mkdir(exist_ok=True)
        (DOCS / name).write_text(text)


if __name__ == "__main__":
    main()
