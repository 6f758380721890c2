"""The nursery: workers are forks of a process that did nothing, and look like fresh ones."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keepset as ks
from keepset.testing.resources import nothing_left_behind
from keepset.workers import nursery as nursery_module
from keepset.workers.nursery import belongings, close_nursery, start_process
from keepset.workers.nursing import HEADER, MADE, START, STATUS, Nursing

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere workers are not forked")


@pytest.fixture(autouse=True)
def a_nursery_of_its_own() -> Iterator[None]:
    close_nursery()
    yield
    close_nursery()


def told(function: Callable[[], str], count: int = 2) -> list[str]:
    """What a function says in each of several workers."""
    with tempfile.TemporaryDirectory() as folder:

        def say(x: Any) -> str:
            (Path(folder) / str(x)).touch()
            deadline = time.monotonic() + 60
            # Until all of them are at work: one worker must not do it all.
            while len(os.listdir(folder)) < count and time.monotonic() < deadline:
                time.sleep(0.002)
            return function()

        ds = ks.Dataset.range(count).map(say, num_parallel_calls=count, executor="process")
        return [text.decode() for text in ds]


def nursery() -> int:
    found = belongings()
    assert found is not None
    return found[0]


def test_workers_of_all_passes_come_from_one_process() -> None:
    parents = {*told(lambda: str(os.getppid())), *told(lambda: str(os.getppid()))}
    assert parents == {str(nursery())}
    workers = told(lambda: str(os.getpid()))
    assert len({*workers, str(nursery()), str(os.getpid())}) == 4


def test_a_worker_is_in_the_same_place_as_whoever_starts_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told(lambda: "")
    (tmp_path / "just_written.py").write_text("ANSWER = 'found'\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JUST_SET", "1 \udcff")
    monkeypatch.delenv("PATH")
    monkeypatch.syspath_prepend(tmp_path)

    def place() -> str:
        import just_written  # type: ignore[import-not-found]

        found = just_written.ANSWER, os.getcwd(), os.environb[b"JUST_SET"], "PATH" in os.environ
        return repr(found)

    assert told(place, 1) == [repr(("found", str(tmp_path), b"1 \xff", False))]


def test_a_folder_that_is_gone_does_no_harm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    (tmp_path / "gone").rmdir()
    assert told(lambda: "alive", 1) == ["alive"]


def test_a_fork_that_fails_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails() -> int:
        raise BlockingIOError("too many processes")

    ours, theirs = socket.socketpair()
    told, tells = os.pipe()
    before = signal.getsignal(signal.SIGCHLD)
    try:
        nursing = Nursing(theirs)
        monkeypatch.setattr(os, "fork", fails)
        body = json.dumps({"number": 0}).encode()
        socket.send_fds(ours, [HEADER.pack(START, len(body)) + body], [tells])
        os.close(tells)
        nursing.answer()
        assert os.read(told, 100) == MADE + STATUS.pack(os.EX_OSERR)
        assert os.read(told, 100) == b""  # nobody else holds the other end
        assert "too many processes" in capsys.readouterr().err
    finally:
        signal.signal(signal.SIGCHLD, before)
        os.close(signal.set_wakeup_fd(-1))
        os.close(nursing.woken)
        os.close(told)
        ours.close()
        theirs.close()


def test_a_worker_has_the_cores_of_now() -> None:
    told(lambda: "")
    cores = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(cores)})
        assert told(lambda: str(os.sched_getaffinity(0)), 1) == [str({min(cores)})]
    finally:
        os.sched_setaffinity(0, cores)


def test_a_worker_prints_to_where_we_print_now(capfd: pytest.CaptureFixture[str]) -> None:
    def shout() -> str:
        print("here", flush=True)
        return ""

    told(lambda: "")
    told(shout, 1)
    assert capfd.readouterr().out == "here\n"


def test_output_that_is_closed_does_no_harm() -> None:
    saved = os.dup(1)
    try:
        os.close(1)
        assert told(lambda: "alive", 1) == ["alive"]
    finally:
        os.dup2(saved, 1)
        os.close(saved)


def test_a_request_that_was_cut_off_harms_no_later_one(monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted(BaseException):
        pass

    class Cut(socket.socket):
        def sendall(self, data: Any, flags: int = 0) -> None:
            raise Interrupted

    told(lambda: "")
    before = nursery_module._open[os.getpid()]
    whole, before._ours = before._ours, Cut(fileno=before._ours.detach())
    assert whole.fileno() < 0
    with pytest.raises(Interrupted):
        start_process([], [])
    assert told(lambda: "alive", 1) == ["alive"]
    assert nursery() != before.pid


def test_a_worker_holds_no_files_of_others() -> None:
    def files() -> str:
        links = (f"/proc/self/fd/{fd}" for fd in sorted(os.listdir("/proc/self/fd"), key=int))
        kinds = (os.readlink(link).partition(":")[0] for link in links if os.path.exists(link))
        return " ".join(sorted(kinds))

    first, *others = told(files, 4)
    assert others == [first] * 3
    assert first.split().count("socket") == 1


def test_workers_draw_different_numbers() -> None:
    draws = told(lambda: f"{random.random()} {np.random.default_rng().random()}", 4)
    legacy = told(lambda: str(np.random.random()), 4)
    assert len({*draws}) == len({*legacy}) == 4


def test_a_nursery_that_was_killed_is_started_anew() -> None:
    told(lambda: "")
    before = nursery()
    os.kill(before, signal.SIGKILL)
    assert len(told(lambda: str(os.getpid()))) == 2
    assert nursery() != before


def test_workers_go_on_without_it() -> None:
    ds = ks.Dataset.range(100).map(lambda x: x + 1, num_parallel_calls=2, executor="process")
    iterator = iter(ds)
    assert int(next(iterator)) == 1
    os.kill(nursery(), signal.SIGKILL)
    assert [int(x) for x in iterator] == list(range(2, 101))


def test_a_worker_that_dies_without_it_is_reported_all_the_same() -> None:
    def dies(x: Any) -> Any:
        os.kill(os.getppid(), signal.SIGKILL)
        # The signal is under way: what gets it runs no further, however long its end takes.
        time.sleep(0.2)
        os._exit(1)

    with pytest.raises(ks.WorkerDiedError, match="was lost at element 0"):
        list(ks.Dataset.range(3).map(dies, num_parallel_calls=1, executor="process"))


def test_a_fork_of_ours_has_one_of_its_own() -> None:
    told(lambda: "")
    ours = nursery()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            parents = told(lambda: str(os.getppid()))
            code = 0 if {*parents} == {str(nursery())} != {str(ours)} else 2
            close_nursery()
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert {*told(lambda: str(os.getppid()))} == {str(ours)}


def test_threads_of_blas_are_not_forked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    assert {*told(lambda: str(os.getppid()))} == {str(os.getpid())}
    assert belongings() is None
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert {*told(lambda: str(os.getppid()))} == {str(nursery())}


def test_nothing_else_is_left_behind() -> None:
    with nothing_left_behind():
        told(lambda: "")
    assert belongings() is not None
