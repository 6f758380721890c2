"""Models and tensors of frameworks count by what they compute with."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from keepset.core.fingerprint import differences, fingerprint_of_value

pytestmark = pytest.mark.interop


def digest(value: Any) -> str:
    return fingerprint_of_value(value).digest


def test_torch_modules_count_by_weights_and_settings() -> None:
    import torch
    from torch import nn

    def model(seed: int = 1, rate: float = 0.5) -> Any:
        torch.manual_seed(seed)
        return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.BatchNorm1d(4), nn.Dropout(rate))

    first = model()
    expected = digest(first)
    assert digest(model()) == expected
    assert digest(model(seed=2)) != expected
    assert digest(model(rate=0.25)) != expected
    assert digest(model().eval()) != expected
    evaluated = model().eval()
    before = digest(evaluated)
    evaluated(torch.ones(2, 3)).sum().backward()
    # Gradients are no part of what a model computes.
    assert digest(evaluated) == before
    with torch.no_grad():
        first[0].bias[0] += 1
    assert digest(first) != expected


def test_the_users_own_torch_modules_count_by_their_code() -> None:
    import torch
    from torch import nn

    def model(factor: int) -> Any:
        class Scale(nn.Module):  # type: ignore[misc]
            def __init__(self) -> None:
                super().__init__()
                self.weight = nn.Parameter(torch.ones(2))

            def forward(self, x: Any) -> Any:
                return x * self.weight * factor

        return Scale()

    assert digest(model(2)) == digest(model(2)) != digest(model(3))
    network = model(2)
    assert digest(lambda x: network(x)) == digest(lambda x: network(x))


def test_a_changed_weight_is_told() -> None:
    import torch
    from torch import nn

    def model(value: float) -> Any:
        layer = nn.Linear(1, 1)
        with torch.no_grad():
            layer.weight.fill_(value)
            layer.bias.fill_(0)
        return layer

    old, new = (fingerprint_of_value(model(value)) for value in (1.0, 2.0))
    [found] = differences(old, new, name="map(model)")
    assert found.path == "map(model) > attribute _parameters > key 'weight'"
    assert "[[1.0]]" in found.old
    assert "[[2.0]]" in found.new


def test_tensors_count_by_content() -> None:
    import jax.numpy as jnp
    import tensorflow as tf
    import torch

    for make in (
        lambda n: torch.full((2, 3), n),
        lambda n: torch.full((2, 3), n, dtype=torch.bfloat16),
        lambda n: jnp.full((2, 3), n),
        lambda n: tf.fill((2, 3), n),
        lambda n: tf.Variable([n]),
    ):
        assert digest(make(1)) == digest(make(1)) != digest(make(2))
    assert digest(torch.zeros(2)) != digest(torch.zeros(2, dtype=torch.float64))


def test_compiled_functions_count_by_the_function_in_them() -> None:
    import jax
    import tensorflow as tf

    def one(x: Any) -> Any:
        return x + 1

    def two(x: Any) -> Any:
        return x + 2

    for compiler in (jax.jit, tf.function):
        compiled = compiler(one)
        before = digest(compiled)
        compiled(3)
        assert digest(compiled) == before == digest(compiler(one)) != digest(compiler(two))


def test_torch_functions_and_dtypes_count_by_name() -> None:
    import torch

    things = [torch.relu, torch.sigmoid, torch.float32, torch.float16, torch.device("cpu")]
    assert len({digest(thing) for thing in things}) == len(things)
    assert digest(lambda x: torch.relu(x)) != digest(lambda x: torch.sigmoid(x))


def test_what_a_function_writes_to_torch_objects_is_own_state() -> None:
    import torch

    class Counts(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.seen = {}  # type: ignore[var-annotated]
            self.register_buffer("count", torch.zeros(1))

        def forward(self, x: Any) -> Any:
            self.count += 1
            self.seen[len(self.seen)] = 1
            return x

    module, total = Counts(), torch.zeros(3)
    generator = torch.Generator().manual_seed(0)

    def f(x: Any) -> Any:
        total.add_(x)
        return module(x) + torch.rand(3, generator=generator)

    before = fingerprint_of_value(f)
    f(torch.ones(3))
    after = fingerprint_of_value(f)
    assert after.digest != before.digest
    assert after.fixed == before.fixed
    assert [blind.label for blind in after.blind] == ["captured generator"]


def test_a_module_that_its_own_calls_change_is_not_fixed_but_firm() -> None:
    import torch

    norm = torch.nn.BatchNorm1d(3)

    def f(x: Any) -> Any:
        return norm(x)

    before = fingerprint_of_value(f)
    f(torch.ones(2, 3))
    after = fingerprint_of_value(f)
    assert after.fixed != before.fixed
    assert after.firm == before.firm


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_sparse_tensors_count_by_their_entries() -> None:
    import torch

    def sparse(value: float, at: int = 1) -> Any:
        places = torch.tensor([[0, at], [1, 0]])
        return torch.sparse_coo_tensor(places, torch.tensor([1.0, value]), (2, 2)).coalesce()

    for form in (lambda x: x, lambda x: x.to_sparse_csr(), lambda x: x.to_sparse_csc()):
        digests = [digest(form(sparse(*given))) for given in ((2.0,), (2.0,), (3.0,), (2.0, 0))]
        assert digests[0] == digests[1]
        assert len(set(digests)) == 3
    assert digest(sparse(2.0)) != digest(sparse(2.0).to_dense())


def test_tensors_of_a_user_s_class_count_with_their_attributes() -> None:
    import torch

    class Measured(torch.Tensor):  # type: ignore[misc]
        pass

    def made(value: float, unit: str) -> Any:
        tensor = torch.full((3,), value).as_subclass(Measured)
        tensor.unit = unit
        return tensor

    assert digest(made(1, "m")) == digest(made(1, "m"))
    assert len({digest(made(1, "m")), digest(made(2, "m")), digest(made(1, "s"))}) == 3


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_scripted_functions_and_modules_count_by_what_they_compute(tmp_path: Path) -> None:
    import torch

    source = """
import torch

def helper(x):
    return x * {factor}

def scale(x):
    return helper(x) + 1

class Scale(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.full((2,), float({weight})))
        self.shift = {shift}

    def forward(self, x):
        return helper(x) * self.weight + self.shift
"""

    def digests(name: str, factor: int = 2, weight: float = 1.0, shift: int = 3) -> list[str]:
        path = tmp_path / f"{name}.py"
        path.write_text(source.format(factor=factor, weight=weight, shift=shift))
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        made = [torch.jit.script(module.scale), torch.jit.script(module.Scale())]
        assert [digest(each) for each in made] == [digest(each) for each in made]
        return [digest(each) for each in made]

    first, module = digests("job")
    assert digests("job", factor=5)[0] != first
    others = [digests("job", **{name: 7})[1] for name in ("factor", "weight", "shift")]
    assert len({module, *others}) == 4
