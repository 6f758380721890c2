"""Stamps: one for each object, never given again, from any thread, and nothing is held for long."""

from __future__ import annotations

import gc
import os
import threading
import weakref
from typing import Any

import numpy as np
import pytest

from keepset.core.fingerprint import stamps


class Box:
    """Takes a weak reference."""


class Slot:
    """Takes none, and holds itself and one that does."""

    __slots__ = ("box", "itself")

    def __init__(self) -> None:
        self.itself, self.box = self, Box()


def stamp_of(value: Any) -> bytes:
    return stamps.stamps_of({id(value): value}, [id(value)])[id(value)]


@pytest.mark.parametrize("make", [list, dict, Box, lambda: np.zeros(3), set, Slot])
def test_no_stamp_is_given_twice(make: Any) -> None:
    seen = set()
    for _ in range(50):
        value = make()
        assert stamp_of(value) == stamp_of(value)
        seen.add(stamp_of(value))
        del value  # the next one may have its id
    assert len(seen) == 50


def test_what_nothing_else_holds_is_let_go() -> None:
    box = Box()
    gone = weakref.ref(box)
    held = [box]
    stamp_of(held)
    del held, box
    stamps.stamps_of({}, ())
    assert gone() is None


def test_what_leads_to_itself_is_held_in_small_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stamps, "_MOST_HELD", 5)
    boxes = []
    for _ in range(20):
        slot = Slot()
        boxes.append(weakref.ref(slot.box))
        stamp_of(slot)
        del slot
    gc.collect()
    assert sum(each() is not None for each in boxes) <= 6


def test_all_of_one_pipeline_keep_their_stamps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stamps, "_MOST_HELD", 5)
    lists: list[list[int]] = [[] for _ in range(50)]
    values = {id(each): each for each in lists}
    assert stamps.stamps_of(values, values) == stamps.stamps_of(values, values)


def test_threads_get_the_same_stamps() -> None:
    lists: list[list[int]] = [[] for _ in range(20)]
    values = {id(each): each for each in lists}
    found: list[dict[int, bytes]] = []

    def ask() -> None:
        for _ in range(300):
            own = [[] for _ in range(5)]  # type: ignore[var-annotated]
            stamps.stamps_of({id(each): each for each in own}, map(id, own))
        found.append(stamps.stamps_of(values, values))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [found[0]] * 4


def test_a_child_does_not_wait_for_a_thread_of_its_parent() -> None:
    with stamps._lock:
        child = os.fork()
        if child == 0:
            thread = threading.Thread(target=stamp_of, args=([],), daemon=True)
            thread.start()
            thread.join(30)
            os._exit(thread.is_alive())
        assert os.waitpid(child, 0)[1] == 0
