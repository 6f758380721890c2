"""Environments of the peers: one per tool, made on first use, so that no two disturb each other.

They lie below ``benchmarks/.environments``. None of them has Keepset in it.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
FOLDER = HERE / ".environments"

# The exact version makes pip prefer a local CPU build of it, where there is one, to any other.
TORCH = "torch==2.13.0"

# What pip is asked for; every environment gets NumPy as well.
ENVIRONMENTS: dict[str, tuple[str, ...]] = {
    "torch": (TORCH,),
    "huggingface": ("datasets", "pillow"),
    "tensorflow": ("tensorflow-cpu", "pillow"),
    "grain": ("grain", "array_record"),
    "litdata": ("litdata", TORCH, "pillow"),
    "mosaic": ("mosaicml-streaming", TORCH, "pillow"),
    "webdataset": ("webdataset", TORCH),
    "lance": ("pylance", "pyarrow"),
    "zarr": ("zarr",),
}

# What a surrounding environment or a user's settings would change stays outside.
_UNWANTED = (
    "VIRTUAL_ENV",
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONSTARTUP",
    "PIP_PREFIX",
    "PIP_TARGET",
    "PIP_USER",
)
# The framework wheels are large: a slow or broken connection is worth waiting for.
_PATIENT = {
    "PIP_DEFAULT_TIMEOUT": "180",
    "PIP_RETRIES": "10",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
}


def python_of(name: str, tell: Callable[[str], None]) -> str | None:
    """The interpreter of an environment, which is made if it is not there as asked for.

    ``tell`` hears a line when one is made, and another with the reason if that fails; then there
    is no interpreter, and the benchmark goes on without that peer.
    """
    requirements = ("numpy", *ENVIRONMENTS[name])
    folder = FOLDER / name
    python = folder / "bin" / "python"
    ready = folder / ".ready"
    wanted = "\n".join([f"python {platform.python_version()}", *requirements, ""])
    found = ready.read_text() if ready.exists() else ""
    if found == wanted:
        return str(python)
    # One that lacks something more is added to; one of another Python is made anew.
    is_sound = found.partition("\n")[0] == wanted.partition("\n")[0]
    tell(f"{name}: installing {', '.join(requirements)}: some minutes the first time")
    try:
        FOLDER.mkdir(exist_ok=True)
        # Neither git nor the linter should look at what is in there.
        (FOLDER / ".gitignore").write_text("*\n")
        if not is_sound:
            venv.create(folder, clear=True, with_pip=True)
        ready.unlink(missing_ok=True)
        _install(python, requirements)
    except (OSError, subprocess.CalledProcessError) as error:
        tell(f"{name}: left out, its environment cannot be made: {_reason(error)}")
        return None
    # Last: an installation that was cut short leaves no such file, and is made anew.
    ready.write_text(wanted)
    return str(python)


def _install(python: Path, requirements: tuple[str, ...]) -> None:
    surrounding = {key: value for key, value in os.environ.items() if key not in _UNWANTED}
    command = [str(python), "-m", "pip", "install", "-qq", *requirements]
    subprocess.run(command, env=_PATIENT | surrounding, check=True, capture_output=True, text=True)


def _reason(error: Exception) -> str:
    """The line in which pip says what went wrong."""
    if not isinstance(error, subprocess.CalledProcessError):
        return str(error)
    said = error.stderr or error.stdout or ""
    lines = (said if isinstance(said, str) else said.decode(errors="replace")).splitlines()
    complaints = [line for line in lines if line.startswith("ERROR")] or lines
    return complaints[-1] if complaints else str(error)


if __name__ == "__main__":
    for each in sys.argv[1:] or ENVIRONMENTS:
        python_of(each, print)
