"""Names: how surely what goes by a name is a secret.

Only whole words of a name count, so that ``tokenizer`` and ``author`` are none. The words are
tables here; tests/core/test_secrets.py has names that must be hidden or must stay readable.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from typing import Final

# How surely a name is that of a secret. Of a VAGUE one, only texts that look random are hidden; of
# a WEAK one, all but ordinary words; of a SURE one, all texts; of ALL, numbers as well.
NONE, VAGUE, WEAK, SURE, ALL = range(5)

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_LETTERS: Final = re.compile(r"[A-Za-z]+")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Any of these words makes a name a secret's, also if it is written as two.
_ALWAYS: Final = _words(
    """
    secret secrets password passwords passwd passwds pwd pwds pw pws passphrase passphrases
    passcode passkey passkeys credential credentials cred creds auth oauth authorization bearer
    cookie cookies jwt passwort apikey apikeys apitoken apisecret accesskey accesstoken
    secretkey privatekey accountkey authkey authtoken idtoken sessionkey sessiontoken sharedkey
    signingkey encryptionkey pgpassword connectionstring connstring connstr dsn totp otp
    seedphrase mnemonic mnemonics recoverycode recoverycodes recoveryphrase backupcode
    backupcodes webhook webhooks webhookurl webhookurls sasurl sasuri presignedurl signedurl
    """
)
# With one of these, a key, keys, a token or tokens are secret.
_OWNERS: Final = _words(
    """
    access account aes airtable anthropic api app aws azure bot client cloud cloudflare cohere
    comet csrf databricks datadog deepgram deepseek deploy discord docker elevenlabs encryption
    fernet figma fireworks gcp gcs gemini gh github gitlab google groq heroku hf hmac
    huggingface jira jupyter kaggle langchain langsmith license mailgun mapbox master mistral
    mlflow neptune ngc notion npm nvidia okta openai openrouter pat perplexity pgp pinecone
    private pypi qdrant refresh replicate roboflow rsa sas security sendgrid sentry service
    session shared shopify signing slack snowflake ssh ssl storage stripe subscription supabase
    telegram tls twilio vault wandb weaviate webhook xsrf
    """
)
# With one of these, what ends with "pass" is a password.
_LOGINS: Final = _words(
    """
    admin database db email ftp http imap login mail mongo my mysql pg postgres proxy redis root
    sftp smtp sql ssh sudo user
    """
)
# With one of these and none of the above, a key or a token is no secret: it names a column, orders
# rows or belongs to a text, to music or to a layer.
_HARMLESS: Final = _words(
    """
    action attention attn audio batch begin blank bos bytes cache caption char chord class cls
    color column cols count delimiter dict dim dims doc document embed embedding embeddings end
    eos example feature features field first foreign frame frames func getter group hash head id
    ids image img index input join json label labels language last layer level levels lookup
    major map mask melody merge min max meta metadata minor mode model music name natural new
    newline next note num object oov out output pad padding partition piano pitch pixel point
    points position prefix prev primary prng proj projection public query random record reward
    rng row sample scale sep separator sequence shard signature sort sos source special split
    start state step stop sub subword suffix table tag target text timestamp train type unique
    unk unknown val values vector video vocab word words
    """
)
# Harmless as well, but only before it: a token_value is one.
_HARMLESS_BEFORE: Final = _words("str value")
# A name that ends with one of these says something about a secret, and is none.
_ABOUT: Final = _words(
    """
    algorithm banner class col column columns consent count cutter dim dims dir dirs domain
    dough embedding embeddings enabled encoding endpoint env error errors exception expires
    expiry field fields file filename files fn folder format func function host index indices
    kind label len length level message method mode module monster name names order path paths
    pattern policy position positions prefix prompt provider realm recipe regex required rule
    scheme scope scopes sep separator shape size suffix ttl type types uri url urls var variable
    version
    """
)
# With a name of a service, or "my", before them and written together with it: hftoken, openaikey.
_TOGETHER: Final = re.compile(r"(?P<owner>[a-z]{2,}?)(?:keys?|tokens?|secrets?)")
_OWN: Final = _words("my our user your")
_OPTIONS: Final = _words("storageoptions storeoptions clientkwargs")
_SESSIONS: Final = _words("sessionid sessid")


# What every name of a secret has one of, in lower case.
_STEMS: Final = _words(
    """
    key token secret pass pw cred auth cookie bearer jwt conn options kwargs dsn webhook signed sess
    sas otp salt pepper login nonce seedphrase seed_phrase mnemonic recovery backup signature
    """
)
_PAT: Final = re.compile("p(?:at|in)(?![a-z])")
# A code with one of these lets its owner in.
_OF_CODES: Final = _words(
    "access activation invite invitation pairing pin security unlock verification"
)
_CODE: Final = re.compile(f"(?:{'|'.join(sorted(_OF_CODES))})[_-]?codes?")
# With one of these, a login says when or how often, and a PIN is a contact of a plug.
_OF_LOGINS: Final = _words("count date day first last number page time times")
_OF_SALTS: Final = _words("hash id random")
_OF_PINS: Final = _words("account admin atm bank card login my sim user")
# A number that goes by a name that ends with one of these is secret as well.
_ALSO_NUMBERS: Final = tuple(
    f"{word}{end}"
    for word in ("password", "passwd", "pwd", "passcode", "secret", "credential")
    for end in ("", "s")
)
# A name that starts with one of these is that of a count or of a limit.
_COUNTING: Final = _words("count len max min n nb no num number total")


def may_name_secrets(text: str) -> bool:
    """Whether a text may have a secret's name in it; quick, for most have none."""
    # A search for each is several times as fast as one expression for all.
    lowered = text.lower()
    if any(stem in lowered for stem in _STEMS):
        return True
    is_short = ("pat" in lowered or "pin" in lowered) and _PAT.search(lowered) is not None
    return is_short or ("code" in lowered and _CODE.search(lowered) is not None)


