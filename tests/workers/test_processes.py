"""Worker processes: values cross unharmed, crashes are reported, nothing stays behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import types
from collections import namedtuple
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keepset as ks
from keepset.testing.resources import nothing_left_behind
from keepset.workers.nursery import belongings

Point = namedtuple("Point", ["x", "y"])


def in_processes(ds: ks.Dataset, function: Callable[..., Any], workers: int = 2) -> ks.Dataset:
    return ds.map(function, num_parallel_calls=workers, executor="process")


_others: set[int] = set()


def children() -> set[int]:
    """Our own processes and the workers, without the process that starts those."""
    nursery = belongings()
    found = children_of(os.getpid())
    if nursery is not None:
        found = found - {nursery[0]} | children_of(nursery[0])
    return found - _others


def children_of(pid: int) -> set[int]:
    """Children started by any thread of a process."""
    found: set[int] = set()
    for listed in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):  # the thread may have ended
            found.update(map(int, listed.read_text().split()))
    return found


@pytest.fixture(autouse=True)
def _only_own_children() -> None:
    """Other tests may keep a server running meanwhile."""
    _others.clear()
    _others.update(children())


def test_results_come_back_in_order_and_from_other_processes() -> None:
    ds = in_processes(ks.Dataset.range(200), lambda x: (x, os.getpid()))
    results = list(ds)
    assert [int(x) for x, _ in results] == list(range(200))
    assert os.getpid() not in {int(pid) for _, pid in results}


def test_every_kind_of_element_crosses_unharmed() -> None:
    elements: list[dict[str, Any]] = [
        {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": b"x\0\0", "c": np.int8(3)},
        {"a": np.zeros((0, 3), np.float32), "b": b"", "c": np.int8(-3)},
    ]
    ds = ks.Dataset.from_generator(lambda: iter(elements)).concatenate(
        ks.Dataset.from_generator(lambda: iter(elements))
    )
    got = list(in_processes(ds, lambda e: e))
    assert len(got) == 4
    for one, other in zip(got, elements * 2, strict=True):
        assert one["a"].dtype == np.float32
        assert np.array_equal(one["a"], other["a"])
        assert (one["b"], one["c"]) == (other["b"], other["c"])


def test_arrays_without_items_cross_before_any_others() -> None:
    empty = ks.Dataset.range(2).map(lambda x: np.zeros((0, 3), np.int8))
    assert [x.shape for x in in_processes(empty, lambda x: x)] == [(0, 3)] * 2
    growing = in_processes(ks.Dataset.range(3), lambda x: np.arange(x))
    assert [x.tolist() for x in growing] == [[], [0], [0, 1]]
    many: dict[str, Any] = {"num_parallel_calls": 2, "executor": "process"}
    batches = ks.Dataset.range(2).map_batches(lambda b: np.zeros((len(b), 0)), 2, **many)
    assert [x.shape for x in batches] == [(0,)] * 2
    nested = ks.Dataset.range(2).interleave(lambda _: empty, **many)
    assert [x.shape for x in nested] == [(0, 3)] * 4


def test_ragged_sparse_and_records_cross_unharmed() -> None:
    ragged = ks.Ragged.from_rows([[1, 2], [], [3]])
    sparse = ks.Sparse([[0, 1]], [5], (2, 2))
    ds = ks.Dataset.from_tensors((ragged, sparse, Point(1, 2)))
    got = next(iter(in_processes(ds, lambda *e: e)))
    assert got[0] == ragged
    assert got[1] == sparse
    assert got[2] == Point(1, 2)


def test_large_arrays_cross_unharmed() -> None:
    ds = in_processes(ks.Dataset.range(4), lambda x: np.full((3, 1 << 20), x, np.int32))
    for i, array in enumerate(ds):
        assert array.shape == (3, 1 << 20)
        assert (array == i).all()
        array += 1  # what comes out is the consumer's own


def test_a_function_has_the_whole_library_if_it_asks_for_it() -> None:
    def names_it(x: np.int64) -> int:
        return len(list(ks.Dataset.range(3))) + int(x)

    def imports_it(x: np.int64) -> int:
        import keepset
        from keepset import TensorSpec

        assert TensorSpec is keepset.TensorSpec
        assert not hasattr(keepset, "no_such_name")
        return len(list(keepset.Dataset.range(int(x))))

    assert [int(x) for x in in_processes(ks.Dataset.range(4), names_it)] == [3, 4, 5, 6]
    assert [int(x) for x in in_processes(ks.Dataset.range(4), imports_it)] == [0, 1, 2, 3]


def test_a_worker_imports_only_what_it_needs() -> None:
    def loaded(x: np.int64) -> str:
        return " ".join(sys.modules)

    modules = next(iter(in_processes(ks.Dataset.range(1), loaded))).decode().split()
    assert "keepset.nodes.group_call" in modules
    assert not {"keepset.dataset", "keepset.nodes.parallel", "subprocess", "pyarrow"} & {*modules}


def test_an_error_keeps_its_type_and_tells_stage_element_and_traceback() -> None:
    def fails_at_seven(x: np.int64) -> np.int64:
        if x == 7:
            raise LookupError("seven")
        return x

    seen: list[int] = []
    ds = in_processes(ks.Dataset.range(50), fails_at_seven)
    with pytest.raises(LookupError, match="seven") as caught:
        seen.extend(int(x) for x in ds)
    assert seen == list(range(7))
    notes = "\n".join(caught.value.__notes__)
    assert "map(fails_at_seven), at element 7" in notes
    assert 'raise LookupError("seven")' in notes


def test_an_error_whose_constructor_wants_more_keeps_its_class_and_attributes() -> None:
    class AwkwardError(Exception):
        def __init__(self, one: int, two: int) -> None:
            super().__init__(f"{one} and {two}")
            self.one = one

    def fail(x: np.int64) -> np.int64:
        raise AwkwardError(1, 2)

    with pytest.raises(AwkwardError, match="1 and 2") as caught:
        list(in_processes(ks.Dataset.range(3), fail))
    assert caught.value.one == 1
    assert "map(fail), at element 0" in "\n".join(caught.value.__notes__)


def test_an_error_leaves_behind_only_what_cannot_be_pickled() -> None:
    class HoldingError(UnicodeError):
        pass

    def fail(x: np.int64) -> np.int64:
        error = HoldingError("held", threading.Lock())
        error.lock, error.size = threading.Lock(), 3  # type: ignore[attr-defined]
        raise error

    with pytest.raises(HoldingError, match="held") as caught:
        list(in_processes(ks.Dataset.range(3), fail))
    assert caught.value.size == 3  # type: ignore[attr-defined]
    assert not hasattr(caught.value, "lock")
    assert "unlocked" in caught.value.args[1]
    notes = "\n".join(caught.value.__notes__)
    assert "map(fail), at element 0" in notes
    assert "attribute 'lock'" in notes
    assert "argument 1" in notes


def test_an_error_of_a_builtin_class_keeps_its_fields_without_what_cannot_be_pickled() -> None:
    def fail(x: np.int64) -> np.int64:
        error = UnicodeDecodeError("ascii", b"\xff", 0, 1, "too large")
        error.lock = threading.Lock()  # type: ignore[attr-defined]
        raise error

    with pytest.raises(UnicodeDecodeError, match="can't decode byte 0xff") as caught:
        list(in_processes(ks.Dataset.range(3), fail))
    assert caught.value.object == b"\xff"


def test_an_error_whose_constructor_makes_its_text_arrives_with_the_same_text() -> None:
    class NamedError(Exception):
        def __init__(self, name: str) -> None:
            super().__init__(f"no {name}")

    def fail(x: np.int64) -> np.int64:
        raise NamedError("tea")

    with pytest.raises(NamedError) as caught:
        list(in_processes(ks.Dataset.range(3), fail))
    assert str(caught.value) == "no tea"


class SparseError(Exception):
    """One whose class says how it is pickled, without what was added to the object."""

    def __reduce__(self) -> Any:
        return type(self), self.args


@pytest.mark.parametrize("kind", [json.JSONDecodeError, SparseError])
def test_an_error_that_is_pickled_without_its_attributes_keeps_its_notes(kind: Any) -> None:
    def fail(x: np.int64) -> np.int64:
        if x == 2:
            raise kind("bad", "{bad", 1)
        return x

    behind: list[Callable[[ks.Dataset], ks.Dataset]] = [lambda ds: ds, lambda ds: ds.map(abs)]
    for then in behind:
        with pytest.raises(kind) as caught:
            list(then(in_processes(ks.Dataset.range(3), fail)))
        first, trace = caught.value.__notes__
        assert first == "in map(fail), at element 2"
        assert "in a worker process, where the traceback was" in trace
        assert "in fail" in trace


def test_a_file_error_with_a_constructor_of_its_own_keeps_its_file() -> None:
    class LoadError(OSError):
        def __init__(self, path: str, why: str) -> None:
            super().__init__(5, why, path)
            self.why = why

    class PluginError(ImportError):
        def __init__(self, name: str, of: str) -> None:
            super().__init__(f"{of} has no {name}", name=name)

    def fail(x: np.int64) -> np.int64:
        if x == 0:
            raise LoadError("/data/a.bin", "bad")
        raise PluginError("b", "c")

    with pytest.raises(LoadError) as caught:
        list(in_processes(ks.Dataset.range(1), fail))
    error = caught.value
    assert (error.filename, error.why, error.args) == ("/data/a.bin", "bad", (5, "bad"))
    assert str(error) == "[Errno 5] bad: '/data/a.bin'"
    with pytest.raises(PluginError, match="c has no b") as of_import:
        list(in_processes(ks.Dataset.range(1, 2), fail))
    assert of_import.value.name == "b"


def failure_in_a_worker(function: Callable[[Any], Any]) -> BaseException:
    # What is raised while another error is handled gets that one as its context. A thread of its
    # own handles none, whatever ran before the test.
    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(lambda: list(in_processes(ks.Dataset.range(3), function))).exception()
    assert found is not None
    return found


class PickyError(Exception):
    """One that pickle cannot make again."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")


