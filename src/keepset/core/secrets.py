"""Secrets: which values must not be stored as they are, and what is stored in their place.

A text (or bytes) is secret by the name that it goes by, by its own shape, or because it contains a
text that is secret elsewhere. Numbers, arrays and functions never are. What is stored of a secret
is a short digest, which says that it changed and not what it is.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from contextlib import suppress
from functools import cache, lru_cache
from itertools import pairwise
from types import FunctionType, MethodType
from typing import Any, Final

# How surely a name is that of a secret. Below ALL, everything is hidden, numbers included.
NONE, WEAK, SURE, ALL = range(4)

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Any of these words makes a name a secret's.
_ALWAYS: Final = _words(
    """
    secret secrets password passwords passwd passwds pwd pwds pw pws passphrase passphrases passcode
    credential credentials cred creds auth oauth authorization bearer cookie cookies jwt apikey
    apikeys apitoken apisecret accesskey accesstoken secretkey privatekey accountkey authkey
    authtoken sessionkey sessiontoken sharedkey signingkey encryptionkey pgpassword
    """
)
# With one of these, a key, keys, a token or tokens are secret.
_OWNERS: Final = _words(
    """
    access account aes anthropic api app aws azure bot client cloud cohere csrf deploy
    encryption fernet gcp gcs gh github gitlab google groq hf hmac huggingface jupyter kaggle
    license master mistral openai pat pgp private refresh replicate rsa sas security
    sendgrid sentry service session shared signing slack ssh ssl storage stripe tls twilio
    vault wandb webhook xsrf
    """
)
# With one of these, what ends with "pass" is a password.
_LOGINS: Final = _words(
    """
    admin database db email ftp http imap login mail mongo mysql pg postgres proxy redis root
    sftp smtp sql ssh sudo user
    """
)
# With one of these and none of the above, a key or a token is no secret: it names a column, orders
# rows or belongs to a text.
_HARMLESS: Final = _words(
    """
    audio batch begin blank bos bytes cache caption char class cls column cols count data
    delimiter dict doc document end eos example feature features field file first foreign frame
    frames func getter group hash head id ids image img index input join json label labels last
    lookup map mask min max meta metadata model name natural new newline next num object oov
    out output pad padding partition pixel point points position prefix prev primary public
    query record row sample sep separator sequence shard sort sos source
    special split start state stop str sub subword suffix table tag target text train type
    unique unk unknown val value values vector video vocab word words
    """
)
# A name that ends with one of these says something about a secret, and is none.
_ABOUT: Final = _words(
    """
    algorithm class col column columns count dir dirs domain enabled encoding endpoint env
    error expires expiry field fields file filename files fn folder format func function host
    index indices kind label len length message method mode module name names order path paths
    pattern policy position positions prefix prompt provider realm regex required rule scheme
    scope scopes sep separator shape size suffix ttl type types uri url urls var variable
    version
    """
)
# Larger containers are never shown item by item.
_MOST_ITEMS: Final = 100
_OPTIONS: Final = {"storageoptions", "storeoptions", "clientkwargs"}
# What people call columns, classes and special tokens: no digest would protect it either.
_ORDINARY: Final = re.compile(r"(?=.{1,20}\Z)[a-z]+(_[a-z]+)*|[<\[]/?[A-Za-z_]{1,14}[>\]]")

_PLACEHOLDER: Final = re.compile(r"<secret sha256:[0-9a-f]{8}>")


@lru_cache(4096)
def strength_of_name(name: str) -> int:
    """Whether what goes by this name is secret: ``NONE``, ``WEAK``, ``SURE`` or ``ALL``.

    Only whole words count. Of a ``WEAK`` name, values that are ordinary words are no secrets.

    Example:
        >>> [strength_of_name(name) for name in ("apiKey", "tokenizer", "key", "storage_options")]
        [2, 0, 1, 3]
    """
    words = [word.lower() for word in _WORD.findall(name)]
    if not words:
        return NONE
    found = set(words)
    if _OPTIONS & {"".join(pair) for pair in pairwise(words)}:
        return ALL
    if words[-1] in _ABOUT or ("public" in found and not found & {"private", "secret"}):
        return NONE
    # Also where words are written together: mypassword, dbpass.
    has_password = any(word.endswith(("password", "passwd")) for word in words)
    if found & _ALWAYS or has_password or {"connection", "string"} <= found:
        return SURE
    if found & {"key", "token"}:
        if found & _OWNERS:
            return SURE
        return NONE if found & _HARMLESS else WEAK
    is_owned = found & {"keys", "tokens"} and found & _OWNERS
    login = words[-1].removesuffix("pass")
    is_pass = words[-1] == f"{login}pass" and (login in _LOGINS or (not login and found & _LOGINS))
    return SURE if is_owned or is_pass else NONE


def is_secret(value: Any, strength: int) -> bool:
    """Whether a single value that goes by a name of this strength is hidden."""
    if strength == ALL and isinstance(value, int | float):
        return True
    if strength == NONE or not isinstance(value, str | bytes) or not len(value):
        return False
    text = _decoded(value)
    if _PLACEHOLDER.fullmatch(text):
        return False
    return strength > WEAK or not _ORDINARY.fullmatch(text)


def placeholder(value: Any) -> str:
    """What is stored of a secret."""
    data = value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")
    return f"<secret sha256:{hashlib.sha256(data).hexdigest()[:8]}>"


def _decoded(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode("latin-1")


class Mask:
    """Hides secrets in texts and plain values.

    Args:
        known: Texts that are secret elsewhere in the same document.
    """

    def __init__(self, known: Iterable[str] = ()) -> None:
        # The longest first: one may contain another.
        self.known = tuple(sorted(set(known), key=lambda each: (-len(each), each)))

    def text(self, text: str) -> str:
        """The text, with a placeholder for each secret in it."""
        for each in self.known:
            if each in text:
                text = text.replace(each, placeholder(each))
        if not _maybe().search(text):
            return text
        for pattern in _patterns():
            text = pattern.sub(_replaced, text)
        if "=" in text:
            text = _pairs().sub(_replaced_pair, text)
        return _items().sub(_replaced_item, text) if ":" in text else text

    def whole(self, value: Any, strength: int) -> Any:
        """A single value as text without secrets, however long; itself if it has none."""
        if is_secret(value, strength):
            return placeholder(value)
        text = _decoded(value)
        shown = self.text(text)
        return value if shown == text else shown

    def value(self, value: Any, strength: int = NONE, depth: int = 4) -> Any:
        """A plain value or a container of such, without its secrets; itself if it has none."""
        if is_secret(value, strength):
            hidden = placeholder(value)
            return hidden.encode() if isinstance(value, bytes) else hidden
        kind = type(value)
        if kind is str:
            # Only the beginning of a long text is ever shown.
            shown = self.text(value[:4096])
            return value if shown == value[:4096] else shown
        if kind is bytes:
            before = value[:4096].decode("latin-1")
            shown = self.text(before)
            return value if shown == before else shown.encode("latin-1", "replace")
        if depth == 0 or kind not in (list, tuple, set, frozenset) or len(value) > _MOST_ITEMS:
            return value
        inner = [self.value(item, strength, depth - 1) for item in value]
        if kind in (list, tuple) and strength_of_pair(value) > strength:
            inner[1] = self.value(value[1], strength_of_pair(value), depth - 1)
        if all(new is old for new, old in zip(inner, value, strict=True)):
            return value
        return kind(inner)


def strength_of_pair(value: Any) -> int:
    """That of the name in a pair such as ``("Authorization", "Bearer ...")``."""
    if type(value) not in (list, tuple) or len(value) != 2 or type(value[0]) is not str:
        return NONE
    strength = strength_of_name(value[0])
    return strength if strength >= SURE else NONE


def positional_name(function: Any, number: int) -> str:
    """What a function calls its argument at a position; empty if that cannot be told."""
    skipped = 0
    if isinstance(function, type):
        function, skipped = function.__init__, 1  # type: ignore[misc]
    elif isinstance(function, MethodType):
        function, skipped = function.__func__, 1
    if not isinstance(function, FunctionType):
        return ""
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    return names[number + skipped] if number + skipped < len(names) else ""


def secret_texts(value: Any, strength: int = NONE, depth: int = 4) -> set[str]:
    """The texts in a value that are secret by a name, and that nothing else may contain."""
    if isinstance(value, str | bytes):
        text = _decoded(value)
        # A shorter one is part of too much else.
        return {text} if len(text) >= 6 and is_secret(value, strength) else set()
    kind = type(value)
    if kind not in (list, tuple, set, frozenset, dict) or depth == 0 or len(value) > _MOST_ITEMS:
        return set()
    found: set[str] = set()
    # A copy: a memo may be filled by another thread meanwhile.
    named = list(value.items()) if kind is dict else [("", item) for item in list(value)]
    for name, item in named:
        own = strength_of_name(_decoded(name)) if type(name) in (str, bytes) and name else NONE
        if strength or own or not isinstance(item, str | bytes):
            found |= secret_texts(item, max(strength, own), depth - 1)
    pair = strength_of_pair(value)
    return found | secret_texts(value[1], pair, depth - 1) if pair else found


def secrets_of_function(function: FunctionType) -> set[str]:
    """The texts that are secret by the names of the variables by which a function uses them."""
    found: set[str] = set()
    code, outside = function.__code__, function.__globals__
    for name in code.co_names:
        if name in outside:
            found |= secret_texts(outside[name], strength_of_name(name))
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):  # not assigned yet
            found |= secret_texts(cell.cell_contents, strength_of_name(name))
    return found


def _replaced(found: re.Match[str]) -> str:
    """The match, in which the group ``secret`` is hidden, or all of it if there is none."""
    group = "secret" if "secret" in found.re.groupindex else 0
    start, end = (edge - found.start() for edge in found.span(group))
    return found[0][:start] + placeholder(found[group]) + found[0][end:]


def _replaced_pair(found: re.Match[str]) -> str:
    name, value = found["name"], found["value"]
    strength = strength_of_name(name)
    if re.split(r"[_.-]", name.lower())[-1] in ("sig", "signature"):
        strength = SURE
    if strength == WEAK and not found["before"]:
        strength = NONE  # in a text for people
    # What begins so is filled in later.
    is_hidden = value[0] not in "%$<" and is_secret(value, min(strength, SURE))
    return f"{found['before'] or ''}{name}={placeholder(value)}" if is_hidden else found[0]


def _replaced_item(found: re.Match[str]) -> str:
    group = "plain" if found["quoted"] is None else "quoted"
    value = found[group]
    # Without quotes, a word may be part of a text for people: "password: the one of the server".
    is_hidden = group == "quoted" or not value.replace("_", "").replace(".", "").isalpha()
    if not is_hidden or value[0] in "%$<{" or strength_of_name(found["name"]) < SURE:
        return found[0]
    start, end = (edge - found.start() for edge in found.span(group))
    return found[0][:start] + placeholder(value) + found[0][end:]


# Compiling these takes longer than importing the rest of this file.


@cache
def _maybe() -> re.Pattern[str]:
    """What every text has that one of the patterns can match."""
    return re.compile(r"[\w.~+/:-]{16}|:|=|PRIVATE KEY|(?i:bearer|basic) ")


@cache
def _pairs() -> re.Pattern[str]:
    """``name=value`` as in the query of a URL, or in a connection string."""
    return re.compile(
        r"(?:(?P<before>[?&])|(?<=[;\s\"'])|(?<=[\s\"']-)|(?<=--)|^)(?P<name>[A-Za-z][\w.-]*)=(?P<value>[^&;\s\"'{}#]+)",
        re.MULTILINE,
    )


@cache
def _items() -> re.Pattern[str]:
    """``"name": "value"`` as in JSON, or ``name: value`` as in YAML and in headers."""
    return re.compile(
        r"(?<![\w.-])(?P<name>[A-Za-z_][\w.-]*)[\"']?\s*:\s*"
        r"(?:(?P<quote>[\"'])(?P<quoted>[^\"']+)(?P=quote)|(?P<plain>[^\s\"',;{}\[\]()]+))"
    )


@cache
def _patterns() -> list[re.Pattern[str]]:
    shapes = [
        r"(?:AKIA|ASIA)[0-9A-Z]{16}",
        r"gh[pousr]_[A-Za-z0-9]{20,}",
        r"github_pat_\w{20,}",
        r"gl(?:pat|dt|rt|cbt|ptt)-[\w-]{16,}",
        r"sk-[\w-]{16,}",
        r"(?:sk|rk)_(?:live|test)_\w{10,}",
        r"whsec_[\w+/]{16,}=*",
        r"xox[a-z]-[\w-]{10,}",
        r"xapp-[\w-]{10,}",
        r"AIza[\w-]{30,}",
        r"ya29\.[\w-]{16,}",
        r"GOCSPX-[\w-]{16,}",
        r"hf_[A-Za-z0-9]{16,}",
        r"api_org_[A-Za-z0-9]{16,}",
        r"r8_[A-Za-z0-9]{16,}",
        r"gsk_[A-Za-z0-9]{16,}",
        r"nvapi-[\w-]{16,}",
        r"pplx-[A-Za-z0-9]{16,}",
        r"npm_[A-Za-z0-9]{20,}",
        r"pypi-[\w-]{16,}",
        r"dckr_(?:pat|oat)_[\w-]{16,}",
        r"do[opr]_v1_[0-9a-f]{16,}",
        r"dapi[0-9a-f]{32}",
        r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{16,}",
        r"hv[sbr]\.[\w-]{16,}",
        r"SG\.[\w-]{16,}\.[\w-]{16,}",
        r"lin_api_\w{16,}",
        r"tskey-[\w-]{16,}",
        r"AGE-SECRET-KEY-1[0-9A-Z]{16,}",
        r"\w{3}8Q~[\w~.-]{30,}",
        r"\d{8,10}:AA[\w-]{32,}",
        r"eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)*",
    ]
    # User info that is only a name is none in the URLs of some stores and of ssh.
    names = r"(?!(?:abfss?|wasbs?|(?:git\+)?ssh|sftp)://[^:/@\s]+@)"
    return [
        re.compile(
            r"-----BEGIN[A-Z0-9 ]* PRIVATE KEY(?: BLOCK)?-----"
            r"(?:[\s\S]*?-----END[A-Z0-9 ]* PRIVATE KEY(?: BLOCK)?-----|[\s\S]*)"
        ),
        re.compile(
            rf"(?<![A-Za-z0-9+.-]){names}[A-Za-z][A-Za-z0-9+.-]*://"
            r"(?P<secret>(?!<secret)[^/?#\s\"'@{}]+(?:@[^/?#\s\"'@{}]+)*)@"
        ),
        re.compile(r"hooks\.slack\.com/(?:services|workflows)/(?P<secret>[\w/]{16,})"),
        re.compile(r"discord(?:app)?\.com/api/webhooks/(?P<secret>\d+/[\w-]{16,})"),
        re.compile(r"(?i)\bbearer\s+(?P<secret>(?=[\w.~+/-]*[\d.])[\w.~+/-]{8,}=*)"),
        re.compile(r"\b[Bb]asic\s+(?P<secret>(?=[A-Za-z+/]*\d)[A-Za-z0-9+/]{12,}=*)"),
        re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(shapes)})"),
    ]
