"""Room 1: the URLs under which a log may stand: who reads them, and how they are shown to people.

fsspec reads the objects; each kind of store needs a package of its own, which is an extra of ours. A URL may
carry a password or a signature, which nobody gets to see: neither in a report nor in an error.
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterator
from importlib.util import find_spec
from urllib.parse import parse_qsl, unquote, urlsplit

_ANY = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://[^\s'\"<>]+")
_USER = re.compile(r"(?<=://)[^/?#]*@")
_VALUE = re.compile(r"(?<==)[^&#]+")
_CREDENTIAL = re.compile(r"secret|token|password|_key\b|key_id|account_key|connection_string|sas", re.I)
_LOOPBACK = re.compile(r"localhost|127\.[0-9.]+|::1")
_SHORTEST = 6  # characters of a variable's value that is taken for a secret
_LONGEST = 300  # characters of a library's message

# By scheme: the package that fsspec reads it with, and the extra that brings it.
_STORES = {
    "s3": ("s3fs", "s3"),
    "gs": ("gcsfs", "gs"),
    "gcs": ("gcsfs", "gs"),
    "az": ("adlfs", "az"),
    "abfs": ("adlfs", "az"),
    "abfss": ("adlfs", "az"),
    "https": ("aiohttp", "http"),
    "http": ("aiohttp", "http"),
    "hf": ("huggingface_hub", "hf"),
    "memory": ("fsspec", "remote"),  # of this process: for tests
}


def scheme(url: str) -> str:
    """What stands before `://`, in small letters."""
    return url.partition("://")[0].lower()


def is_web(url: str) -> bool:
    """Whether it is read over HTTP as it stands."""
    return scheme(url) in ("http", "https")


def refusal(url: str) -> str | None:
    """Why nothing can be read from such a URL here, and what to do; None where it can."""
    name = scheme(url)
    if name not in _STORES:
        return f"{name}:// is not read: s3://, gs://, az://, https:// and hf:// are, and files by their path"
    if name == "http" and not _is_loopback(url):
        return (
            "http:// is read from this machine only, since anyone on the way could change the log: https://"
        )
    package, extra = _STORES[name]
    if find_spec("fsspec") is None or find_spec(package) is None:
        return f"{name}:// needs packages that are not installed: pip install 'fallback-gate[{extra}]'"
    return None


def _is_loopback(url: str) -> bool:
    try:
        host = urlsplit(url).hostname
    except ValueError:
        return False
    return bool(host and _LOOPBACK.fullmatch(host))


def sight_of(url: str) -> str:
    """Where an object is seen under this URL: everywhere, on this machine, or in this process alone."""
    if scheme(url) == "memory":
        return f"{platform.node()} {os.getpid()}"
    return platform.node() if _is_loopback(url) else ""


def masked(url: str) -> str:
    """The URL as people see it: no password, and of a query only the names.

    `container@account` of an `abfs://` URL is no secret and stays.
    """

    def user(match: re.Match[str]) -> str:
        return "***@" if is_web(url) or ":" in match[0] else match[0]

    place, mark, query = _USER.sub(user, url, count=1).partition("?")
    if not mark or not (is_web(url) or scheme(url) in ("az", "abfs", "abfss")):
        return place + mark + query
    return place + mark + (_VALUE.sub("***", query) if "=" in query else "***")


def real(error: BaseException) -> BaseException:
    """What went wrong: fsspec calls all trouble with a web server `not found`, and keeps it as the cause."""
    cause = error.__cause__
    if isinstance(error, FileNotFoundError) and cause is not None:
        return cause if type(cause).__module__.split(".")[0] in ("aiohttp", "asyncio", "builtins") else error
    return error


def told(error: BaseException, url: str) -> str:
    """What a library says went wrong with a URL: one line, and no credential in it."""
    error = real(error)
    line = str(error).strip().partition("\n")[0]
    if isinstance(error, FileNotFoundError):
        line = "no such object"
    status = getattr(error, "status", None)
    if isinstance(status, int) and not isinstance(error, OSError):
        line = f"the server answers {status} {getattr(error, 'message', '')}".rstrip()
    line = _ANY.sub(lambda match: masked(match[0]), line.replace(url, masked(url)))
    for secret in sorted(_secrets(url), key=len, reverse=True):
        line = line.replace(secret, "***")
    return (line or type(error).__name__)[:_LONGEST]


def _secrets(url: str) -> Iterator[str]:
    """What must not be seen: of the URL, and of the environment from which the stores take credentials."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return
    if parts.password:
        yield from (parts.password, unquote(parts.password))
    if masked(url) != url:
        yield from (value for _, value in parse_qsl(parts.query) if len(value) >= _SHORTEST)
    for name, value in os.environ.items():
        if _CREDENTIAL.search(name) and len(value) >= _SHORTEST:
            yield value
