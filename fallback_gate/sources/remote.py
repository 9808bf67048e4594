"""Room 1: objects behind a URL, and what their store tells of them through fsspec.

Nothing of fsspec is imported before a URL is read. An object is known by its URL alone, so that it can be
sent to another process or machine, which opens it with credentials of its own. What the store tells of its
version (ETag, generation, time) is compared once it has been read: an object that changed under our hands
is no evidence.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fallback_gate.errors import Unreadable
from fallback_gate.sources.urls import is_web, masked, real, refusal, scheme, told

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fsspec import AbstractFileSystem

WAITS = (0.25, 1.0, 4.0)  # seconds before the second, third and fourth try
TIMEOUT = 60  # seconds without a byte from a web server

# What stores call the version of an object.
_VERSION = (
    "size", "ETag", "etag", "Last-Modified", "LastModified", "last_modified", "Content-MD5", "Digest",
    "generation", "md5Hash", "VersionId", "blob_id", "xet_hash", "mtime", "created",
)  # fmt: skip


@dataclass(frozen=True, slots=True, repr=False)
class Remote:
    """One object, or what may be a folder of them. The URL may hold credentials: show `str` of this."""

    url: str

    def __str__(self) -> str:
        return masked(self.url)

    __repr__ = __str__

    @property
    def folder(self) -> str:
        """The name of the folder in which it stands."""
        return self.url.partition("?")[0].rpartition("/")[0].rpartition("/")[2]

    def beside(self, relative: str) -> Remote:
        """The object at a path from this one's folder."""
        place, mark, query = self.url.partition("?")
        return Remote(f"{place.rpartition('/')[0]}/{relative}{mark}{query}")

    def place(self) -> tuple[AbstractFileSystem, str]:
        """The file system that reads it, and its path there. Raises `Unreadable`."""
        if wrong := refusal(self.url):
            raise Unreadable(wrong)
        from fsspec import get_filesystem_class

        try:
            kind = get_filesystem_class(scheme(self.url))
            system = kind(**{**kind._get_kwargs_from_urls(self.url), **_options(self.url)})
            path = kind._strip_protocol(self.url)
        except Exception as error:  # whatever a store's package raises about URL or credentials
            raise Unreadable(f"can't be reached: {told(error, self.url)}") from None
        return system, path

    def info(self) -> Mapping[str, Any]:
        """What the store says of it now. Raises `FileNotFoundError`, or `Unreadable` for other trouble."""
        system, path = self.place()
        for wait in (*WAITS, None):
            try:
                system.invalidate_cache()
                found: Mapping[str, Any] = system.info(path)
                return found
            except Exception as error:
                if _is_missing(error):
                    raise FileNotFoundError(str(self)) from None
                if wait is None or lasts(error):
                    raise Unreadable(f"can't be opened: {told(error, self.url)}") from None
                time.sleep(wait)
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
