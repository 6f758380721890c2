"""What all tests rely on, however the suite was started."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path


def test_programs_of_tests_can_be_interrupted_though_the_suite_is_a_background_job() -> None:
    program = (
        "import signal, subprocess, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); "
        "subprocess.run([sys.executable, '-c', 'import tests.conftest, subprocess, sys; '"
        "'subprocess.run([sys.executable, \"-c\", '"
        "'\"import signal; print(signal.getsignal(signal.SIGINT).__name__)\"])'], check=True)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=Path(__file__).parents[1],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    assert done.stdout == f"{signal.default_int_handler.__name__}\n"