@lru_cache(4096)
def strength_of_name(name: str) -> int:
    """Whether what goes by this name is secret: ``NONE``, ``VAGUE``, ``WEAK``, ``SURE`` or ``ALL``.

    Example:
        >>> [strength_of_name(name) for name in ("apiKey", "tokenizer", "key", "db_password")]
        [3, 0, 2, 4]
    """
    words = [word.lower() for word in _WORD.findall(name)]
    if not words:
        return NONE
    strength = _of_words(name, words)
    if strength != SURE or words[0] in _COUNTING:
        return strength
    return ALL if "".join(words[-2:]).endswith(_ALSO_NUMBERS) else SURE


def _of_words(name: str, words: list[str]) -> int:
    found, pairs = set(words), {"".join(pair) for pair in pairwise(words)}
    # Also what is written with capitals that are no borders: APIkey.
    joined = found | pairs | {each.lower() for each in _LETTERS.findall(name)}
    if _OPTIONS & pairs:
        return ALL
    if joined & _ALWAYS & {f"{start}{words[-1]}" for start in _URLS}:
        return SURE
    if words[-1] in _ABOUT or ("public" in found and not found & {"private", "secret"}):
        return NONE
    # Also where words are written together: mypassword, dbpass.
    if joined & _ALWAYS or any(word.endswith(("password", "passwd")) for word in words):
        return SURE
    return max(
        _of_keys(words, joined), _of_passes(words), _of_ids(words, joined), _of_hashes(words)
    )


# Their addresses are all that a caller needs.
_URLS: Final = ("webhook", "sas", "presigned", "signed")


def _of_keys(words: list[str], joined: set[str]) -> int:
    """That of a key, a token or several."""
    found = set(words)
    owners = {each["owner"] for word in joined if (each := _TOGETHER.fullmatch(word))}
    if owners & _OWNERS or (found & _OWNERS and found & {"key", "keys", "token", "tokens"}):
        return SURE
    if found & {"key", "token"}:
        first = next(i for i, word in enumerate(words) if word in ("key", "token"))
        is_harmless = found & _HARMLESS or _HARMLESS_BEFORE & set(words[:first])
        return NONE if is_harmless else WEAK
    if owners & _OWN:
        return WEAK
    return VAGUE if found & {"keys", "tokens"} and not found & _HARMLESS else NONE


def _of_passes(words: list[str]) -> int:
    login = words[-1].removesuffix("pass")
    if words[-1] != f"{login}pass":
        return NONE
    if login in _LOGINS or (not login and set(words) & _LOGINS):
        return SURE
    return WEAK if words == ["pass"] else NONE


def _of_hashes(words: list[str]) -> int:
    """That of what a hash is made with, of a login, a PIN and a code that lets its owner in."""
    found, last = set(words), words[-1]
    # Noise of salt and pepper is none, and neither are vegetables.
    if last in ("salt", "salts", "pepper", "peppers") and not found & _HARMLESS - _OF_SALTS:
        return NONE if "salt" in "".join(words[:-1]) or "bell" in found else WEAK
    if last in ("login", "logins") and not found & _OF_LOGINS:
        return WEAK
    if last in ("pin", "pins") and (len(words) == 1 or found & _OF_PINS):
        return WEAK
    if last in ("code", "codes") and found & _OF_CODES:
        return WEAK
    return VAGUE if last in ("nonce", "nonces") else NONE


def _of_ids(words: list[str], joined: set[str]) -> int:
    """That of what a caller is let in by: ids of sessions, signatures and tokens of services."""
    if joined & _SESSIONS or words[-1].endswith("sessid") or words[-1] == "sas":
        return WEAK
    if words[-1] == "pat":
        return SURE if set(words[:-1]) & _OWNERS else VAGUE
    return VAGUE if words[-1] == "signature" else NONE
