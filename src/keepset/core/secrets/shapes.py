"""Shapes: secrets that are known by how they look, whatever they are called.

No pattern may take more than linear time. One that can begin anywhere in a long word has bounds.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from keepset.core.secrets.commands import Span, command_spans
from keepset.core.secrets.values import looks_random

_SHORTEST_KEY: Final = 15
_URL_SAFE: Final = str.maketrans("-_", "+/")

# User info that is only a name is none in the URLs of some stores and of ssh.
_NAMES: Final = r"(?!(?:abfss?|wasbs?|(?:git\+)?ssh|sftp)://[^:/@\s]+@)"
_PLAIN: Final = r"[^/?#\s\"'@{}]+(?:@[^/?#\s\"'@{}]+)*(?=@)"
# A password with /, ? or # in it is not quoted as it should be. What stands behind the colon is no
# port then.
_ODD: Final = r"(?!\[)[^:/?#\s\"'@{}]{0,256}:(?!\d+(?:[/?#]|$))[^\s\"'{}]{1,256}(?=@)"
_USER_INFO: Final = (
    rf"(?<![A-Za-z0-9+.-]){_NAMES}[A-Za-z][A-Za-z0-9+.-]*+://"
    rf"(?P<secret>(?!<secret)(?:{_PLAIN}|{_ODD}))"
)
# User info without a scheme. Names before addresses of e-mail look much the same. Without a port, a
# password is therefore no word, has not the name in it, and is not in small letters before a domain
# of two parts.
_MAIL: Final = r"(?!(?i:mailto|e-?mail|mail|from|to|b?cc|reply-to|sips?|xmpp|acct|author|user):)"
_WORDS: Final = (
    r"(?![A-Za-z._+-]*@)(?![^\s@]{0,256}(?P=name))(?![a-z0-9._+-]*@[\w-]+\.[a-z]+(?![\w.-]*\w))"
)
_DOTTED: Final = (
    r"(?:(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}|(?:\d{1,3}\.){3}\d{1,3})(?![\w.-]*\w)"
)
_PORT: Final = r"(?!sha\d)[\w.-]{1,253}:\d{2,5}(?!\w)"
_PASSWORD: Final = r"[^\s/:'\"<>(){}\[\],;]{1,256}"
_LOGIN: Final = (
    rf"(?<![\w.%+/@:-]){_MAIL}(?P<secret>(?P<name>[A-Za-z_][\w.%+-]{{0,63}}):"
    rf"(?:{_PASSWORD}(?=@{_PORT})|{_WORDS}{_PASSWORD}(?=@{_DOTTED})))"
)


def shape_spans(text: str) -> Iterator[Span]:
    """Where a text holds secrets of a known shape."""
    lowered = text.lower()
    yield from command_spans(text)
    for needle, pattern in _patterns():
        # Most texts have none of them, and this is much faster than to search for a pattern.
        if needle in lowered:
            group = "secret" if "secret" in pattern.groupindex else 0
            yield from (found.span(group) for found in pattern.finditer(text))
    if "basic" in lowered:
        for found in _basic().finditer(text):
            if _is_login(found["secret"]):
                yield found.span("secret")
    if len(text) >= _SHORTEST_KEY:
        yield from (found.span() for found in _keys().finditer(text))


def _is_login(text: str) -> bool:
    """Whether what follows ``Basic`` is ``user:password`` in base64, or might be."""
    padded = text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4)
    try:
        login = base64.b64decode(padded.translate(_URL_SAFE))
        return b":" in login and login.decode().isprintable()
    except (binascii.Error, UnicodeDecodeError):
        return looks_random(text)


# Compiling these takes longer than importing the rest of this file.


@cache
def _basic() -> re.Pattern[str]:
    return re.compile(r"(?i)\bbasic\s+(?P<secret>[A-Za-z0-9+/_-]{8,}+=*)")


@cache
def _patterns() -> list[tuple[str, re.Pattern[str]]]:
    """Patterns, each with what every text that it matches has in lower case."""
    patterns = [
        (
            "private key",
            r"-----BEGIN[A-Z0-9 ]* PRIVATE KEY(?: BLOCK)?-----"
            r"(?:[\s\S]*?-----END[A-Z0-9 ]* PRIVATE KEY(?: BLOCK)?-----|[\s\S]*)",
        ),
        (
            "hooks.slack.com",
            r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[\w/]{16,})",
        ),
        ("discord", r"discord(?:app)?\.com/api/webhooks/(?P<secret>\d+/[\w-]{16,})"),
        ("webhook.office.com", r"webhook\.office\.com/webhookb2/(?P<secret>[^\s\"'<>?]{16,})"),
        ("hooks.zapier.com", r"hooks\.zapier\.com/hooks/catch/(?P<secret>\d+/\w+)"),
        ("jdbc:oracle", r"jdbc:oracle:\w+:(?P<secret>[^\s@:]+)@"),
        ("identified", r"(?i)identified\s+by\s+['\"](?P<secret>[^\s'\"]+)"),
        ("bearer", r"(?i)\bbearer\s+(?P<secret>(?=[\w.~+/-]*[\d.])[\w.~+/-]{8,}=*)"),
        # A text with nothing else in it is a header, so that its secret may be words as well.
        ("bearer", r"(?i)\A\s*bearer\s+(?!auth)(?P<secret>[\w.~+/-]{8,}=*)\s*\Z"),
        ("@", _LOGIN),
        # Of a bot of Telegram, in whose URLs the word "bot" stands right before it.
        (":aa", r"(?<!\d)\d{8,10}:AA[\w-]{30,}"),
        ("://", _USER_INFO),
    ]
    return [(needle, re.compile(pattern)) for needle, pattern in patterns]


@cache
def _keys() -> re.Pattern[str]:
    """Keys of services, by what they begin with."""
    # In a long word, as many letters are looked through for a digit.
    digit = r"(?=[A-Za-z_-]{0,40}\d)"
    shapes = [
        r"(?:AKIA|ASIA)[0-9A-Z]{16}",
        r"gh[pousr]_[A-Za-z0-9]{20,}",
        r"github_pat_\w{20,}",
        r"gl(?:pat|dt|rt|cbt|ptt)-[\w-]{16,}",
        r"glsa_[A-Za-z0-9]{20,}(?:_[0-9a-f]+)?",
        r"sk-[\w-]{16,}",
        r"(?:sk|rk)_(?:live|test)_\w{10,}",
        r"whsec_[\w+/]{16,}=*",
        r"xox[a-z]-[\w-]{10,}",
        r"xapp-[\w-]{10,}",
        r"xai-[A-Za-z0-9]{32,}",
        r"AIza[\w-]{30,}",
        r"ya29\.[\w-]{16,}",
        r"1//0[\w-]{20,}",
        r"GOCSPX-[\w-]{16,}",
        r"EAAC[A-Za-z0-9]{20,}",
        r"hf_[A-Za-z0-9]{16,}",
        r"api_org_[A-Za-z0-9]{16,}",
        r"r8_[A-Za-z0-9]{16,}",
        r"gsk_[A-Za-z0-9]{16,}",
        r"nvapi-[\w-]{16,}",
        r"pplx-[A-Za-z0-9]{16,}",
        rf"tgp_v1_{digit}[\w-]{{20,}}",
        rf"pcsk_{digit}\w{{20,}}",
        rf"fw_{digit}[A-Za-z0-9]{{20,}}",
        r"lsv2_[a-z]{2}_[0-9a-f]{16,}(?:_[0-9a-f]+)?",
        r"npm_[A-Za-z0-9]{20,}",
        r"pypi-[\w-]{16,}",
        r"rubygems_[0-9a-f]{32,}",
        r"dckr_(?:pat|oat)_[\w-]{16,}",
        r"do[opr]_v1_[0-9a-f]{16,}",
        rf"dp\.(?:pt|st|ct|sa|scim|audit)\.{digit}[\w.-]{{20,}}",
        r"dapi[0-9a-f]{32}",
        r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{16,}",
        r"sq0[a-z]{3}-[\w-]{20,}",
        r"hv[sbr]\.[\w-]{16,}",
        r"SG\.[\w-]{16,}\.[\w-]{16,}",
        r"lin_api_\w{16,}",
        rf"ntn_{digit}[A-Za-z0-9]{{20,}}",
        rf"secret_{digit}[A-Za-z0-9]{{40,}}",
        rf"figd_{digit}[\w-]{{20,}}",
        r"apify_api_[A-Za-z0-9]{20,}",
        rf"ph[cx]_{digit}[A-Za-z0-9]{{20,}}",
        r"ATATT[\w=-]{30,}",
        r"pul-[0-9a-f]{32,}",
        r"NRAK-[A-Z0-9]{20,}",
        r"sntry[su]_[\w+/=.-]{20,}",
        r"key-[0-9a-f]{32}(?![0-9a-z])",
        r"tskey-[\w-]{16,}",
        rf"tvly-{digit}[\w-]{{16,}}",
        r"wandb_v1_\w{20,}",
        r"AGE-SECRET-KEY-1[0-9A-Z]{16,}",
        r"\w{3}8Q~[\w~.-]{30,}",
        r"eyJ[\w-]{8,500}\.[\w-]{8,}(?:\.[\w-]*)*",
    ]
    return re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(shapes)})")
