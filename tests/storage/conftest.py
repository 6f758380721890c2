"""The stores that the tests run on, each behind a URL that other processes can open too."""

from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest

from keepset.storage import Store, open_store, settle, steps
from keepset.storage.disk_cache import CachedStore

# It runs in a process of its own: nobody else needs to wait for the import of moto.
collect_ignore = ["s3_server.py"]

# Each store joins the contract suite by one line here.
STORES: dict[str, Callable[[pytest.FixtureRequest], Store]] = {
    "local": lambda request: open_store(request.getfixturevalue("tmp_path") / "a [b]*?#%20 ü\n"),
    "memory": lambda request: open_store(f"memory://{uuid4().hex}/a [b]*?#%20 ü"),
    "s3": lambda request: open_store(request.getfixturevalue("s3_url") + "/a [b]*?#%20 ü"),
    "cached": lambda request: CachedStore(
        open_store(f"memory://{uuid4().hex}"), request.getfixturevalue("tmp_path"), 1 << 20
    ),
}


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest) -> Store:
    """An empty store of each kind."""
    return STORES[request.param](request)


@pytest.fixture
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unclear answers are settled without waiting."""
    monkeypatch.setattr(settle, "PAUSES_S", (0.0,) * 4)


@pytest.fixture(autouse=True)
def _no_hook_is_left() -> Iterator[None]:
    yield
    steps.hook = None
