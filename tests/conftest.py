"""What all tests share: how hard Hypothesis looks, and a server that speaks S3.

HYPOTHESIS_PROFILE=thorough looks much harder than the default.
"""

import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, settings

# No deadline and no complaint about slowness: the suite shares a small machine with itself.
_PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

settings.register_profile("default", _PATIENT, max_examples=60, derandomize="CI" in os.environ)
settings.register_profile("thorough", _PATIENT, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

# A script starts a job in the background (``make test &``) with interrupts ignored, which programs
# that tests start and interrupt would inherit. They do not inherit a handler.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

SERVER = Path(__file__).parent / "storage" / "s3_server.py"


@pytest.fixture(autouse=True)
def replayed_elsewhere() -> Iterator[None]:
    """What replays left as it was in one test is nothing to the functions of another."""
    yield
    state = sys.modules.get("keepset.snapshot.identity.unfilled_state")
    if state is not None:
        state.forget_unfilled_state()


@pytest.fixture(scope="session")
def s3_endpoint() -> Iterator[str]:
    """A server on the loopback with an empty bucket, until the session ends."""
    # Tests may upload in parts that are smaller than S3 takes them, to be quick.
    settings = {"S3_UPLOAD_PART_MIN_SIZE": "1"}
    keys = {"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret"}
    environment = {**os.environ, **keys, **settings}
    with subprocess.Popen(
        [sys.executable, SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        endpoint = f"http://127.0.0.1:{int(server.stdout.readline())}"
        make = urllib.request.Request(f"{endpoint}/bucket", method="PUT")
        urllib.request.urlopen(make).close()
        yield endpoint
        server.stdin.close()


@pytest.fixture
def s3_url(s3_endpoint: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """An empty place in the bucket; how to get there is told to obstore by the environment."""
    for name, value in {
        "AWS_ENDPOINT": s3_endpoint,
        "AWS_ACCESS_KEY_ID": "id",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
        "AWS_ALLOW_HTTP": "true",
    }.items():
        monkeypatch.setenv(name, value)
    return f"s3://bucket/{uuid4().hex}"
