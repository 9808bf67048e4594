"""Room 1: reading an object behind a URL in blocks, the next ones while this one is scanned.

A few blocks are in memory, never the object. The first ones are small, so that the head of a log or one
member of an archive costs little. A block that does not come whole is asked for again, over a new
connection; when that does not help, the log ends there and proves nothing. A web server that gives no part
of a file gives all of it in order; after a broken connection it is read from its start again, up to there.
"""

from __future__ import annotations

import io
import time
from collections import deque
from typing import TYPE_CHECKING, Any

from fallback_gate.errors import Unreadable
from fallback_gate.sources import store
from fallback_gate.sources.reader import Buffer, Reader
from fallback_gate.sources.remote import Remote
from fallback_gate.sources.store import WAITS
from fallback_gate.sources.urls import is_web, told

if TYPE_CHECKING:
    from concurrent.futures import Future

FIRST = 256 << 10  # bytes of the first block; each is twice the last
BLOCK = 8 << 20  # up to this
AHEAD = 2  # blocks that are asked for before they are wanted
_READ = 1 << 20


class Object(io.RawIOBase):
    """An open object: a binary file whose bytes come in blocks, the next ones ahead of time.

    `size` in bytes is None where the server does not tell it. Every method may raise `Unreadable`.
    """

    def __init__(self, remote: Remote) -> None:
        from concurrent.futures import ThreadPoolExecutor

        self._remote = remote
        try:
            info = store.info(remote)
        except FileNotFoundError:
            raise Unreadable("can't be opened: no such object") from None
        self.size: int | None = info.get("size")
        self._version = store.version(info)
        self._system, self._path = store.place(remote)
        self._file: Any = None  # of fsspec; used by the thread alone
        self._streamed = self.size is None or info.get("partial") is False  # no part can be asked for
        self._again = False
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="fallback-gate-read")
        self._ahead: deque[tuple[int, Future[bytes]]] = deque()  # by where they end
        self._start, self._block = -1, memoryview(b"")
        self._at = 0
        self._length = FIRST

    def readable(self) -> bool:
        """Yes."""
        return True

    def seekable(self) -> bool:
        """Whether the server tells the size."""
        return self.size is not None

    def tell(self) -> int:
        """The place of the next byte."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place. Raises `Unreadable` without a size."""
        if self.size is None:
            raise Unreadable("the server does not tell its size, which an archive needs")
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self.size}[whence]
        if base + offset < 0:
            raise OSError("before the start")
        self._at = base + offset
        return self._at

    def readinto(self, buffer: Any, /) -> int:
        """As of a file: at least one byte, but at the end."""
        view = memoryview(buffer)
        if not view or (self.size is not None and self._at >= self.size):
            return 0
        if not self._start <= self._at < self._start + len(self._block):
            self._block = memoryview(self._next())
            self._start = self._at
        inside = self._at - self._start
        count = min(len(view), len(self._block) - inside)
        view[:count] = self._block[inside : inside + count]
        self._at += count
        return count

    def read(self, size: int = -1, /) -> bytes:
        """As of a buffered file: all that was asked for, but at the end."""
        if size < 0:
            return self.readall()
        parts = bytearray(size)
        got = 0
        while got < size and (count := self.readinto(memoryview(parts)[got:])):
            got += count
        return bytes(parts[:got])

    def unchanged(self) -> None:
        """Raise `Unreadable` if the store holds another version by now than when it was opened."""
        try:
            now = store.version(store.info(self._remote))
        except FileNotFoundError:
            raise Unreadable("was removed while it was read") from None
        if now != self._version:
            raise Unreadable("changed while it was read")

    def close(self) -> None:
        """Forget it; blocks that were asked for are not waited for."""
        if not self.closed:
            self._ahead.clear()
            self._thread.submit(self._drop)
            self._thread.shutdown(wait=False)
        super().close()

    def _next(self) -> bytes:
        """The block from where we are; those behind it are asked for too, if they are read in order."""
        in_order = self._at == self._start + len(self._block)
        if not in_order:
            for _, future in self._ahead:
                future.cancel()
            self._ahead.clear()
            self._length = FIRST
        end = self._ahead[-1][0] if self._ahead else self._at
        wanted = 1 + AHEAD if in_order else 1
        while len(self._ahead) < wanted and (self.size is None or end < self.size):
            stop = end + self._length if self.size is None else min(self.size, end + self._length)
            self._ahead.append((stop, self._thread.submit(self._fetch, end, stop)))
            end, self._length = stop, min(BLOCK, 2 * self._length)
        return self._ahead.popleft()[1].result()

    def _fetch(self, start: int, stop: int) -> bytes:
        """These bytes, whole; fewer only at the end of an object of unknown size."""
        trouble = ""
        for wait in (*WAITS, None):
            try:
                data = self._part(start, stop)
                if len(data) == stop - start or self.size is None:
                    return data
                trouble = f"{len(data):,} of {stop - start:,} bytes came"
            except Unreadable:
                raise
            except Exception as error:  # each store has errors of its own
                if isinstance(error, ValueError) and not self._streamed and is_web(self._remote.url):
                    self._streamed, wait = True, 0.0  # the server gives the whole or nothing
                elif store.lasts(error):
                    raise Unreadable(
                        f"reading failed at byte {start:,}: {told(error, self._remote.url)}"
                    ) from None
                trouble = told(error, self._remote.url)
            self._drop()
            if wait is not None:
                time.sleep(wait)
        raise Unreadable(
            f"the connection broke at byte {start:,}, and {len(WAITS)} more tries did not help: {trouble}"
        )

    def _part(self, start: int, stop: int) -> bytes:
        if self._file is not None and self._streamed and self._file.tell() > start:
            self._drop()
        if self._file is None:
            if self._again:
                self.unchanged()
            self._again = True
            how = {"block_size": 0} if self._streamed else {"cache_type": "none"}
            self._file = self._system.open(self._path, "rb", **how)
        if not self._streamed:
            self._file.seek(start)
            data: bytes = self._file.read(stop - start)
            return data
        while (skip := start - self._file.tell()) > 0 and self._file.read(min(skip, _READ)):
            pass
        parts, left = [], stop - start
        while left and (part := self._file.read(min(left, _READ))):
            parts.append(part)
            left -= len(part)
        if not parts and self.size is None and not _tells_its_end(self._file):
            raise Unreadable("the server tells no length, so that its end and a broken connection look alike")
        return b"".join(parts)

    def _drop(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.close()


def _tells_its_end(file: Any) -> bool:
    """The answer of a web server ends with a mark or after a length, so that a cut is an error."""
    headers = getattr(getattr(file, "r", None), "headers", {})
    return "Content-Length" in headers or headers.get("Transfer-Encoding", "").lower() == "chunked"


class Unchanged:
    """A reader that ends only where the object is still the one that was opened."""

    def __init__(self, reader: Reader, file: Object) -> None:
        self._reader, self._file = reader, file

    def readinto(self, buffer: Buffer, /) -> int:
        """As the reader's; raises `Unreadable` at the end of an object that changed."""
        count = self._reader.readinto(buffer)
        if not count:
            self._file.unchanged()
        return count
