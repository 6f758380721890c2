"""Cached properties are computed once for each instance, and no instance waits for another."""

from __future__ import annotations

import threading

from keepset.core.cached import cached_property


def test_no_instance_waits_for_another() -> None:
    begun, over = threading.Event(), threading.Event()

    class Slow:
        def __init__(self, waits: bool) -> None:
            self.waits = waits

        @cached_property
        def value(self) -> list[int]:
            if self.waits:
                begun.set()
                assert over.wait(20)
            return [1]

    slow, other = Slow(waits=True), Slow(waits=False)
    thread = threading.Thread(target=lambda: slow.value)
    thread.start()
    assert begun.wait(20)
    assert other.value is other.value == [1]
    over.set()
    thread.join()
    assert slow.value is slow.value == [1]
