"""Tally: how much the harness has tried, for people and as a line of JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from tests.faults.tally import note_counts


@dataclass
class CutTally:
    """Counts over scenarios. ``known`` are violations of scenarios that are expected to fail."""

    scenarios: int = 0
    calls: int = 0
    states: int = 0
    distinct_states: int = 0
    opened: int = 0
    written_on: int = 0
    second_cuts: int = 0
    violations: int = 0
    known_violations: int = 0

    def add(self, other: CutTally) -> None:
        for name, value in asdict(other).items():
            setattr(self, name, getattr(self, name) + value)

    def __str__(self) -> str:
        counts = (f"{value:,} {name.replace('_', ' ')}" for name, value in asdict(self).items())
        return f"power cut: {', '.join(counts)}"

    def write(self) -> None:
        """Add a line to the file that KEEPSET_TALLY names, if it names one."""
        note_counts("power cut", asdict(self))
