"""Turn a run into ratios and goals, a plain table, and JSON to keep."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from figures import Figure
from harness import A_SECOND, BEST_PEER, Contender, Goal, Job, Run, short


@dataclass(frozen=True)
class Ratio:
    """Our rate over somebody else's, or by itself; ``goal`` is None where nothing was promised."""

    against: str
    ratio: float
    goal: float | None
    job: str | None = None

    @property
    def missed(self) -> bool:
        return self.goal is not None and self.ratio < self.goal

    def __str__(self) -> str:
        is_rate = self.against == A_SECOND
        text = f"{self.ratio:.0f}x" if self.ratio >= 99.5 else f"{self.ratio:.2f}x"
        text = short(self.ratio) if is_rate else text
        if self.goal is None:
            return text
        goal = short(self.goal) if is_rate else f"{self.goal:g}"
        return f"{text} < {goal} !" if self.missed else f"{text} >= {goal}"


def ratios(job: Job, contenders: Sequence[Contender], run: Run, subject: str) -> list[Ratio]:
    """Compare the subject with each yardstick, with the best peer, and as the goals ask."""
    others = [c.name for c in contenders if c.role != "subject"]
    wanted = [*(Goal(name, 0.0) for name in others), Goal(BEST_PEER, 0.0)]
    promised = {(g.against, g.job): g.minimum for g in job.goals}
    wanted += [g for g in job.goals if g.job is not None or g.against == A_SECOND]
    found = []
    for goal in wanted:
        name = goal.job or job.name
        against = goal.against
        if against == BEST_PEER:
            against = best_peer(name, contenders, run)
        if against == A_SECOND:
            ratio = run.median(job.name, subject)
        else:
            ratio = run.ratio((job.name, subject), (name, against))
        if ratio is not None:
            minimum = promised.get((goal.against, goal.job))
            found.append(Ratio(goal.against, ratio, minimum, goal.job))
    return found


def best_peer(job: str, contenders: Sequence[Contender], run: Run) -> str:
    rates = [(run.median(job, c.name) or 0.0, c.name) for c in contenders if c.role == "peer"]
    rate, name = max(rates, default=(0.0, ""))
    return name if rate else ""


def table(
    jobs: Sequence[Job],
    contenders: Sequence[Contender],
    run: Run,
    subject: str,
    compared: Sequence[str],
) -> str:
    """Two plain tables: everybody's rates, then our ratios to ``compared`` with the goals."""
    names = [c.name for c in contenders]
    rates = [["elements/s", *names]]
    judged = [["ratio of " + subject, *(f"/ {name}" for name in compared), "best peer is", "goals"]]
    for job in jobs:
        rates.append([job.name, *(short(run.median(job.name, name)) for name in names)])
        found = ratios(job, contenders, run, subject)
        cells = {r.against: str(r) for r in found if r.job is None}
        missed = [r for r in found if r.missed]
        promised = [r for r in found if r.goal is not None]
        verdict = f"{len(missed)} MISSED" if missed else "met" if promised else "-"
        if not found:
            verdict = _status(job, run, subject)
        judged.append(
            [job.name]
            + [cells.get(name, "-") for name in compared]
            + [best_peer(job.name, contenders, run) or "-", verdict]
        )
        judged += [[f"  / {r.against}, {r.job}", str(r)] for r in found if r.job is not None]
        judged += [[f"  {A_SECOND}", str(r)] for r in found if r.against == A_SECOND]
    return aligned(rates) + "\n\n" + aligned(judged)


def _status(job: Job, run: Run, contender: str) -> str:
    return next((m.status for m in run.of(job.name) if m.contender == contender), "not run")


def aligned(rows: list[list[str]]) -> str:
    """Rows of cells as plain text, the first one underlined."""
    width = max(len(row) for row in rows)
    filled = [row + [""] * (width - len(row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(*filled, strict=True)]
    lines = ["  ".join(cell.ljust(w) for cell, w in zip(r, widths, strict=True)) for r in filled]
    lines.insert(1, "  ".join("-" * w for w in widths))
    return "\n".join(line.rstrip() for line in lines)


def missed_goals(
    jobs: Sequence[Job], contenders: Sequence[Contender], run: Run, subject: str
) -> list[str]:
    return [
        f"{job.name}: {str(ratio).removesuffix(' !')} / {ratio.against}"
        + (f" on {ratio.job}" if ratio.job else "")
        for job in jobs
        for ratio in ratios(job, contenders, run, subject)
        if ratio.missed
    ]


def keep(
    path: Path,
    topic: str,
    jobs: Sequence[Job],
    contenders: Sequence[Contender],
    run: Run,
    subject: str,
    figures: Sequence[Figure] = (),
) -> None:
    """Write the run as JSON, every round's seconds included."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    facts: dict[str, Any] = {
        "topic": topic,
        "finished": now,
        "machine": run.machine,
        "versions": run.versions,
        "settings": asdict(run.settings),
        "jobs": [
            {
                "name": job.name,
                "what": job.what,
                "elements": job.elements,
                "finished": now,
                "measurements": [m.as_json() for m in run.of(job.name)],
                "ratios": [
                    asdict(ratio) | {"missed": ratio.missed}
                    for ratio in ratios(job, contenders, run, subject)
                ],
            }
            for job in jobs
        ],
        "figures": [figure.as_json() for figure in figures],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(facts, indent=1) + "\n")


def renew(path: Path, newer: Path) -> None:
    """Take the jobs and figures of a newer run of a part into the results of a whole one.

    Everybody in a job was measured side by side, so jobs may be of different runs.
    """
    facts, new = json.loads(path.read_text()), json.loads(newer.read_text())
    for key, names in (("jobs", ("name",)), ("figures", ("name", "contender"))):
        found = {tuple(each[name] for name in names): each for each in new[key]}
        old = [tuple(each[name] for name in names) for each in facts[key]]
        facts[key] = [found.get(name, each) for name, each in zip(old, facts[key], strict=True)]
    path.write_text(json.dumps(facts, indent=1) + "\n")
