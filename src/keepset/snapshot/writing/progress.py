"""Progress of a long write: one line on a terminal that counts bytes which are safe on disk."""

from __future__ import annotations

import shutil
import sys
import time

from keepset.core.size_text import size_text

_INTERVAL_S = 0.1
_WIDEST_BAR, _NARROWEST_BAR = 24, 6
_SHORTEST_TITLE = 12


class Progress:
    """Shows what was written. Silent unless it is wanted, or stderr is a terminal."""

    def __init__(self, title: str, elements: int, wanted: bool | None) -> None:
        self._title, self._elements = title, elements
        self._shows = sys.stderr.isatty() if wanted is None else wanted
        self._began = self._shown = time.monotonic()
        self._bytes = self._done = 0

    def add_durable(self, size_bytes: int) -> None:
        """Count bytes that would survive a power failure."""
        self._bytes += size_bytes

    def advance(self, elements: int) -> None:
        self._done += elements
        now = time.monotonic()
        if self._shows and now - self._shown > _INTERVAL_S:
            self._shown = now
            self._print(*self._figures(now - self._began))

    def close(self, whole: bool) -> None:
        if self._shows:
            took = time_text(time.monotonic() - self._began)
            ending = "done" if whole else "stopped"
            figures = f"{ending}, {self._done:,} elements, {size_text(self._bytes)} in {took}"
            self._print(figures, None)
            sys.stderr.write("\n")

    def _figures(self, seconds: float) -> tuple[str, float | None]:
        """What to say, and how much is done, if that is known."""
        kept = f"{size_text(self._bytes)} kept, {size_text(self._bytes / max(seconds, 1e-9))}/s"
        if self._elements <= 0:
            return f"{self._done:,} elements, {kept}", None
        share = min(self._done / self._elements, 1.0)
        left = f", {time_text(seconds * (1 / share - 1))} left" if share else ""
        return f"{share:4.0%}, {kept}{left}", share

    def _print(self, figures: str, share: float | None) -> None:
        line = _line(self._title, figures, share, shutil.get_terminal_size().columns - 1)
        # What an earlier line was longer by is wiped out.
        sys.stderr.write(f"\r{line}\x1b[K" if sys.stderr.isatty() else f"\r{line}")
        sys.stderr.flush()


def _line(title: str, figures: str, share: float | None, columns: int) -> str:
    """As much as fits: a line that wraps could not be written over."""
    room = columns - len(figures) - 2
    bar = ""
    if share is not None:
        width = min(_WIDEST_BAR, room - _SHORTEST_TITLE - 1)
        if width >= _NARROWEST_BAR:
            done = round(share * width)
            bar = "█" * done + "░" * (width - done) + " "
    room -= len(bar)
    if len(title) > room:
        # The end of a path says more than its beginning.
        title = f"…{title[len(title) - room + 1 :]}" if room >= _SHORTEST_TITLE else ""
    return (f"{title}: {bar}{figures}" if title else f"{bar}{figures}")[: max(columns, 1)]


def time_text(seconds: float) -> str:
    """A duration for people: ``4.2 s``, ``3 min 20 s``, ``2 h 5 min``."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 100:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"
