"""FileHashes: what is in files, as hashes computed by threads that can be stopped at any time."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import xxhash

from keepset.core.dtypes import Array

HASH = "xxh3_128"
HASH_BYTES = 16
_PIECE_BYTES = 1 << 20
# Something that has become a pipe since it was looked at must not keep the thread waiting.
_HOW_TO_OPEN = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
# Threads that take turns with Python's lock slow each other down by more than the work takes. So a
# gentle one rests so many times as long as it has worked.
_WORK_S, _REST = 0.001, 4
# Hashing is faster than a disk; a few threads keep the disk busy.
_MOST_THREADS = 8


class FileHashes:
    """The hashes of files by number, as far as they were computed.

    A file that cannot be read has none: nobody fails because of it.

    Attributes:
        known: Which files have a hash.
        hashes: A row of 16 bytes for each file.
    """

    def __init__(self, count: int, path_of: Callable[[int], str]) -> None:
        self._path_of = path_of
        self.known: Array = np.zeros(count, bool)
        self.hashes: Array = np.zeros((count, HASH_BYTES), np.uint8)
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._hurries = threading.Event()
        self._threads: list[threading.Thread] = []

    def compute(self, numbers: Iterable[int], go_on: Callable[[int], bool] | None = None) -> None:
        """Hash these files now, several at once.

        ``go_on`` is told of each file that was tried, and may end it all by saying False.
        """
        try:
            self.start(numbers, min(_MOST_THREADS, os.cpu_count() or 1), go_on)
            self.wait()
        finally:
            self.stop()

    def start(
        self,
        numbers: Iterable[int],
        threads: int = 1,
        go_on: Callable[[int], bool] | None = None,
        gently: bool = False,
    ) -> None:
        """Begin to hash these files; ``numbers`` is read by the threads, and once at the least.

        ``gently`` leaves most of the time to others, until somebody calls ``hurry``.
        """
        self.stop()
        self._stopped.clear()
        if gently:
            self._hurries.clear()
        waiting = iter(numbers)
        for _ in range(threads):
            thread = threading.Thread(
                target=self._run, args=(waiting, go_on), name="keepset-hashing", daemon=True
            )
            try:
                thread.start()
            except RuntimeError:  # the system has no more of them
                if not self._threads:
                    self._run(waiting, go_on)
                break
            self._threads.append(thread)

    def hurry(self) -> None:
        """Be gentle no more: somebody waits for it."""
        self._hurries.set()

    def wait(self, timeout_s: float | None = None) -> None:
        """Wait until all is hashed; for each thread at most so long."""
        for thread in self._threads:
            thread.join(timeout_s)

    def stop(self) -> None:
        """Stop at once; what is known stays."""
        self._stopped.set()
        self._hurries.set()
        self.wait()
        self._threads = []

    def _run(self, waiting: Iterator[int], go_on: Callable[[int], bool] | None) -> None:
        buffer = memoryview(bytearray(_PIECE_BYTES))
        rested_at_s = time.thread_time()
        while True:
            with self._lock:
                number = next(waiting, None)
            if number is None or self._stopped.is_set():
                return
            if not self.known[number]:
                self._hash(number, buffer)
            if go_on is not None and not go_on(number):
                self._stopped.set()
            if not self._hurries.is_set():
                worked_s = time.thread_time() - rested_at_s
                if worked_s > _WORK_S:
                    self._hurries.wait(_REST * worked_s)
                    rested_at_s += worked_s

    def _hash(self, number: int, buffer: memoryview) -> None:
        state = xxhash.xxh3_128()
        try:
            # Half the time that open() takes, which counts where files are small and many.
            file = os.open(self._path_of(number), _HOW_TO_OPEN)
            try:
                while size := os.readv(file, [buffer]):
                    if self._stopped.is_set():
                        return
                    state.update(buffer[:size])
            finally:
                os.close(file)
        except OSError:
            return  # it stays unknown
        self.hashes[number] = np.frombuffer(state.digest(), np.uint8)
        self.known[number] = True
