"""Room 1: the stores behind URLs, asked through fsspec: where an object is, and which version of it.

What a store tells of the version (ETag, generation, time) is compared once the object has been read: one
that changed under our hands is no evidence. What may pass is tried again, what lasts is told at once.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fallback_gate.errors import Unreadable
from fallback_gate.sources.remote import Remote
from fallback_gate.sources.urls import is_web, real, refusal, scheme, told

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

WAITS = (0.25, 1.0, 4.0)  # seconds before the second, third and fourth try
TIMEOUT = 60  # seconds without a byte from a web server

# What stores call the version of an object.
_VERSION = (
    "size", "ETag", "etag", "Last-Modified", "LastModified", "last_modified", "Content-MD5", "Digest",
    "generation", "md5Hash", "VersionId", "blob_id", "xet_hash", "mtime", "created",
)  # fmt: skip


def place(remote: Remote) -> tuple[AbstractFileSystem, str]:
    """The file system that reads an object, and its path there. Raises `Unreadable`."""
    if wrong := refusal(remote.url):
        raise Unreadable(wrong)
    from fsspec import get_filesystem_class

    try:
        kind = get_filesystem_class(scheme(remote.url))
        system = kind(**{**kind._get_kwargs_from_urls(remote.url), **_options(remote.url)})
        path = kind._strip_protocol(remote.url)
    except Exception as error:  # whatever a store's package raises about URL or credentials
        raise Unreadable(f"can't be reached: {told(error, remote.url)}") from None
    return system, path


def info(remote: Remote) -> Mapping[str, Any]:
    """What the store says of an object now. Raises `FileNotFoundError`, or `Unreadable` for other trouble."""
    system, path = place(remote)
    for wait in (*WAITS, None):
        try:
            system.invalidate_cache()
            found: Mapping[str, Any] = system.info(path)
        except Exception as error:
            if _is_missing(error):
                raise FileNotFoundError(str(remote)) from None
            if wait is None or lasts(error):
                raise Unreadable(f"can't be opened: {told(error, remote.url)}") from None
            time.sleep(wait)
            continue
        if scheme(remote.url) == "https" and scheme(str(found.get("url"))) == "http":
            raise Unreadable("can't be opened: the server leads on to http://, where anyone could change it")
        return found
    raise AssertionError("unreachable")


def _options(url: str) -> dict[str, Any]:
    """What fsspec's file systems are made with."""
    if not is_web(url):
        return {}
    import aiohttp

    timeout = aiohttp.ClientTimeout(total=None, sock_connect=TIMEOUT, sock_read=TIMEOUT)
    return {
        "headers": {"Accept-Encoding": "identity"},
        "client_kwargs": {"timeout": timeout, "trust_env": True},
        "encoded": "%" in url,
    }


def _is_missing(error: BaseException) -> bool:
    """The store says that there is no such object."""
    error = real(error)
    return isinstance(error, FileNotFoundError) or getattr(error, "status", None) in (404, 410)


def lasts(error: BaseException) -> bool:
    """Trying again would not help: no such object, or no right to read it."""
    error = real(error)
    status = getattr(error, "status", None)
    if isinstance(status, int):
        return 400 <= status < 500 and status not in (408, 429)
    credentials = any("Credential" in kind.__name__ for kind in type(error).__mro__)
    return credentials or isinstance(error, (FileNotFoundError, PermissionError))


def version(info: Mapping[str, Any]) -> tuple[str, ...]:
    """What tells this version of an object from the next; equal where the store tells nothing."""
    return tuple(str(info.get(name)) for name in _VERSION)
