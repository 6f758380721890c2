"""Objects of PyTorch and Hugging Face inside passes, and passes of loaders with workers."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keepset import Dataset
from keepset.core.fingerprint import fingerprint_of_value
from keepset.errors import StateError
from keepset.format.log import Log
from keepset.snapshot.identity.aliases import forget_aliases
from keepset.snapshot.reading.opening import fingerprints_at
from keepset.storage import open_store

pytestmark = pytest.mark.interop


@pytest.fixture(autouse=True)
def _no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        yield


class Calls:
    """Counts calls in a file, whatever process makes them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.touch()

    def note(self) -> None:
        with self.path.open("a") as file:
            file.write(".")

    @property
    def count(self) -> int:
        return self.path.stat().st_size

    def __keepset_fingerprint__(self) -> str:
        return "calls"


Make = Callable[[Calls, Path], Dataset]


def epoch(ds: Dataset) -> list[Any]:
    return [np.asarray(element).tolist() for element in ds]


def three_epochs(make: Make, folder: Path, count: int) -> None:
    """All epochs of one dataset, of another one and of a second process compute once."""
    calls, stored = Calls(folder / "calls"), folder / "stored"
    ds = make(calls, stored)
    epochs = [epoch(ds) for _ in range(3)]
    assert epochs[0] == epochs[1] == epochs[2]
    assert calls.count == count
    assert epoch(make(calls, stored)) == epochs[0]
    assert calls.count == count
    assert in_another_process(make, folder) == epochs[0]
    assert calls.count == count


