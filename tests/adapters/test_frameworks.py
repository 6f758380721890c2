"""What people are told where a framework is not installed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import keepset as ks

WAYS = {
    "torch": lambda ds: ds.to_torch(),
    "jax": lambda ds: ds.to_jax(),
    "keras": lambda ds: ds.to_keras(),
    "tensorflow": lambda ds: ds.to_tf(),
}


@pytest.mark.parametrize("name", WAYS)
def test_the_missing_extra_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ks.MissingExtraError, match=rf"pip install 'keepset\[{name}\]'"):
        WAYS[name](ks.Dataset.range(3))
    if name == "tensorflow":
        with pytest.raises(ks.MissingExtraError, match="from_tf needs TensorFlow"):
            ks.from_tf(None)


def test_a_framework_that_is_broken_is_told_in_its_own_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "jax").mkdir()
    (tmp_path / "jax" / "__init__.py").write_text("import a_package_that_jax_needs")
    monkeypatch.syspath_prepend(tmp_path)
    for module in [each for each in sys.modules if each.partition(".")[0] == "jax"]:
        monkeypatch.delitem(sys.modules, module)
    with pytest.raises(ks.MissingExtraError, match="a_package_that_jax_needs") as caught:
        ks.Dataset.range(3).to_jax()
    assert "to_jax needs JAX; jax is installed and cannot be imported" in str(caught.value)
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)
    sys.modules.pop("jax", None)