def test_an_error_keeps_its_cause() -> None:
    def fail(x: np.int64) -> np.int64:
        try:
            raise PickyError(1, 2)
        except PickyError as error:
            raise ValueError("outer") from error

    error = failure_in_a_worker(fail)
    assert (type(error), str(error)) == (ValueError, "outer")
    assert type(error.__cause__).__name__ == "PickyError"
    assert str(error.__cause__) == "1 and 2"
    assert error.__suppress_context__
    notes = "\n".join(error.__notes__)
    assert "raise PickyError(1, 2)" in notes
    assert "direct cause" in notes


def test_an_error_keeps_its_context() -> None:
    def fail(x: np.int64) -> np.int64:
        try:
            raise OSError(2, "no such thing")
        except OSError:
            raise ValueError("outer")  # noqa: B904

    error = failure_in_a_worker(fail)
    assert isinstance(error.__context__, FileNotFoundError)
    assert error.__cause__ is None
    assert not error.__suppress_context__
    assert "During handling" in "\n".join(error.__notes__)


def test_a_hidden_context_stays_hidden() -> None:
    def fail(x: np.int64) -> np.int64:
        try:
            raise OSError("inner")
        except OSError:
            raise ValueError("outer") from None

    error = failure_in_a_worker(fail)
    assert error.__suppress_context__
    assert str(error.__context__) == "inner"


