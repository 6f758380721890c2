"""Nothing that is stored contains a secret: every byte of every file is looked at."""

from __future__ import annotations

import enum
import functools
import gzip
import pickle
import re
import threading
import traceback
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from os import environ
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlparse, urlsplit

import numpy as np
import pytest

import keepset as ks
from keepset.errors import RecipeError, SnapshotMissingError

# Each is used in one way below, and is made so that it occurs nowhere else.
API_KEY = "Zq-global-7731"
CONFIG = {"password": "Zq-item-7732", "nested": [{"token": "Zq-nested-7733"}], "size": 3}
HEADERS = [("Authorization", "Zq-pair-7734"), ("Accept", "text/plain")]
credentials = ("bob", "Zq-inherited-7735")
storage_options = {"endpoint_url": "Zq-option-7736", "region": "Zq-option-7737"}
PLACE = "https://bob:Zq-userinfo-7738@host/a?X-Amz-Signature=Zq-signature-7739&part=1"
SHAPED = "sk-Zqshape7740abcdefghijkl"
COPIED = f"prefix Zq-global-7731 suffix {'and more ' * 20}"
MANY = {f"token_{i}": f"Zq-many-7741-{i}" for i in range(150)}
AS_BYTES = {"secret": b"Zq-bytes-7742"}
API_KEYS = {"Zq8vKx2LmW4tRb7Yp1Nd": "alice", "user": 1}


class Place:
    """Holds what it is given, and can be written in a recipe."""

    first: Any
    inner: Any
    name: Any

    def __init__(self, **named: Any) -> None:
        vars(self).update(named)


class Client:
    def __init__(self) -> None:
        self.apiKey, self.size = "Zq-attribute-7743", 5


class Login(NamedTuple):
    user: str
    passwd: str


CLIENT, LOGIN = Client(), Login("bob", "Zq-field-7744")


def used(x: Any, *, auth_token: str = "Zq-default-7745", size: int = 2) -> Any:
    password = "Zq-literal-7746"
    send(x, cookie=b"Zq-keyword-7747", text="hf_Zqshape7748abcdefghij")
    return x + len(API_KEY) * 0 + len(CONFIG) * 0 + len(password) * 0 + size * 0


def others(x: Any) -> Any:
    """Reaches a place: https://bob:Zq-docstring-7749@host/."""
    values = HEADERS, credentials, storage_options, PLACE, SHAPED, COPIED, MANY, AS_BYTES, API_KEYS
    return x + len(values) * 0 + len(API_KEY) * 0


def objects(x: Any) -> Any:
    return x + len(LOGIN.user) * 0


def clients(x: Any) -> Any:
    return x + CLIENT.size * 0


def send(x: Any, **named: Any) -> None:
    pass


def makes_closure() -> Callable[[Any], Any]:
    secret, count = "Zq-captured-7750", 3
    return lambda x: x + len(secret) * 0 + count * 0


def add(x: Any, api_key: str) -> Any:
    return x


def prefixed(api_key: str, x: Any) -> Any:
    return x


def numbers(count: Any, api_key: Any) -> Iterator[int]:
    yield from range(int(count))


api_keys = np.array([b"Zq-array-7756", b"Zq-array-7757"], object)
URLS = np.array([b"https://bob:Zq-array-7758@host/a"], object)


def with_array(x: Any) -> Any:
    return x + len(api_keys) * 0 + len(URLS) * 0


class Settings:
    SIZE = 3
    DB_PASSWORD = "Zq-class-7753"


PASSWORD = "Zq-pässwörd-7759"
HEADER = f"v {PASSWORD}".encode()


def helper() -> str:
    return API_KEY


def importable(x: Any) -> Any:
    return x + len(helper()) * 0


def by_helper(x: Any) -> Any:
    return x + len(helper()) * 0


def in_bytes(x: Any) -> Any:
    return x + len(PASSWORD) * 0 + len(HEADER) * 0


def logs_in(x: Any) -> Any:
    log_in("bob", "Zq-positional-7760")
    return x


def log_in(user: str, password: str) -> None:
    pass


FIRST, SECOND, THIRD = "Zq-passed-7770", "Zq-passed-7771", "Zq-passed-7772"
HOLDER = Place(first="Zq-passed-7773")


