"""Progress of a long write: one line, on a terminal or in a notebook, that moves while it runs."""

from __future__ import annotations

import builtins
import os
import shutil
import sys
import time

from keepset.core.size_text import size_text

_INTERVAL_S = 0.1
_WIDEST_BAR, _NARROWEST_BAR = 24, 6
_SHORTEST_TITLE = 12


class Progress:
    """Shows what was written.

    Args:
        title: What the line begins with.
        elements: How many there are in all; negative if that is not known.
        wanted: Whether to show it. None asks ``KEEPSET_PROGRESS`` (0 or 1), and shows it on a
            terminal and in a notebook if that is not set.
        done: How many elements were there before.
        delay_s: Nothing is shown of what takes less.
    """

    def __init__(
        self,
        title: str,
        elements: int,
        wanted: bool | None,
        *,
        done: int = 0,
        delay_s: float = 0.0,
    ) -> None:
        self._title, self._elements = title, elements
        self._shows = is_wanted() if wanted is None else wanted
        self._began = time.monotonic()
        # The first line comes after the delay, and a last line only behind another one.
        self._next, self._has_shown = self._began + max(delay_s, _INTERVAL_S), not delay_s
        self._bytes, self._done, self._before = 0, done, done
        self._width = 0

    def add_written(self, size_bytes: int) -> None:
        """Count bytes that were handed to the disk or the store."""
        self._bytes += size_bytes

    def set_written(self, size_bytes: int) -> None:
        """Say how many bytes that are in all."""
        self._bytes = size_bytes

    def advance(self, elements: int) -> None:
        self._done += elements
        if self._shows and (now := time.monotonic()) > self._next:
            self._next, self._has_shown = now + _INTERVAL_S, True
            self._print(*self._figures(now - self._began))

    def close(self, whole: bool) -> None:
        if self._shows and self._has_shown:
            self._shows = False
            took = time_text(time.monotonic() - self._began)
            ending = "done" if whole else "stopped"
            figures = f"{ending}, {self._done:,} elements, {size_text(self._bytes)} in {took}"
            self._print(figures, None)
            self._write("\n")

    def _figures(self, seconds: float) -> tuple[str, float | None]:
        """What to say, and how much is done, if that is known."""
        rate = size_text(self._bytes / max(seconds, 1e-9))
        written = f"{self._done:,} elements, {size_text(self._bytes)} written, {rate}/s"
        if self._elements <= 0:
            return written, None
        share = min(self._done / self._elements, 1.0)
        new, left = self._done - self._before, max(self._elements - self._done, 0)
        ending = f", {time_text(seconds / new * left)} left" if new else ""
        return f"{share:4.0%}, {written}{ending}", share

    def _print(self, figures: str, share: float | None) -> None:
        line = _line(self._title, figures, share, shutil.get_terminal_size().columns - 1)
        # What an earlier line was longer by is wiped out.
        rest = "\x1b[K" if _is_terminal() else " " * (self._width - len(line))
        self._width = len(line)
        self._write(f"\r{line}{rest}")

    def _write(self, text: str) -> None:
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except (OSError, ValueError, AttributeError):
            self._shows = False  # a terminal that is gone is no reason to stop


def is_wanted() -> bool:
    """Whether a person looks: at a terminal, or at a notebook."""
    chosen = os.environ.get("KEEPSET_PROGRESS", "")
    if chosen:
        return chosen != "0"
    # IPython says where it is; it is not imported for that.
    shell = getattr(builtins, "get_ipython", lambda: None)()
    # Colab and others have shells that are made of it, under names of their own.
    is_notebook = any(kind.__name__ == "ZMQInteractiveShell" for kind in type(shell).__mro__)
    return is_notebook or _is_terminal()


def _is_terminal() -> bool:
    try:
        return sys.stderr is not None and sys.stderr.isatty()
    except (OSError, ValueError):
        return False  # it is closed


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
        words = title.rpartition(" ")[0]
        words = f"{words} " if words and len(words) + _SHORTEST_TITLE < room else ""
        left = room - len(words)
        title = f"{words}…{title[len(title) - left + 1 :]}" if room >= _SHORTEST_TITLE else ""
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
