"""Errors of object stores: what obstore says in many lines, as one with the bucket and a remedy."""

from __future__ import annotations

import errno
import re
from typing import Final

from keepset.core.secrets import Mask
from keepset.errors import InvalidArgumentError, KeepsetError, ObjectMissingError, StorageError
from keepset.storage.clients import is_kind

_NO_BUCKET: Final = ("NoSuchBucket", "ContainerNotFound", "specified bucket does not exist")
_OTHER_REGION: Final = (
    *("PermanentRedirect", "AuthorizationHeaderMalformed", "redirect without LOCATION"),
)
# Where obstore asks for credentials if it was given none: the machines of a cloud have some.
_METADATA: Final = ("://169.254.169.254", "://169.254.170.2", "://metadata.google.internal")
_CREATE_BUCKET: Final = "create it, or check the name and the endpoint"
_MOST_CHARACTERS: Final = 300


def failed(action: str, url: str, error: Exception) -> KeepsetError:
    """The error to raise for what obstore said."""
    said = str(error)
    if isinstance(error, ValueError) and "parse path" in said:
        return InvalidArgumentError(
            f"{url!r} cannot name an object: {_first_line(said)}; use another name"
        )
    number, reason, hint = _explained(url, error, said)
    return StorageError(f"cannot {action} {url}: {reason}; {hint}", url=url, number=number)


def missing_object(url: str, error: Exception) -> ObjectMissingError:
    """The error for an object that is not there, or whose bucket is not."""
    if _is_any(_NO_BUCKET, str(error)):
        reason = f"{url} does not exist: {_no_bucket(url)}; {_CREATE_BUCKET}"
        return ObjectMissingError(reason, url=url)
    # The answer to a request for the size has no words that would tell one from the other.
    hint = "check the path and the bucket, and whether something else removed it"
    return ObjectMissingError(f"{url} does not exist; {hint}", url=url)


def _no_bucket(url: str) -> str:
    return f"the bucket {_bucket(url)!r} does not exist"


def _explained(url: str, error: Exception, said: str) -> tuple[int, str, str]:
    """The number, the reason and the remedy."""
    answer, _, details = said.partition("Debug source:")
    status = _found(r"status code: (\d{3}[ \w-]*)", answer)
    # A wrong setting is not a store out of reach: a pass must not go on without storing anything.
    if _is_any(_NO_BUCKET, answer):
        return errno.ENOENT, _no_bucket(url), _CREATE_BUCKET
    # The words of an upload have no details.
    is_plain = "builder error" in answer and _endpoint(answer).startswith("http://")
    if is_plain or "BadScheme" in details:
        reason = f"{_endpoint(answer)} is not encrypted, and http was not allowed"
        return errno.EINVAL, reason, 'pass allow_http="true", or an endpoint with https://'
    if _is_any(_OTHER_REGION, answer) and "region" in answer.lower():
        region = _found(r"<Region>([\w-]+)</Region>", answer)
        reason = f"the bucket {_bucket(url)!r} is in another region"
        hint = f'pass region="{region}"' if region else 'pass its region, as in region="eu-west-1"'
        return errno.EINVAL, reason, hint
    if _is_any(_METADATA, answer):
        hint = 'pass them or set them in the environment; skip_signature="true" for a public bucket'
        return errno.EACCES, f"no credentials were given for the bucket {_bucket(url)!r}", hint
    if status[:3] in ("401", "403") or is_kind(error, "PermissionDenied", "Unauthenticated"):
        reason = f"the bucket {_bucket(url)!r} denies it{_explanation(answer)}"
        return errno.EACCES, reason, "check the credentials and what they allow"
    if isinstance(error, FileNotFoundError) or status.startswith("404"):
        hint = "check that the bucket exists, and the endpoint"
        return errno.ENOENT, _reason(answer, status), hint
    if status.startswith("400"):
        hint = "check the region, the endpoint and the credentials"
        return errno.EIO, _reason(answer, status), hint
    if is_kind(error, "NotSupported") or isinstance(error, NotImplementedError):
        return errno.ENOTSUP, _reason(answer, status), "use a store, and options, that allow this"
    if "HTTP error" in answer and _endpoint(answer):
        reason = f"{_endpoint(answer)} cannot be reached{_cause(details)}"
        return errno.EIO, reason, "check the network and the endpoint, and run again"
    hint = "check the network, the options and the credentials; run again"
    return errno.EIO, _reason(answer, status), hint


def _reason(answer: str, status: str) -> str:
    if not status:
        return _first_line(answer)
    return f"the store answered {status}{_explanation(answer)}"


def _explanation(answer: str) -> str:
    """The code and the words that a store sends with a refusal, in parentheses."""
    code = _found(r"<Code>([^<]*)</Code>", answer)
    words = _found(r"<Message>([^<]*)</Message>", answer) or _found(
        r'"message":\s*"([^"]*)"', answer
    )
    text = ": ".join(filter(None, (code, words.rstrip(". "))))
    return f" ({text})" if text else ""


def _cause(details: str) -> str:
    """Why a connection failed, in parentheses."""
    text = _found(r'message: "([^"]*)"', details) or _found(r'error: "(failed to [^"]*)"', details)
    if not text and "TimedOut" in details:
        text = "no answer in time"
    return f" ({text})" if text else ""


def _endpoint(answer: str) -> str:
    return _found(r"Error performing \w+ (\w+://[^/\s]+)", answer)


def _bucket(url: str) -> str:
    return Mask().text(str(url).partition("://")[2].partition("/")[0])


def _first_line(said: str) -> str:
    """The first line of what obstore said, which may name the URL with all that is in it."""
    return Mask().text(said.partition("\n")[0]).rstrip(". ")


def _found(pattern: str, text: str) -> str:
    """What a group matches, on one line and without secrets; an empty text if nothing does."""
    match = re.search(pattern, text)
    return "" if match is None else Mask().text(" ".join(match[1].split()))[:_MOST_CHARACTERS]


def _is_any(words: tuple[str, ...], text: str) -> bool:
    return any(word in text for word in words)