def test_a_link_that_cannot_be_sent_stands_there_as_text() -> None:
    def fail(x: np.int64) -> np.int64:
        class LockedError(Exception):
            def __reduce__(self) -> Any:
                raise TypeError("stays here")

        held = threading.Lock()
        LockedError.held = held  # type: ignore[attr-defined]
        raise ValueError("outer") from LockedError("inner")

    error = failure_in_a_worker(fail)
    assert str(error) == "outer"
    assert "inner" in str(error.__cause__)


def test_chains_that_are_long_or_go_round_arrive_in_part() -> None:
    def go_round(x: np.int64) -> np.int64:
        first, second = ValueError("first"), ValueError("second")
        first.__cause__, second.__cause__ = second, first
        raise first

    error = failure_in_a_worker(go_round)
    assert str(error.__cause__) == "second"
    assert error.__cause__ is not None
    assert error.__cause__.__cause__ is None

    def go_on(x: np.int64) -> np.int64:
        error = ValueError("0")
        for number in range(1, 500):
            link, error = error, ValueError(str(number))
            error.__cause__ = link
        raise error

    last, length = failure_in_a_worker(go_on), 1
    while last.__cause__ is not None:
        last, length = last.__cause__, length + 1
    assert 10 <= length <= 50
    assert "stayed in the worker" in "\n".join(last.__notes__)


