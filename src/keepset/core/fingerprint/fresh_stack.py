"""Fresh stack: walks over deep syntax that end the same however deep their caller's stack is."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import TypeVar

T = TypeVar("T")

# Syntax nested deeper is walked on a stack of its own. Each level takes some four frames.
_DEEP = 50
_FRAMES = 400


def on_stack_for(node: ast.AST, find: Callable[[], T]) -> T:
    """What ``find`` says of syntax, for which it may use as many frames as there are levels.

    Where it gives up, because the stack ends, then depends on the syntax alone.
    """
    if not _is_deep(node) and not _is_stack_deep():
        return find()
    found: Future[T] = Future()
    # No executor: to import those is refused once the main thread has ended, and a thread that
    # goes on may begin its first pass only then.
    thread = Thread(target=_settle, args=(found, find))
    thread.start()
    thread.join()
    return found.result()


def _settle(found: Future[T], find: Callable[[], T]) -> None:
    try:
        found.set_result(find())
    except BaseException as error:
        found.set_exception(error)


def _is_deep(node: ast.AST) -> bool:
    level = [node]
    for _ in range(_DEEP):
        level = [inner for each in level for inner in ast.iter_child_nodes(each)]
        if not level:
            return False
    return True


def _is_stack_deep() -> bool:
    try:
        sys._getframe(max(0, sys.getrecursionlimit() - _FRAMES))
    except ValueError:
        return False
    return True