def in_another_process(make: Make, folder: Path) -> list[Any]:
    """An epoch of what a function of this file makes, by a process that imports the file."""
    code = (
        "import json, sys, warnings\n"
        "from pathlib import Path\n"
        "warnings.simplefilter('error', UserWarning)\n"
        f"from {make.__module__} import Calls, {make.__name__}, epoch\n"
        "folder = Path(sys.argv[1])\n"
        f"ds = {make.__name__}(Calls(folder / 'calls'), folder / 'stored')\n"
        "print(json.dumps(epoch(ds)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)],
        cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: list[Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def aliases(path: Path) -> list[str]:
    root = open_store(path)
    (name,) = fingerprints_at(root)
    version = Log(root.sub(f"{name}/")).state().version
    assert version is not None
    return list(version.commit.body.get("aliases", []))


def embedded(calls: Calls, stored: Path) -> Dataset:
    import torch

    torch.manual_seed(3)
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU()).eval()

    def embed(x: Any) -> Any:
        calls.note()
        with torch.no_grad():
            return model(torch.full((2,), float(x))).numpy()

    return Dataset.range(5).map(embed).snapshot(stored)


def test_a_torch_module_is_computed_with_once(tmp_path: Path) -> None:
    three_epochs(embedded, tmp_path, 5)
    assert aliases(tmp_path / "stored") == []


def test_a_module_that_is_made_whole_by_its_first_call_is_no_change(tmp_path: Path) -> None:
    import torch

    calls = Calls(tmp_path / "calls")
    torch.manual_seed(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch calls lazy modules a new feature
        model = torch.nn.LazyLinear(3)

    def pipeline(model: Any) -> Dataset:
        def embed(x: Any) -> Any:
            calls.note()
            with torch.no_grad():
                return model(torch.full((1, 2), float(x))).numpy()

        return Dataset.range(5).map(embed).snapshot(tmp_path / "stored")

    ds = pipeline(model)
    epochs = [[element.tolist() for element in ds] for _ in range(3)]
    assert epochs[0] == epochs[1] == epochs[2]
    assert calls.count == 5
    assert len(aliases(tmp_path / "stored")) == 1
    # A process that has used the model before begins with what it settled to.
    forget_aliases()
    assert [element.tolist() for element in pipeline(copy.deepcopy(model))] == epochs[0]
    assert calls.count == 5


def test_a_module_that_is_trained_during_the_pass_voids_it(tmp_path: Path) -> None:
    import torch

    model = torch.nn.Linear(1, 1)
    ds = Dataset.range(5).map(lambda x: model(torch.full((1,), float(x))).detach().numpy())
    ds = ds.snapshot(tmp_path)

    def train() -> None:
        for _ in ds:
            with torch.no_grad():
                model.bias += 1

    with pytest.warns(UserWarning, match=r"captured model.*not stored"):
        train()
    assert fingerprints_at(open_store(tmp_path)) == []


def tokenized(calls: Calls, stored: Path) -> Dataset:
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace
    from transformers import PreTrainedTokenizerFast

    words = {"[PAD]": 0, "[UNK]": 1, "a": 2, "b": 3, "c": 4}
    rules = Tokenizer(WordLevel(words, unk_token="[UNK]"))
    rules.pre_tokenizer = Whitespace()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=rules, pad_token="[PAD]", unk_token="[UNK]"
    )

    def encode(text: bytes) -> Any:
        calls.note()
        found = tokenizer(text.decode(), padding="max_length", truncation=True, max_length=4)
        return np.asarray(found["input_ids"])

    texts = ["a b c", "a", "b x c a b", "", "c c"]
    return Dataset.from_tensor_slices(texts).map(encode).snapshot(stored)


def test_a_tokenizer_is_computed_with_once(tmp_path: Path) -> None:
    three_epochs(tokenized, tmp_path, 5)


def test_what_a_program_adds_to_a_tokenizer_counts() -> None:
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from transformers import PreTrainedTokenizerFast

    class Own(PreTrainedTokenizerFast):  # type: ignore[misc]
        def __init__(self, prompts: Any, **options: Any) -> None:
            super().__init__(**options)
            self._prompts = prompts

    def digest(prompts: Any, **added: Any) -> str:
        rules = Tokenizer(WordLevel({"[UNK]": 0, "a": 1}, unk_token="[UNK]"))
        tokenizer = Own(prompts, tokenizer_object=rules, unk_token="[UNK]")
        for name, item in added.items():
            setattr(tokenizer, name, item)
        before = fingerprint_of_value(tokenizer).digest
        tokenizer("a b", truncation=True, max_length=4)
        assert fingerprint_of_value(tokenizer).digest == before
        return before

    same = digest({"a": 1})
    assert digest({"a": 1}) == same
    assert len({same, digest({"a": 2}), digest({"a": 1}, table=[1]), digest({"a": 1}, x={})}) == 4


@pytest.mark.parametrize("workers", [0, 2])
def test_a_loader_hands_its_identity_to_its_workers(tmp_path: Path, workers: int) -> None:
    calls = Calls(tmp_path / "calls")
    weights = np.ones(4)
    memo: dict[int, int] = {}

    def weighted(x: Any) -> Any:
        calls.note()
        memo[int(x)] = 1
        return weights * x

    ds = Dataset.range(40).map(weighted).snapshot(tmp_path / "stored").batch(4)
    loader = ds.to_torch().loader(num_workers=workers)
    for _ in range(3):
        assert [float(batch[0, 0]) for batch in loader] == [float(x) for x in range(0, 40, 4)]
    assert len(fingerprints_at(open_store(tmp_path / "stored"))) == 1
    computed = calls.count
    assert computed <= 41 * max(workers, 1)
    weights[:] = 2
    assert [float(batch[0, 0]) for batch in loader] == [2.0 * x for x in range(0, 40, 4)]
    assert calls.count > computed
    weights[:] = 1
    computed = calls.count
    assert [float(batch[0, 0]) for batch in loader] == [float(x) for x in range(0, 40, 4)]
    assert calls.count == computed


def test_a_state_of_another_batch_size_length_or_function_is_refused(tmp_path: Path) -> None:
    factor = 1

    def scaled(x: Any) -> Any:
        return x * factor

    def loader(length: int = 640, batch: int = 16) -> Any:
        ds = Dataset.range(length).map(scaled).snapshot(tmp_path / "stored").batch(batch)
        return ds.to_torch().loader(num_workers=0)

    first = loader()
    elements = iter(first)
    seen = [next(elements) for _ in range(20)]
    state = json.loads(json.dumps(first.state_dict()))
    elements.close()
    again = loader()
    again.load_state_dict(state)
    assert sum(len(batch) for batch in [*seen, *again]) == 640
    with pytest.raises(StateError, match=r"batches of 16.*batches of 32"):
        loader(batch=32).load_state_dict(state)
    with pytest.raises(StateError, match=r"of 40 elements.*has 60"):
        loader(length=960).load_state_dict(state)
    factor = 2
    with pytest.raises(StateError, match=r"fingerprint [0-9a-f]{32}.*now it has"):
        loader().load_state_dict(state)