def test_a_group_keeps_its_members() -> None:
    def fail(x: np.int64) -> np.int64:
        odd, caused = PickyError(1, 2), KeyError("three")
        caused.__cause__ = OSError("four")
        inner = ExceptionGroup("inner", [odd])
        raise ExceptionGroup("several", [ValueError("zero"), inner, caused])

    error = failure_in_a_worker(fail)
    assert isinstance(error, ExceptionGroup)
    assert error.message == "several"
    zero, inner, caused = error.exceptions
    assert str(zero) == "zero"
    assert isinstance(inner, ExceptionGroup)
    assert type(inner.exceptions[0]).__name__ == "PickyError"
    assert str(inner.exceptions[0]) == "1 and 2"
    assert str(caused.__cause__) == "four"
    notes = "\n".join(error.__notes__)
    assert "map(fail), at element 0" in notes
    assert "1 and 2" in notes


def test_a_group_of_an_odd_class_keeps_the_texts_of_its_members() -> None:
    class OddGroup(ExceptionGroup[Exception]):
        def __new__(cls, count: int) -> OddGroup:
            return super().__new__(cls, "odd", [PickyError(1, 2)] * count)

    def fail(x: np.int64) -> np.int64:
        raise OddGroup(2)

    error = failure_in_a_worker(fail)
    assert isinstance(error, ExceptionGroup)
    assert [str(member) for member in error.exceptions] == ["1 and 2"] * 2


def test_an_error_that_has_no_text_arrives() -> None:
    class SilentError(Exception):
        def __str__(self) -> str:
            raise LookupError

    def fail(x: np.int64) -> np.int64:
        raise SilentError("unsaid")

    with pytest.raises(SilentError) as caught:
        list(in_processes(ks.Dataset.range(3), fail))
    assert caught.value.args == ("unsaid",)


@pytest.mark.parametrize("executor", ["thread", "process"])
@pytest.mark.parametrize("error", [SystemExit(5), KeyboardInterrupt("stop"), GeneratorExit()])
def test_what_ends_a_program_arrives_from_any_executor(
    error: BaseException, executor: str, capfd: pytest.CaptureFixture[str]
) -> None:
    def fails_at_three(x: np.int64) -> np.int64:
        if x == 3:
            raise error
        return x

    seen: list[int] = []
    ds = ks.Dataset.range(6).map(fails_at_three, num_parallel_calls=2, executor=executor)
    with pytest.raises(type(error)) as caught:
        seen.extend(int(x) for x in ds)
    assert seen == [0, 1, 2]
    assert caught.value.args == error.args
    if isinstance(caught.value, SystemExit):
        assert caught.value.code == 5
    assert not capfd.readouterr().err
    assert not children()


