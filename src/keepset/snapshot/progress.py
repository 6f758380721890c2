"""Progress of a long write: one line on a terminal that counts bytes which are safe on disk."""

from __future__ import annotations

import sys
import time

_INTERVAL_S = 0.1


class Progress:
    """Shows what was written. Silent unless it is wanted, or stderr is a terminal."""

    def __init__(self, title: str, elements: int, wanted: bool | None) -> None:
        self._title, self._elements = title, elements
        self._shows = sys.stderr.isatty() if wanted is None else wanted
        self._began = self._shown = time.monotonic()
        self._bytes = self._done = 0
        self._width = 0

    def add_durable(self, size_bytes: int) -> None:
        """Count bytes that would survive a power failure."""
        self._bytes += size_bytes

    def advance(self, elements: int) -> None:
        self._done += elements
        now = time.monotonic()
        if self._shows and now - self._shown > _INTERVAL_S:
            self._shown = now
            self._print(self._line(now - self._began))

    def _line(self, seconds: float) -> str:
        rate = self._bytes / max(seconds, 1e-9)
        text = f"{self._title}: {size_text(self._bytes)} kept, {size_text(rate)}/s"
        if self._elements > 0 and self._done:
            left = seconds * (self._elements / self._done - 1)
            text += f", {self._done / self._elements:.0%}, {max(left, 0):.0f} s left"
        else:
            text += f", {self._done:,} elements"
        return text

    def close(self, whole: bool) -> None:
        if self._shows:
            seconds = time.monotonic() - self._began
            ending = "done" if whole else "stopped"
            text = f"{self._title}: {ending}, {self._done:,} elements, {size_text(self._bytes)}"
            self._print(f"{text} in {seconds:.1f} s")
            sys.stderr.write("\n")

    def _print(self, text: str) -> None:
        self._width = max(self._width, len(text))
        sys.stderr.write("\r" + text.ljust(self._width))
        sys.stderr.flush()


def size_text(size_bytes: float) -> str:
    """A size for people: ``1.5 MB``."""
    for unit in ("B", "kB", "MB", "GB"):
        if size_bytes < 1000:
            return f"{size_bytes:.0f} {unit}" if unit == "B" else f"{size_bytes:.1f} {unit}"
        size_bytes /= 1000
    return f"{size_bytes:.1f} TB"