def passes_on(x: Any) -> Any:
    send(x, password=FIRST)
    log_in("bob", SECOND)
    headers = {"Authorization": f"Bearer {THIRD}"}
    send(x, auth=HOLDER.first, size=len(headers))
    return x


def passes_captured() -> Callable[[Any], Any]:
    value = "Zq-passed-7774"

    def inner(x: Any) -> Any:
        send(x, api_key=value)
        return x

    return inner


IN_TUPLE, ENCODED, AS_TEXT, STRIPPED, FORMATTED, WALRUS, STEPPED, SHORT_STEP = (
    *("Zq-passed-7775", "Zq-passed-7776", "Zq-passed-7777", "Zq-passed-7778"),
    *("Zq-passed-7779", "Zq-passed-7780", "Zq-passed-7781", "Zq-passed-7782"),
)
BY_KEY, BY_NUMBER = {"v": "Zq-passed-7783", "w": 1}, ["Zq-passed-7784", "Zq-passed-7785"]
MEMBERS = Place(inner={"v": ["a", "Zq-passed-7786"]})
LOOPED, UNPACKED = ["Zq-passed-7787", "Zq-passed-7788"], "bob:Zq-passed-7789"


class Slotted:
    __slots__ = ("v",)

    def __init__(self) -> None:
        self.v = "Zq-passed-7790"


SLOTTED = Slotted()


def passes_on_in_other_forms(x: Any) -> Any:
    send(x, auth=("user", IN_TUPLE), password=ENCODED.encode())
    send(x, password=str(AS_TEXT), secret=STRIPPED.strip())
    send(x, password="{}".format(FORMATTED), api_key=BY_KEY["v"])  # noqa: UP032
    v = STEPPED
    w = v.strip()
    send(x, password=w, secret=BY_NUMBER[0])
    if (value := WALRUS) and x:
        send(x, password=value)
    settings = {"v": SHORT_STEP}
    send(x, password=settings["v"], secret=MEMBERS.inner["v"][1])
    for each in LOOPED:
        send(x, password=each)
    _, rest = UNPACKED.split(":")
    send(x, password=rest, secret=BY_NUMBER[-1])
    literal = "Zq-literal-7791"
    send(x, password=literal)
    return x


def passes_on_a_slot(x: Any) -> Any:
    send(x, api_key=SLOTTED.v)
    return x


class Secrets:
    """Of a class that is named after secrets, all attributes are."""

    prod = "Zq7x9Kd2mVw7LpQ"
    inner: tuple[str, ...] = ("Zq-held-7792",)


class ApiKeys(enum.Enum):
    PROD = "Zq-member-7793"
    TEST = ("Zq-member-7794", 1)


class Credentials(NamedTuple):
    user: str
    value: str


class DbCredentials:
    def __init__(self) -> None:
        self.prod = "Zq-held-7795"


PAIRS = [
    {"name": "DB_PASSWORD", "value": "Zq-beside-7796"},
    {"key": "DB_PASSWORD", "value": "Zq-beside-7797"},
    {"Name": "API_KEY", "Value": ["Zq-beside-7798"]},
]
ENVIRONMENT = "env:\n- name: DB_PASSWORD\n  value: Zq-beside-7799\n"
DEFINITION = '{"environment": [{"name": "DB_PASSWORD", "value": "Zq-beside-7800"}]}'
ENTRY, HELD = Place(name="DB_PASSWORD", value="Zq-beside-7801"), DbCredentials()
TUPLE = Credentials("bob", "Zq-held-7802")
ACCESS_KEY = re.compile("Zq-pattern-7803[a-z]")
PLACES, ZIPPED = Place(v="Zq-passed-7804"), ["bob", "Zq-zipped-7805"]


def held_by_classes(x: Any) -> Any:
    return x + len(Secrets.prod) * 0 + len(ApiKeys.PROD.value) * 0


def held_by_objects(x: Any) -> Any:
    return x + len(TUPLE) * 0 + len(HELD.prod) * 0


def beside_names(x: Any) -> Any:
    return x + len(PAIRS) * 0 + len(ENVIRONMENT) * 0 + len(DEFINITION) * 0 + len(ENTRY.name) * 0