def test_an_error_class_that_only_the_worker_can_import_arrives_as_text(tmp_path: Path) -> None:
    (tmp_path / "only_in_workers.py").write_text("class OwnError(Exception): pass\n")

    def fail(x: np.int64) -> np.int64:
        sys.path.insert(0, str(tmp_path))
        import only_in_workers  # type: ignore[import-not-found]

        raise only_in_workers.OwnError("own")

    with pytest.raises(RuntimeError, match="OwnError: own") as caught:
        list(in_processes(ks.Dataset.range(3), fail))
    notes = "\n".join(caught.value.__notes__)
    assert "map(fail), at element 0" in notes
    assert "No module named 'only_in_workers'" in notes


def test_a_result_that_cannot_be_rebuilt_is_reported_with_its_stage(tmp_path: Path) -> None:
    (tmp_path / "pairs_of_workers.py").write_text(
        "import collections\nPair = collections.namedtuple('Pair', 'a b')\n"
    )

    def pair(x: np.int64) -> Any:
        sys.path.insert(0, str(tmp_path))
        import pairs_of_workers  # type: ignore[import-not-found]

        return pairs_of_workers.Pair(x, x)

    found = r"map\(pair\).*No module named 'pairs_of_workers'.*executor=\"thread\""
    with pytest.raises(ks.KeepsetError, match=found):
        list(in_processes(ks.Dataset.range(3), pair))
    assert not children()


def test_an_error_class_of_the_script_is_caught_by_the_script(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        textwrap.dedent(
            """
            import keepset as ks

            class MyError(Exception):
                pass

            def work(x):
                if x == 3:
                    raise MyError("three")
                return x

            try:
                list(ks.Dataset.range(9).map(work, num_parallel_calls=2, executor="process"))
            except MyError as error:
                print(error, "|", error.__notes__[0])
            """
        )
    )
    run = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=True, timeout=60
    )
    assert run.stdout.strip() == "three | in map(work), at element 3"


def test_what_cannot_be_sent_is_named_with_its_stage_and_a_remedy() -> None:
    lock = threading.Lock()
    held = {"inner": [lock]}

    class Guarded:
        def __init__(self) -> None:
            self.guard = lock

        def __call__(self, x: np.int64) -> np.int64:
            return x

    def uses_lock(x: np.int64) -> np.int64:
        with lock:
            return x

    cases: dict[Callable[..., Any], str] = {
        uses_lock: r"map\(uses_lock\).*the variable 'lock' cannot be sent.*it is a lock",
        lambda x: held and x: r"the variable 'held' cannot.*the entry 'inner' is a lock",
        Guarded(): r"the attribute 'guard' cannot be sent",
    }
    for function, said in cases.items():
        with pytest.raises(ks.InvalidArgumentError, match=f'{said}.*executor="thread"'):
            list(in_processes(ks.Dataset.range(3), function))
    assert not children()


def test_a_worker_that_dies_is_reported_with_the_element() -> None:
    def dies_at_five(x: np.int64) -> np.int64:
        if x == 5:
            os.kill(os.getpid(), signal.SIGKILL)
        return x

    with pytest.raises(ks.WorkerDiedError, match=r"map\(dies_at_five\).*SIGKILL.*element 5"):
        list(in_processes(ks.Dataset.range(50), dies_at_five, workers=1))
    assert not children()


def test_a_worker_that_exits_is_reported() -> None:
    with pytest.raises(ks.WorkerDiedError, match="exit code 3"):
        list(in_processes(ks.Dataset.range(3), lambda x: os._exit(3)))


def test_states_are_exact_with_processes() -> None:
    ds = in_processes(ks.Dataset.range(40), lambda x: x * 2).batch(3)
    for k in (0, 1, 5, 13, 14):
        it = iter(ds)
        for _ in range(k):
            next(it)
        state = it.state()
        it.close()
        rest = [x.tolist() for x in ds.iterate(state)]
        assert rest == [x.tolist() for x in ks.Dataset.range(40).map(lambda x: x * 2).batch(3)][k:]


