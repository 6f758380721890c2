"""PrivateUrl: a URL with a password in it, which messages show without it."""

from __future__ import annotations

from keepset.core.secrets import Mask


def private_url(url: str) -> str:
    """The URL, such that people do not get to see what is secret in it: user info, signatures."""
    url = whole_url(url)
    return PrivateUrl(url) if Mask().text(url) != url else url


def whole_url(url: str) -> str:
    """All of a URL, to be opened and not to be shown."""
    return str.__str__(url)


class PrivateUrl(str):
    """Opens what it always did; messages and logs show it without its secrets.

    A class and not a second attribute of stores, so that every ``f"{url}"`` and ``str(url)`` shows
    the right one. Parts of it, and what is joined from it, are plain texts that show everything.

    Example:
        >>> f"cannot read {private_url('https://bob:hunter2@host/a')}"
        'cannot read https://<secret sha256:d1821c3f>@host/a'
    """

    __slots__ = ()

    def __str__(self) -> str:
        return Mask().text(whole_url(self))

    def __repr__(self) -> str:
        return repr(str(self))

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)