def with_pattern(x: Any) -> Any:
    return x + len(ACCESS_KEY.pattern) * 0


def zips(x: Any) -> Any:
    send(x, auth=PLACES, text=dict(zip(["user", "password"], ZIPPED, strict=True)))
    login = dict(zip(["user", "password"], ["bob", "Zq-zipped-7806"], strict=True))
    return x + len(login) * 0


# Numbers that begin as follows occur nowhere else either.
DB_PASSWORD = 481516230
NUMBERED = {"password": 481516231, "inner": {"secret": [481516232, 4815162.5]}, "size": 3}
ROWS = [("db_password", 481516233), {"name": "DB_PASSWORD", "value": 481516234}]
FIELDS = Place(passwd=481516235, credentials=np.int64(481516236), name="bob")


def with_numbers(x: Any, *, secret: int = 481516237, password_length: int = 8) -> Any:
    password = 481516238
    send(x, client_secret=-481516239)
    found = [DB_PASSWORD, NUMBERED, ROWS, FIELDS, password, secret]
    return x + len(found) * 0 + password_length * 0


def captures_a_number() -> Callable[[Any], Any]:
    password, max_secret_count = 481516240, 8
    return lambda x: x + (password + max_secret_count) * 0


def unlock(password: int, x: Any) -> Any:
    return x


def call_with(x: Any, password: int) -> Any:
    return x


def fields_of_numbers(x: Any) -> Any:
    return x + Numbered.DB_PASSWORD * 0


class Numbered:
    DB_PASSWORD = 481516241


class Keyed:
    def __init__(self) -> None:
        self.api_key = "Zq-own-7761"

    def __call__(self, x: Any) -> Any:
        return x


class Asking:
    def __call__(self, api_key: str, x: Any) -> Any:
        return x


def ends_up_named(api_key: str, name: str) -> ks.Dataset:
    return ks.Dataset.range(3).map(functools.partial(prefixed, api_key), name=f"load {name}")


# The name of a stage holds a secret that is used elsewhere.
NAMED: dict[str, Callable[[], ks.Dataset]] = {
    "helper": lambda: ks.Dataset.range(3).map(by_helper, name=f"load {API_KEY}"),
    "importable": lambda: ks.Dataset.range(3).map(importable, name=f"load {API_KEY}"),
    "object": lambda: ks.Dataset.range(3).map(Keyed(), name="load Zq-own-7761"),
    "method": lambda: ks.Dataset.range(3).map(Keyed().__call__, name="load Zq-own-7761"),
    "partial of": lambda: ends_up_named("Zq-partial-7762", "Zq-partial-7762"),
    "later": lambda: ks.Dataset.range(3, name=f"of {API_KEY}").map(by_helper).batch(2),
    "url": lambda: ks.Dataset.range(3).map(add_one, name="load https://bob:Zq-7763@host/a"),
    "environ": lambda: ks.Dataset.range(3).map(lambda x: x + len(environ) * 0, name="Zq-env-7766"),
}


COMMANDS = [
    ["curl", "-u", "ada:Zq-command-7810", "https://host"],
    ("mysql", "-uroot", "-pZq-command-7811"),
    [b"sshpass", b"-p", b"Zq-command-7812", b"ssh"],
    ["curl", "-sSu", "ada:Zq-command-7817", "--proxy-user", "ada:Zq-command-78178"],
    ["curl", "-u", "ada:Zq-command-7818", *["https://host"] * 200],
]
PARSED = [urlsplit("https://ada:Zq-parsed-7813@h/x"), urlparse(b"x://ada:Zq-parsed-7814@h")]
NETLOC = "ada:Zq-netloc-7815@db.example.org:5432"
CLIENTS = {"Zq7vKx2LmW4tRb7Yp1Nd": "alice", "user": 1}
SIGNING_KEY = Path("keys") / "Zq6vKx2LmW4tRb7Yp1Nd"
COUNTED_TOKENS = Counter({"Zq5vKx2LmW4tRb7Yp1Nd": 3})
COUNTED = "seen: Zq5vKx2LmW4tRb7Yp1Nd"


