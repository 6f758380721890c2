"""Autotuner: how many calls of a function to keep under way, found by measuring."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

AUTOTUNE: Final = -1

# Under this many seconds per row a hand-over costs more than it can win.
_CHEAP_ROW_S = 20e-6
_WINDOW_S = 0.1
_WINDOW_ROWS = 8
_WORTHWHILE_GAIN = 1.15
MOST_THREADS = 32


class Autotuner:
    """Climbs while more calls at once give more rows per second, and stays where they do not.

    A fixed number of calls is kept as it is, but for functions so cheap that they are called
    in line.
    """

    def __init__(
        self,
        calls: int,
        cores: int,
        most: int = MOST_THREADS,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._climbs = calls < 1
        self.level = cores if self._climbs else calls
        self.most = max(cores, most) if self._climbs else calls
        self.in_line = False
        self._clock = clock
        self._row_s: float | None = None
        self._best_rate = 0.0
        self._settled = not self._climbs
        self._begin_window()

    def _begin_window(self) -> None:
        self._window_began, self._rows, self._waited_s = self._clock(), 0, 0.0

    def waited(self, seconds: float) -> None:
        """The consumer had to wait: the workers are what limits the rate."""
        self._waited_s += seconds

    def finished(self, rows: int, seconds: float) -> None:
        """A group of rows has been computed in so many seconds."""
        if not rows:
            return
        row_s = seconds / rows
        self._row_s = row_s if self._row_s is None else 0.7 * self._row_s + 0.3 * row_s
        self._rows += rows
        # Two thresholds, so that a function near the limit does not flip back and forth.
        self.in_line = self._row_s < (_CHEAP_ROW_S if not self.in_line else 2 * _CHEAP_ROW_S)
        if not self._settled:
            self._climb()

    def _climb(self) -> None:
        elapsed = self._clock() - self._window_began
        if elapsed < _WINDOW_S or self._rows < max(_WINDOW_ROWS, 2 * self.level):
            return
        rate, limited = self._rows / elapsed, self._waited_s > 0.1 * elapsed
        self._begin_window()
        if not limited:
            return
        if rate > self._best_rate * _WORTHWHILE_GAIN:
            self._best_rate = rate
            if self.level < self.most:
                self.level = min(2 * self.level, self.most)
                return
        else:
            self.level = max(1, self.level // 2)
        self._settled = True