@pytest.mark.timeout(300)
def test_many_starts_and_stops_leave_nothing_behind() -> None:
    list(in_processes(ks.Dataset.range(3), lambda x: x))
    with nothing_left_behind():
        for round_number in range(100):
            it = iter(in_processes(ks.Dataset.range(1000), lambda x: x))
            for _ in range(round_number % 4):
                next(it)
            del it
    assert not children()


def test_closing_does_not_wait_for_a_slow_function() -> None:
    def sleepy(x: np.int64) -> np.int64:
        time.sleep(60 * int(x))
        return x

    it = iter(in_processes(ks.Dataset.range(100), sleepy))
    next(it)
    began = time.perf_counter()
    it.close()
    assert time.perf_counter() - began < 50  # less than the function sleeps
    assert not children()


SCRIPT = """
import sys, time, os
import keepset as ks

print("imported", flush=True)  # printed once: workers do not run this file
factor = 3

def work(x):
    time.sleep({delay})
    return factor * x

for x in ks.Dataset.range(20).map(work, num_parallel_calls=2, executor="process"):
    print(int(x), flush=True)
"""


def run_script(tmp_path: Path, delay: float) -> subprocess.Popen[str]:
    script = tmp_path / "main.py"
    script.write_text(textwrap.dedent(SCRIPT).format(delay=delay))
    return subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def test_a_script_needs_no_main_guard(tmp_path: Path) -> None:
    out, err = run_script(tmp_path, 0).communicate(timeout=60)
    assert out.split() == ["imported", *(str(3 * i) for i in range(20))], err


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL, signal.SIGTERM])
def test_a_parent_that_is_stopped_leaves_no_process(tmp_path: Path, how: signal.Signals) -> None:
    with run_script(tmp_path, 0.2) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "imported\n"
            process.stdout.readline()
            workers = _all_children(process.pid)
            assert len(workers) == 3  # two, and the one that forks them
            process.send_signal(how)
            process.wait(timeout=30)
        finally:
            process.kill()
    deadline = time.monotonic() + 60
    while any(Path(f"/proc/{pid}").exists() for pid in workers):
        assert time.monotonic() < deadline, "a worker process outlived its parent"
        time.sleep(0.05)


def _all_children(pid: int) -> set[int]:
    """The processes below a process."""
    found = children_of(pid)
    return found.union(*map(_all_children, found))


def test_cached_functions_of_the_main_script_go_to_workers(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
        import functools
        import keepset as ks

        @functools.cache
        def table():
            return 3

        @functools.lru_cache(maxsize=7)
        def steps(n):
            return n if n < 2 else steps(n - 1) + 1

        def function(x):
            return int(x) * table() + steps(4) + steps.cache_parameters()["maxsize"]

        ds = ks.Dataset.range(3).map(function, num_parallel_calls=2, executor="process")
        print([int(x) for x in ds])
        """)
    )
    run = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[11, 14, 17]"


def test_objects_with_cached_properties_of_the_main_script_go_to_workers(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
        import functools
        import keepset as ks

        class Scale:
            @functools.cached_property
            def factor(self):
                "What elements are multiplied by."
                return len(self.parts)

            parts = "abc"

            def __call__(self, x):
                assert type(self).factor.__doc__ == "What elements are multiplied by."
                return int(x) * self.factor

        used = Scale()
        assert used.factor == 3
        for scale in Scale(), used:
            ds = ks.Dataset.range(3).map(scale, num_parallel_calls=2, executor="process")
            print([int(x) for x in ds])
        """)
    )
    run = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert run.stdout == "[0, 3, 6]\n" * 2, run.stderr


def test_what_a_worker_cannot_rebuild_is_reported_with_its_cause(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = types.ModuleType("made_at_run_time")
    made.__dict__["A"] = 3
    monkeypatch.setitem(sys.modules, "made_at_run_time", made)
    ds = in_processes(ks.Dataset.range(3), lambda x: x * made.A)
    with pytest.raises(ks.InvalidArgumentError, match="No module named 'made_at_run_time'"):
        list(ds)