def with_commands(x: Any) -> Any:
    subprocess = ["curl", "--user", "ada:Zq-command-7816", "https://host"]
    return x + len(COMMANDS) * 0 + len(subprocess) * 0


def with_parts(x: Any) -> Any:
    return x + len(PARSED) * 0 + len(NETLOC) * 0 + len(CLIENTS) * 0 + len(SIGNING_KEY.name) * 0


def with_counter(x: Any) -> Any:
    return x + len(COUNTED_TOKENS) * 0 + len(COUNTED) * 0


def add_one(x: Any) -> Any:
    return x + 1


PIPELINES: dict[str, Callable[[], ks.Dataset]] = {
    "used": lambda: ks.Dataset.range(3).map(used),
    "others": lambda: ks.Dataset.range(3).map(others),
    "objects": lambda: ks.Dataset.range(3).map(objects),
    "clients": lambda: ks.Dataset.range(3).map(clients),
    "closure": lambda: ks.Dataset.range(3).map(makes_closure()),
    "partial": lambda: ks.Dataset.range(3).map(functools.partial(add, api_key="Zq-partial-7751")),
    "positional": lambda: ks.Dataset.range(3).map(functools.partial(prefixed, "Zq-argument-7752")),
    "environment": lambda: ks.Dataset.range(3).map(lambda x: x + len(environ) * 0),
    "class": lambda: ks.Dataset.range(3).map(lambda x: x + Settings.SIZE * 0),
    "name": lambda: ks.Dataset.range(3).map(used, name=f"with {API_KEY} and {SHAPED}"),
    "generator": lambda: ks.Dataset.from_generator(numbers, args=(2, "Zq-generator-7755")),
    "array": lambda: ks.Dataset.range(3).map(with_array),
    "inner": lambda: ks.Dataset.range(3).flat_map(lambda x: ks.Dataset.range(2).map(used)),
    "bytes": lambda: ks.Dataset.range(3).map(in_bytes),
    "passed on": lambda: ks.Dataset.range(3).map(passes_on),
    "other forms": lambda: ks.Dataset.range(3).map(passes_on_in_other_forms),
    "held by classes": lambda: ks.Dataset.range(3).map(held_by_classes),
    "held by objects": lambda: ks.Dataset.range(3).map(held_by_objects),
    "beside names": lambda: ks.Dataset.range(3).map(beside_names),
    "pattern": lambda: ks.Dataset.range(3).map(with_pattern),
    "zipped": lambda: ks.Dataset.range(3).map(zips),
    "slot": lambda: ks.Dataset.range(3).map(passes_on_a_slot),
    "captured and passed on": lambda: ks.Dataset.range(3).map(passes_captured()),
    "positional literal": lambda: ks.Dataset.range(3).map(logs_in),
    "asking": lambda: ks.Dataset.range(3).map(functools.partial(Asking(), "Zq-asking-7764")),
    "command": lambda: ks.Dataset.range(3).map(
        functools.partial(lambda cmd, x: x, ["tool", "--password", "Zq-option-7765"])
    ),
    "numbers": lambda: ks.Dataset.range(3).map(with_numbers),
    "captured number": lambda: ks.Dataset.range(3).map(captures_a_number()),
    "number in a partial": lambda: ks.Dataset.range(3).map(
        functools.partial(unlock, 481516242), name="with a partial"
    ),
    "named number": lambda: ks.Dataset.range(3).map(
        functools.partial(call_with, password=481516243)
    ),
    "commands": lambda: ks.Dataset.range(3).map(with_commands),
    "parts": lambda: ks.Dataset.range(3).map(with_parts),
    "counter": lambda: ks.Dataset.range(3).map(with_counter),
    "number in a class": lambda: ks.Dataset.range(3).map(fields_of_numbers),
    **{f"named by {name}": pipeline for name, pipeline in NAMED.items()},
}
# As if this file were a script: what it defines is told by value, with all that it uses.
pytestmark = pytest.mark.usefixtures("as_script")


