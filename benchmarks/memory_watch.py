"""Watch: the most memory that this process has in use while something runs."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from pathlib import Path

_EVERY_S = 0.01


def status_mb(name: str) -> float:
    """A line of ``/proc/self/status``, such as ``RssAnon``."""
    with open("/proc/self/status") as lines:
        for line in lines:
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) / 1024
    raise SystemExit(f"error: this system does not tell {name}; run this on Linux")


class Watch:
    """Notes the most anonymous memory, which it looks at a hundred times a second.

    Pages of mapped files are the system's cache, which takes them back when it needs them: they
    are in ``resident_mb`` alone, the most that was resident of either kind.
    """

    def __enter__(self) -> Watch:
        # Forgets what the process had before; where that is not allowed, the figure is too high.
        with suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")
        self.first_mb = self.most_mb = status_mb("RssAnon")
        self._began = time.perf_counter()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()
        return self

    def _look(self) -> None:
        while not self._stop.wait(_EVERY_S):
            self.most_mb = max(self.most_mb, status_mb("RssAnon"))

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self.most_mb = max(self.most_mb, status_mb("RssAnon"))
        self.resident_mb = status_mb("VmHWM")
        self.seconds = time.perf_counter() - self._began
