"""Pace: how many elements to ask for at once."""

from __future__ import annotations

# The size asked for doubles while a read stays under these limits, so that a cheap pipeline costs
# tens of nanoseconds per element, an expensive one is never run ahead of its consumer, and what was
# read is still in the processor's cache when it is used.
_QUICK_READ_S = 0.001
_LARGEST_READ = 4096
_LARGEST_READ_BYTES = 1 << 20


class Pace:
    """Begins with one element and asks for more while that is quick and small."""

    def __init__(self, may_run_ahead: bool) -> None:
        self.size = 1
        self._limit = _LARGEST_READ if may_run_ahead else 1

    def adapt(self, seconds: float, size_bytes: int) -> None:
        """Learn from a read that took so long, and so much memory."""
        if self._limit == 1:
            return
        if seconds > _QUICK_READ_S or size_bytes > _LARGEST_READ_BYTES:
            self.size = max(1, self.size // 2)
        elif size_bytes <= _LARGEST_READ_BYTES // 2:
            growth = 2 if seconds > _QUICK_READ_S / 8 else 4
            self.size = min(self.size * growth, self._limit)