@pytest.fixture
def as_script(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNNAMED", "Zq-environment-7754")
    monkeypatch.setenv("MY_API_KEY", "Zq-env-7766")
    scripts: tuple[Any, ...] = (
        used,
        others,
        objects,
        clients,
        send,
        add,
        prefixed,
        numbers,
        with_array,
    )
    scripts += (helper, by_helper, in_bytes, logs_in, log_in, passes_on, passes_on_in_other_forms)
    scripts += (with_numbers, call_with, unlock, fields_of_numbers)
    scripts += (with_commands, with_parts, with_counter)
    scripts += (held_by_classes, held_by_objects, beside_names, with_pattern, zips)
    for function in scripts:
        monkeypatch.setattr(function, "__module__", "__main__")


def stored_bytes(path: Path) -> Iterator[tuple[str, bytes]]:
    """Every file, as it is and as it reads when it is decompressed."""
    for file in path.rglob("*"):
        if file.is_file():
            data = file.read_bytes()
            yield str(file), data
            for start in range(len(data)):
                if data[start : start + 2] == b"\x1f\x8b":
                    yield f"{file} unpacked", gzip.decompress(data[start:])
                elif data[start : start + 1] == b"\x78":
                    try:
                        yield f"{file} inflated", zlib.decompressobj().decompress(data[start:])
                    except zlib.error:
                        continue


def check_nothing_leaks(path: Path) -> None:
    found = list(stored_bytes(path))
    assert found
    for name, data in found:
        for mark in (b"Zq", b"4815162"):
            at = data.find(mark)
            assert at < 0, f"{name}: {data[max(0, at - 60) : at + 40]!r}"


@pytest.mark.parametrize("name", PIPELINES)
def test_saved_data_holds_no_secret(tmp_path: Path, name: str) -> None:
    PIPELINES[name]().save(tmp_path)
    check_nothing_leaks(tmp_path)


WITH_RECIPES = (
    *("passed on", "other forms", "held by objects", "beside names", "zipped"),
    *("commands", "parts"),
    *("numbers", "captured number", "number in a partial", "named number"),
)


@pytest.mark.parametrize("name", WITH_RECIPES)
def test_a_recipe_holds_no_secret_of_what_is_told_by_value(name: str) -> None:
    text = str(PIPELINES[name]().to_recipe())
    assert "secret sha256" in text
    assert "Zq" not in text
    assert "4815162" not in text


@pytest.mark.parametrize("name", PIPELINES)
def test_a_snapshot_holds_no_secret(tmp_path: Path, name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the environment does not count
        list(PIPELINES[name]().snapshot(tmp_path))
    check_nothing_leaks(tmp_path)
    assert ks.explain(PIPELINES[name](), tmp_path).hit


NUMBERS = ("numbers", "captured number", "number in a partial", "named number")


@pytest.mark.parametrize("name", [*NAMED, *NUMBERS])
def test_neither_the_log_nor_what_is_printed_shows_a_secret(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    dataset = PIPELINES[f"named by {name}" if name in NAMED else name]()
    with caplog.at_level("INFO", "keepset"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the environment does not count
        list(dataset.snapshot(tmp_path))
        list(dataset.take(1).snapshot(tmp_path))
    shown = [caplog.text, repr(dataset), dataset.describe(), dataset._repr_html_()]
    shown.append(str(ks.explain(dataset.take(2), tmp_path)))
    assert caplog.text
    assert "Zq" not in "\n".join(shown)
    assert "4815162" not in "\n".join(shown)
    assert ("<secret sha256:" in dataset.describe()) == (name in NAMED)


def test_a_title_that_is_cut_within_a_secret_shows_nothing_of_it() -> None:
    text = "x" * 20 + "Zq-partial-that-is-long"
    dataset = ks.Dataset.from_tensors(0).map(functools.partial(prefixed, "Zq-partial-that-is-long"))
    cut = dataset.snapshot(text, fingerprint="1")
    assert "Zq" not in cut.describe() + repr(cut)


def test_errors_and_warnings_that_name_a_stage_show_no_secret(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fails(x: Any) -> Any:
        raise ValueError(f"no {len(API_KEY)}")

    dataset = ks.Dataset.range(3).map(fails, name=f"load {API_KEY}")
    with pytest.raises(ValueError, match="no 14") as raised:
        list(dataset)
    text = "".join(traceback.format_exception_only(raised.value))
    assert "<secret sha256:" in text
    assert "Zq" not in text
    with caplog.at_level("DEBUG", "keepset"):
        assert list(dataset.ignore_errors(log_warning=True)) == []
    assert "Zq" not in caplog.text


def test_no_recipe_says_why_without_a_secret(tmp_path: Path) -> None:
    lock = threading.Lock()
    data = ks.Dataset.range(3).map(lambda x: x if lock else helper(), name=f"load {API_KEY}")
    data.save(tmp_path)
    check_nothing_leaks(tmp_path)


def test_the_url_of_a_store_is_shown_without_its_password(
    caplog: pytest.LogCaptureFixture,
) -> None:
    path = "memory://bob:Zq-userinfo-7767@bucket/x"
    dataset = ks.Dataset.range(3)
    with caplog.at_level("INFO", "keepset"):
        list(dataset.snapshot(path))
        assert len(list(dataset.snapshot(path))) == 3
    assert "hit: memory://<secret sha256:" in caplog.text
    assert "Zq" not in caplog.text + str(ks.explain(dataset, path)) + repr(dataset.snapshot(path))
    dataset.save(path + "/saved")
    loaded = pickle.loads(pickle.dumps(ks.load(path + "/saved")))
    assert len(list(loaded)) == 3
    recipe = loaded.to_recipe()
    assert "Zq" not in recipe.to_json() + repr(loaded)
    [name] = re.findall(r'"\$secret": "([^"]*)"', recipe.to_json())
    assert len(list(ks.from_recipe(recipe, data={name: path + "/saved"}))) == 3
    with pytest.raises(SnapshotMissingError) as raised:
        ks.load("memory://bob:Zq-userinfo-7767@bucket/nothing")
    assert "Zq" not in str(raised.value)


def test_the_recipes_are_there_all_the_same(tmp_path: Path) -> None:
    PIPELINES["used"]().save(tmp_path)
    recipe = ks.load(tmp_path).recipe
    assert recipe is not None
    assert "<secret sha256:" in str(recipe)


def test_another_key_is_another_fingerprint_and_neither_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    list(PIPELINES["used"]().snapshot(tmp_path))
    monkeypatch.setitem(globals(), "API_KEY", "Zq-global-9999")
    explanation = ks.explain(PIPELINES["used"](), tmp_path)
    assert not explanation.hit
    assert "API_KEY" in str(explanation)
    assert "<secret sha256:" in str(explanation)
    assert "Zq" not in str(explanation)


def test_a_recipe_asks_for_its_secrets_and_runs_with_them() -> None:
    recipe = PIPELINES["used"]().to_recipe()
    assert "Zq" not in recipe.to_json() + recipe.to_yaml()
    with pytest.raises(RecipeError, match=r"used > password.*a secret that it does not hold"):
        ks.from_recipe(recipe, trust=True)
    data = {
        "1.function > used > password": "Zq-literal-7746",
        "1.function > used > cookie": b"Zq-keyword-7747",
        "1.function > used > a text in it": "hf_Zqshape7748abcdefghij",
        "1.function > used > API_KEY": API_KEY,
        "1.function > used > CONFIG.password": CONFIG["password"],
        "1.function > used > CONFIG.nested[0].token": "Zq-nested-7733",
        "1.function > used default.auth_token": "Zq-default-7745",
    }
    again = ks.from_recipe(recipe, trust=True, data=data, on_change="error")
    assert [int(x) for x in again] == [0, 1, 2]
    for name in data:
        with pytest.raises(RecipeError, match="pass data="):
            ks.from_recipe(recipe, trust=True, data={k: v for k, v in data.items() if k != name})
    changed = {**data, "1.function > used > API_KEY": "another"}
    with pytest.raises(RecipeError, match="not what it was"):
        ks.from_recipe(recipe, trust=True, data=changed, on_change="error")


def test_another_number_for_a_password_is_told_as_digests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    list(PIPELINES["numbers"]().snapshot(tmp_path))
    monkeypatch.setitem(globals(), "DB_PASSWORD", 481516299)
    explanation = str(ks.explain(PIPELINES["numbers"](), tmp_path))
    assert "DB_PASSWORD" in explanation
    assert explanation.count("<secret sha256:") >= 2
    with caplog.at_level("INFO", "keepset"):
        list(PIPELINES["numbers"]().snapshot(tmp_path))
    assert "DB_PASSWORD: '<secret sha256:" in caplog.text
    assert "4815162" not in explanation + caplog.text


def test_a_recipe_asks_for_numbers_and_shows_those_of_sizes() -> None:
    recipe = PIPELINES["captured number"]().to_recipe()
    text = recipe.to_json()
    assert '"max_secret_count": 8' in text
    [name] = re.findall(r'"\$secret": "([^"]*)"', text)
    again = ks.from_recipe(recipe, trust=True, data={name: 481516240}, on_change="error")
    assert [int(x) for x in again] == [0, 1, 2]
    with pytest.raises(RecipeError, match="not what it was"):
        ks.from_recipe(recipe, trust=True, data={name: 1}, on_change="error")
    text = PIPELINES["numbers"]().to_recipe().to_json()
    assert "password_length" in text
    assert '"size": 3' in text


def test_a_recipe_asks_for_texts_in_arrays_and_for_paths() -> None:
    urls = ["https://bob:Zq-1@host/a", "https://host/b"]
    recipe = ks.Dataset.from_tensor_slices(urls).to_recipe()
    assert "Zq" not in recipe.to_json()
    again = ks.from_recipe(recipe, data={"0.tensors[0]": urls[0]})
    assert list(again) == [url.encode() for url in urls]
    path = Path("data") / "sk-Zqshape7740abcdefghijkl"
    recipe = ks.Dataset.range(2).map(lambda x: str(path)).to_recipe()
    assert "Zq" not in recipe.to_json()
    [name] = re.findall(r'"\$secret": "([^"]*)"', recipe.to_json())
    again = ks.from_recipe(recipe, data={name: str(path)}, trust=True)
    assert list(again) == [str(path).encode()] * 2


def test_no_recipe_is_stored_if_none_is_wanted(tmp_path: Path) -> None:
    ds = ks.Dataset.range(3)
    ds.save(tmp_path / "saved", recipe=False)
    ks.save(ds, tmp_path / "saved too", recipe=False)
    list(ds.snapshot(tmp_path / "snapshot", recipe=False))
    assert not list(tmp_path.rglob("recipes/*"))
    assert ks.load(tmp_path / "saved").recipe is None
    ds.save(tmp_path / "with")
    assert list(tmp_path.rglob("recipes/*"))


class AttrDict(dict[str, Any]):
    __getattr__ = dict.get


INSIDE_ITSELF: list[Any] = []
INSIDE_ITSELF.append(INSIDE_ITSELF)
DEEP: list[Any] = []
for _ in range(3000):
    DEEP = [DEEP]
ATTRIBUTES = AttrDict(a=1)


class Hostile:
    def __reduce_ex__(self, protocol: Any) -> Any:
        return (Hostile, ())

    @property
    def __dict__(self) -> Any:  # type: ignore[override]
        raise OSError("not now")


HOSTILE = Hostile()


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x + len(INSIDE_ITSELF),
        lambda x: x + len(DEEP),
        lambda x: x + len(ATTRIBUTES),
        lambda x: x if HOSTILE else -x,
    ],
    ids=["inside itself", "deep", "getattr", "hostile"],
)
def test_what_no_recipe_can_be_written_of_is_saved_and_says_why(
    tmp_path: Path, function: Callable[[Any], Any]
) -> None:
    ks.Dataset.range(3).map(function).save(tmp_path)
    assert len(list(ks.load(tmp_path))) == 3
    assert ks.load(tmp_path).recipe is None
    from keepset.snapshot.looking import Snapshot

    assert Snapshot(tmp_path).no_recipe


@pytest.mark.parametrize("nested", [INSIDE_ITSELF, DEEP], ids=["inside itself", "deep"])
def test_to_recipe_says_what_is_nested_too_deeply(nested: Any) -> None:
    with pytest.raises(RecipeError, match="nested"):
        ks.Dataset.range(3).map(lambda x: x + len(nested)).to_recipe()
